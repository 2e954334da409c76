"""llama.cpp servers as a `Backend`, with a mirror of their slots."""
