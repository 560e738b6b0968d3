"""Compiled loops: arrays in, arrays out, nothing of ours imported. ``reference`` has a plain twin of each sweep."""

from maxatk.kernels.acting import best_planes, draw_outcomes, greedy_rows, rows_of_actions
from maxatk.kernels.fixed import carry_forward, choose_by_state, choose_greedily, improve_rows
from maxatk.kernels.optimism import SampledRows, optimistic_slice
from maxatk.kernels.passes import best_means, most_ahead
from maxatk.kernels.slices import (
    NEVER,
    WIDEST,
    Layout,
    Tables,
    bound_layers,
    exact_layers,
    places,
    reachable,
    windows,
)
from maxatk.kernels.uncertain import UncertainRows, uncertain_curve, uncertain_slice

__all__ = [
    "NEVER",
    "WIDEST",
    "Layout",
    "SampledRows",
    "Tables",
    "UncertainRows",
    "best_means",
    "best_planes",
    "bound_layers",
    "carry_forward",
    "choose_by_state",
    "choose_greedily",
    "draw_outcomes",
    "exact_layers",
    "greedy_rows",
    "improve_rows",
    "most_ahead",
    "optimistic_slice",
    "places",
    "reachable",
    "rows_of_actions",
    "uncertain_curve",
    "uncertain_slice",
    "windows",
]
