"""Planning: a problem and a solver in, a plan out. One file per solver."""

from maxatk.planning.certified.plan import CertifiedPlan
from maxatk.planning.certified.solver import Certified
from maxatk.planning.exact import Exact, ExactPlan
from maxatk.planning.keeping import cached
from maxatk.planning.many import solve_many
from maxatk.planning.midpoint import Midpoint
from maxatk.planning.plan import Plan, Progress, Solver, Status
from maxatk.planning.rounds.exact import ExactRoundsPlan
from maxatk.planning.rounds.plan import RoundsPlan
from maxatk.planning.solve import solve

__all__ = [
    "Certified",
    "CertifiedPlan",
    "Exact",
    "ExactPlan",
    "ExactRoundsPlan",
    "Midpoint",
    "Plan",
    "Progress",
    "RoundsPlan",
    "Solver",
    "Status",
    "cached",
    "solve",
    "solve_many",
]
