"""Fill-in-the-middle prompts: special tokens by model family, order, rendering. Pure."""
