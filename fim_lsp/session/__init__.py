"""One editor's session: what is open, what is being generated, what waits. The only async part."""
