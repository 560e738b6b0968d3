"""Judges and votes: what is handed in when the best attempt is not known, and what it truly scores."""
