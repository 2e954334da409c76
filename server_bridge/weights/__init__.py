"""Models that can be had: which there are, which fits this machine, and how one gets here."""
