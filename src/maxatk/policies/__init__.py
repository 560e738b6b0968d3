"""Acting: what to do, given all that was seen, or the part of it that a class of policies may remember.

The classes of the paper, from the largest to the smallest, and what a policy of each is a function of:

========================  ==========================================================  =========
:class:`HistoryPolicy`    everything seen: all rollouts so far, step by step          ``Π_H``
:class:`AdaptivePolicy`   rollout, step, state, best return so far M, return so far G  ``Π_C``
:class:`NoBestPolicy`     rollout, step, state, G
:class:`NoReturnPolicy`   rollout, step, state, M
:class:`MarkovPolicy`     rollout, step, state (or step and state alone)              ``Π_M``
========================  ==========================================================  =========

By Proposition 2 an adaptive policy can be as good as any. Every policy can :meth:`~Policy.begin` a :class:`Trial`,
which keeps count for a caller who only has states and rewards; all but history policies can also be asked directly,
with :meth:`~Policy.action` and :meth:`~Policy.actions`. Rollouts, steps, states and actions count from 0.

Where rollouts cost something, a policy may stop before one (:meth:`~Policy.stops`), and give one up (``ABANDON``).
"""

from maxatk.policies.drawn import DrawnPolicy
from maxatk.policies.functions import AdaptivePolicy, NoBestPolicy, NoReturnPolicy, RoundingPolicy
from maxatk.policies.history import History, HistoryPolicy, HistoryTrial, PastStep
from maxatk.policies.hooks import KnownValue, Rule, Traits
from maxatk.policies.mixture import MixedPolicy, MixedTrial
from maxatk.policies.policy import CompressedPolicy, Policy, check_policy
from maxatk.policies.rounds import Round, RoundsPolicy, RoundTry
from maxatk.policies.sampled_rounds import SampledRound, SampledRoundsPolicy
from maxatk.policies.tables import ByBestPolicy, MarkovPolicy
from maxatk.policies.trial import ABANDON, CompressedTrial, Trial

__all__ = [
    "ABANDON",
    "AdaptivePolicy",
    "ByBestPolicy",
    "CompressedPolicy",
    "CompressedTrial",
    "DrawnPolicy",
    "History",
    "HistoryPolicy",
    "HistoryTrial",
    "KnownValue",
    "MarkovPolicy",
    "MixedPolicy",
    "MixedTrial",
    "NoBestPolicy",
    "NoReturnPolicy",
    "PastStep",
    "Policy",
    "Round",
    "RoundTry",
    "RoundingPolicy",
    "RoundsPolicy",
    "Rule",
    "SampledRound",
    "SampledRoundsPolicy",
    "Traits",
    "Trial",
    "check_policy",
]
