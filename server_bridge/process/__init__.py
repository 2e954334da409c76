"""Model servers that we start: sized, started, kept running, ended."""
