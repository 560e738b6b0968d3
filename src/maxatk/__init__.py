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

from importlib import import_module
from typing import TYPE_CHECKING, Any

from maxatk import attempts, figures, instances
from maxatk.errors import InputError, MaxAtKError, MissingExtraError, TooLargeError
from maxatk.evaluation import (
    Comparison,
    Contrast,
    Evaluation,
    Law,
    Simulation,
    compare,
    contrast,
    evaluate,
    simulate,
)
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
from maxatk.policies import (
    AdaptivePolicy,
    CompressedPolicy,
    History,
    HistoryPolicy,
    MarkovPolicy,
    MixedPolicy,
    NoBestPolicy,
    NoReturnPolicy,
    Policy,
    Trial,
)
from maxatk.problems import find_problem

if TYPE_CHECKING:
    from maxatk import gym as gym
    from maxatk.gym import BestOfK as BestOfK

__version__ = "0.1.0"

__all__ = [
    "MDP",
    "Adaptive",
    "AdaptivePolicy",
    "Certified",
    "Comparison",
    "CompressedPolicy",
    "Contrast",
    "Evaluation",
    "Exact",
    "GymnasiumModel",
    "History",
    "HistoryPolicy",
    "InputError",
    "Law",
    "Learned",
    "LearningProgress",
    "MarkovPolicy",
    "MaxAtKError",
    "Midpoint",
    "MissingExtraError",
    "MixedPolicy",
    "Model",
    "NoBestPolicy",
    "NoReturnPolicy",
    "Plan",
    "Policy",
    "Progress",
    "SampleSize",
    "Simulation",
    "Status",
    "TabularModel",
    "TooLargeError",
    "Trial",
    "Uniform",
    "attempts",
    "compare",
    "contrast",
    "evaluate",
    "figures",
    "find_problem",
    "instances",
    "learn",
    "least_samples",
    "load_mdp",
    "load_plan",
    "sample_size",
    "simulate",
    "solve",
]


def __getattr__(name: str) -> Any:
    """What needs Gymnasium (extra ``gym``) is imported when it is first asked for."""
    if name not in ("BestOfK", "gym"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module("maxatk.gym")
    return module if name == "gym" else module.BestOfK


def __dir__() -> list[str]:
    return [*globals(), "BestOfK", "gym"]
