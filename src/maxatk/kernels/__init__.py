"""Compiled loops: arrays in, arrays out, nothing of ours imported.

``tests/reference_kernels.py`` has a plain twin of each sweep.
"""

from maxatk.kernels.acting import best_planes, draw_outcomes, rows_of_actions
from maxatk.kernels.atoms import Followed, bin_outcomes, follow_atoms, spans
from maxatk.kernels.fixed import (
    carry_choices,
    carry_forward,
    choose_by_state,
    choose_greedily,
    improve_rows,
    usual_rows,
)
from maxatk.kernels.passes import (
    best_means,
    least_costs,
    most_ahead,
)
from maxatk.kernels.products import Dense, multiply_decisions, multiply_values
from maxatk.kernels.runs import find_runs
from maxatk.kernels.sweeps import Choices, CurveTable, Ends, Planes, Values, sweep_decisions, sweep_planes, sweep_values
from maxatk.kernels.trials import (
    Stepped,
    TrialRows,
    Trials,
    TrialTable,
    View,
    begin_trials,
    encode_trials,
    shown_return,
    step_trials,
)
from maxatk.kernels.uncertain import Cells, Sampled, UncertainRows, uncertain_curve, uncertain_slice
from maxatk.kernels.windows import NEVER, WIDEST, Layout, Moves, Part, Reach, RowTable, Tables, reachable, windows

__all__ = [
    "NEVER",
    "WIDEST",
    "Cells",
    "Choices",
    "CurveTable",
    "Dense",
    "Ends",
    "Followed",
    "Layout",
    "Moves",
    "Part",
    "Planes",
    "Reach",
    "RowTable",
    "Sampled",
    "Stepped",
    "Tables",
    "TrialRows",
    "TrialTable",
    "Trials",
    "UncertainRows",
    "Values",
    "View",
    "begin_trials",
    "best_means",
    "best_planes",
    "bin_outcomes",
    "carry_choices",
    "carry_forward",
    "choose_by_state",
    "choose_greedily",
    "draw_outcomes",
    "encode_trials",
    "find_runs",
    "follow_atoms",
    "improve_rows",
    "least_costs",
    "most_ahead",
    "multiply_decisions",
    "multiply_values",
    "reachable",
    "rows_of_actions",
    "shown_return",
    "spans",
    "step_trials",
    "sweep_decisions",
    "sweep_planes",
    "sweep_values",
    "uncertain_curve",
    "uncertain_slice",
    "usual_rows",
    "windows",
]
