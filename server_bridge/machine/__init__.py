"""The machine: its addresses, programs, and files that only this user may read."""
