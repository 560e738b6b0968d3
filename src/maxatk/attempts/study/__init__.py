"""A complete study of a log."""
