"""Planning: a problem and a solver in, a plan out. One file per solver."""

from maxatk.planning.exact import Exact, ExactPlan
from maxatk.planning.plan import Plan, Solver, Status
from maxatk.planning.solve import solve

__all__ = ["Exact", "ExactPlan", "Plan", "Solver", "Status", "solve"]
