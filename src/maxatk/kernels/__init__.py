"""Compiled loops: arrays in, arrays out, nothing of ours imported. ``reference`` has a plain twin of each sweep."""

from maxatk.kernels.acting import best_planes, draw_outcomes, rows_of_actions
from maxatk.kernels.fixed import carry_forward, choose_by_state, choose_greedily, improve_rows
from maxatk.kernels.optimism import SampledRows, optimistic_slice
from maxatk.kernels.passes import best_means, merge_outcomes, most_ahead
from maxatk.kernels.slices import (
    NEVER,
    WIDEST,
    Ends,
    Layout,
    Planes,
    Tables,
    bound_layers,
    decide_layers,
    places,
    reachable,
    whole_layers,
    windows,
)
from maxatk.kernels.trials import Trials, TrialTable, begin_trials, encode_trials, shown_return, step_trials

__all__ = [
    "NEVER",
    "WIDEST",
    "Ends",
    "Layout",
    "Planes",
    "SampledRows",
    "Tables",
    "TrialTable",
    "Trials",
    "begin_trials",
    "best_means",
    "best_planes",
    "bound_layers",
    "carry_forward",
    "choose_by_state",
    "choose_greedily",
    "decide_layers",
    "draw_outcomes",
    "encode_trials",
    "improve_rows",
    "merge_outcomes",
    "most_ahead",
    "optimistic_slice",
    "places",
    "reachable",
    "rows_of_actions",
    "shown_return",
    "step_trials",
    "whole_layers",
    "windows",
]
