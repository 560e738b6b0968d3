"""Integrations with trainers and evaluators, each behind an extra: ``from maxatk.integrations import verl``."""
