"""Settings: every one with its default and reason, read from files, editor and flags; where code goes."""
