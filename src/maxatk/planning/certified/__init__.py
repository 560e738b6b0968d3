"""The certified planner: curves of slices, searched until an interval around the optimum is narrow."""

from maxatk.planning.certified.plan import CertifiedPlan
from maxatk.planning.certified.solver import Certified

__all__ = ["Certified", "CertifiedPlan"]
