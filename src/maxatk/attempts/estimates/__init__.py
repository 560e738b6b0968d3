"""Estimates from a log, with intervals over tasks."""
