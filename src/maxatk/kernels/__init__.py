"""Compiled loops: arrays in, arrays out, nothing of ours imported. ``reference`` has a plain twin of each sweep."""

from maxatk.kernels.optimism import SampledRows, optimistic_slice
from maxatk.kernels.slices import NEVER, Layout, Tables, bound_layers, exact_layers, places, reachable, windows

__all__ = [
    "NEVER",
    "Layout",
    "SampledRows",
    "Tables",
    "bound_layers",
    "exact_layers",
    "optimistic_slice",
    "places",
    "reachable",
    "windows",
]
