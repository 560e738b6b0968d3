"""A complete study of a log: for the terminal, as JSON, as a page."""
