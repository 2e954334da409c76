"""From raw model text to a suggestion worth showing, and answers known before they are asked. Pure."""
