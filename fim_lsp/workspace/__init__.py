"""Files on disk: which are private, and what each workspace remembers of them."""
