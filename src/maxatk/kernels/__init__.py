"""Compiled loops: arrays in, arrays out, nothing of ours imported. ``reference`` has a plain twin of each sweep."""

from maxatk.kernels.slices import NEVER, Layout, Tables, bound_layers, exact_layers, places, reachable, windows

__all__ = ["NEVER", "Layout", "Tables", "bound_layers", "exact_layers", "places", "reachable", "windows"]
