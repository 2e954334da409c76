"""Edits by instruction: lines and an instruction into a turn for the model, its answer into other lines. Pure."""
