"""The command line: `complete`, `demo`, `doctor`, … Each command is one module."""
