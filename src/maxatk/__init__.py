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

from typing import Any, cast

import lazy_loader  # pyright: ignore[reportMissingTypeStubs]

__version__ = "0.2.0"

# Public names are those of the file __init__.pyi. Each is imported when it is first asked for, so that the command
# starts at once, and what needs an extra is asked for by those alone who have it.
_attached = cast(tuple[Any, Any, list[str]], lazy_loader.attach_stub(__name__, __file__))
__getattr__, __dir__, _names = _attached
__all__ = [name for name in _names if name not in ("BestOfK", "gym")]  # pyright: ignore[reportUnsupportedDunderAll]
