"""Context from elsewhere: what to show the model besides the code around the cursor. Pure."""
