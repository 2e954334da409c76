"""When the user wants no suggestion: where none comes, and how what was dismissed makes the next ones rarer. Pure."""
