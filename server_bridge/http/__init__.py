"""JSON over HTTP: one client, its errors, its API key."""
