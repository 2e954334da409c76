"""Several servers as one `Backend`."""
