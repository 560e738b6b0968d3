"""Attempts at tasks: estimates from logs, which arm to try next, when to stop; and weights that train for max@k.

The flow is log → curves, differences, frontier → sequence → replay → scheduler:

>>> from maxatk import attempts as at
>>> log = at.example_log()                             # or at.read_log("attempts.csv"), at.Log.from_frame(df)
>>> train, held_out = log.split(0.5)
>>> plan = at.sequence(train, price=0.1)            # what a second of CPU time is worth, in score
>>> replay = plan.replay(held_out)                  # what it earns on tasks that it has not seen
>>> scheduler = plan.scheduler()                    # ask and tell
>>> scheduler.ask("a new task").arm
'L-BFGS-B'
"""

from typing import Any, cast

import lazy_loader  # pyright: ignore[reportMissingTypeStubs]

_attached = cast(tuple[Any, Any, list[str]], lazy_loader.attach_stub(__name__, __file__))
__getattr__, __dir__, __all__ = _attached  # pyright: ignore[reportUnsupportedDunderAll]
