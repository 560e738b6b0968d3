"""Learning from episodes alone, with statistics on rows and plans on (rollout, step, state, M, G)."""

from maxatk.learning.online.log import learn_from
from maxatk.learning.online.online import Online
from maxatk.learning.online.run import OnlineRun, OnlineTrial

__all__ = ["Online", "OnlineRun", "OnlineTrial", "learn_from"]
