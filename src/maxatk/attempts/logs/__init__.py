"""Logs of attempts, and readers for them."""
