"""Other programs' completion clients, served over HTTP by a session, and the page."""
