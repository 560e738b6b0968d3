"""Best-of-K (max@k) decision making: plan and act when only the best of K tries counts.

The flow is problem → solve → plan → policy: an :class:`MDP` and a solver go into :func:`solve`, a plan comes out,
and ``plan.policy`` says what to do.

>>> from fractions import Fraction
>>> import maxatk as mk
>>> mdp = mk.instances.figure1(gamma=Fraction(1, 4))
>>> plan = mk.solve(mdp, k=2, solver=mk.Exact())
>>> plan.exact
Fraction(9, 16)
>>> plan.policy.action(rollout=1, step=0, state=0, best=0.5, so_far=0)
1
"""

from maxatk import instances
from maxatk.errors import InputError, MaxAtKError, MissingExtraError, TooLargeError
from maxatk.learning import (
    Adaptive,
    GymnasiumModel,
    Learned,
    LearningProgress,
    Model,
    SampleSize,
    TabularModel,
    Uniform,
    learn,
    least_samples,
    sample_size,
)
from maxatk.mdp import MDP, load_mdp
from maxatk.planning import Certified, Exact, Midpoint, Plan, Progress, Status, load_plan, solve
from maxatk.policies import Policy, Trial

__version__ = "0.1.0"

__all__ = [
    "MDP",
    "Adaptive",
    "Certified",
    "Exact",
    "GymnasiumModel",
    "InputError",
    "Learned",
    "LearningProgress",
    "MaxAtKError",
    "Midpoint",
    "MissingExtraError",
    "Model",
    "Plan",
    "Policy",
    "Progress",
    "SampleSize",
    "Status",
    "TabularModel",
    "TooLargeError",
    "Trial",
    "Uniform",
    "instances",
    "learn",
    "least_samples",
    "load_mdp",
    "load_plan",
    "sample_size",
    "solve",
]
