"""A document, a cursor and chunks into the prompt: window, healing, tape, frame. Pure."""
