"""Compiled loops: arrays in, arrays out, nothing of ours imported.

``tests/reference_kernels.py`` has a plain twin of each sweep.
"""

from maxatk.kernels.acting import best_planes, draw_outcomes, rows_of_actions
from maxatk.kernels.atoms import Followed, follow_atoms, spans
from maxatk.kernels.fixed import carry_forward, choose_by_state, choose_greedily, improve_rows, usual_rows
from maxatk.kernels.optimism import SampledRows, optimistic_slice
from maxatk.kernels.passes import (
    best_means,
    best_means_layer,
    least_costs,
    merge_outcomes,
    most_ahead,
    most_ahead_layer,
)
from maxatk.kernels.products import Dense, decide_product, decide_products, whole_product, whole_products
from maxatk.kernels.slices import (
    Ends,
    Planes,
    bound_layer,
    bound_layers,
    decide_layer,
    decide_layers,
    whole_layer,
    whole_layers,
)
from maxatk.kernels.trials import (
    Stepped,
    Trials,
    TrialTable,
    View,
    begin_trials,
    encode_trials,
    shown_return,
    step_trials,
)
from maxatk.kernels.uncertain import UncertainRows, uncertain_curve, uncertain_slice
from maxatk.kernels.windows import NEVER, WIDEST, Layout, Reach, Tables, places, reachable, windows

__all__ = [
    "NEVER",
    "WIDEST",
    "Dense",
    "Ends",
    "Followed",
    "Layout",
    "Planes",
    "Reach",
    "SampledRows",
    "Stepped",
    "Tables",
    "TrialTable",
    "Trials",
    "UncertainRows",
    "View",
    "begin_trials",
    "best_means",
    "best_means_layer",
    "best_planes",
    "bound_layer",
    "bound_layers",
    "carry_forward",
    "choose_by_state",
    "choose_greedily",
    "decide_layer",
    "decide_layers",
    "decide_product",
    "decide_products",
    "draw_outcomes",
    "encode_trials",
    "follow_atoms",
    "improve_rows",
    "least_costs",
    "merge_outcomes",
    "most_ahead",
    "most_ahead_layer",
    "optimistic_slice",
    "places",
    "reachable",
    "rows_of_actions",
    "shown_return",
    "spans",
    "step_trials",
    "uncertain_curve",
    "uncertain_slice",
    "usual_rows",
    "whole_layer",
    "whole_layers",
    "whole_product",
    "whole_products",
    "windows",
]
