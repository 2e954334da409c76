"""What the user just changed, into the place that needs the same change next. Pure."""
