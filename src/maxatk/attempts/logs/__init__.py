"""Logs of attempts, and the ways in."""
