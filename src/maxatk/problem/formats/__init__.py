"""Ways in and out: each file reads one format into ``Rows``, unchecked beyond what reading needs."""

from maxatk.problem.formats.arrays import read_arrays, read_pairs
from maxatk.problem.formats.costs import with_costs
from maxatk.problem.formats.gymnasium import gymnasium_horizon, gymnasium_start, open_gymnasium, read_gymnasium
from maxatk.problem.formats.npz import fractions, problem_members, read_npz, read_problem, write_npz
from maxatk.problem.formats.simulators import Simulator
from maxatk.problem.formats.table import read_table

__all__ = [
    "Simulator",
    "fractions",
    "gymnasium_horizon",
    "gymnasium_start",
    "open_gymnasium",
    "problem_members",
    "read_arrays",
    "read_gymnasium",
    "read_npz",
    "read_pairs",
    "read_problem",
    "read_table",
    "with_costs",
    "write_npz",
]
