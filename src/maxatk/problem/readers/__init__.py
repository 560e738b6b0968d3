"""Readers: each file reads one format into ``Rows``, which the constructor of :class:`maxatk.MDP` checks."""

from maxatk.problem.readers.arrays import read_arrays, read_pairs
from maxatk.problem.readers.costs import with_costs
from maxatk.problem.readers.gymnasium import gymnasium_horizon, gymnasium_start, open_gymnasium, read_environment
from maxatk.problem.readers.table import read_table

__all__ = [
    "gymnasium_horizon",
    "gymnasium_start",
    "open_gymnasium",
    "read_arrays",
    "read_environment",
    "read_pairs",
    "read_table",
    "with_costs",
]
