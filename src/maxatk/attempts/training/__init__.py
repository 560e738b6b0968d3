"""Weights that train a model for the best of its samples."""
