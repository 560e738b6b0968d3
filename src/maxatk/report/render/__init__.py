"""Renderers: one function for each way to show an object, with implementations registered by type."""
