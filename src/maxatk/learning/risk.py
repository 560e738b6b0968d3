"""A probability of failure as an account: the shares that claims take of it are added up exactly.

A learner makes many claims, each of which may fail. It is right with probability ``1 - delta`` if the probabilities of
failure add up to ``delta`` at most. So nothing in this package divides ``delta`` by hand: each claim takes a share of
an account, and an account from which more is taken than there is raises an error.
"""

import math
from enum import Enum
from fractions import Fraction
from typing import NamedTuple, TypeAlias

HALF = Fraction(1, 2)


class Claim(Enum):
    """What a half of an account is for."""

    OPTIMUM = "bounds on the optimum from above"
    POLICIES = "bounds on policies from below"
    PLAYED = "the trials played"
    TESTED = "the policies tested"
    BETS = "bets on values"
    BALLS = "balls around the shares of rows"


class GridClaim(NamedTuple):
    """The claims of all bets on one grid of returns."""

    kind: str
    number: Fraction


Key: TypeAlias = Claim | GridClaim | int  # the n-th claim of a series is n


class Risk:
    """An account of risk.

    Args:
        amount: the probability with which the claims on it may fail, all together.

    >>> from fractions import Fraction
    >>> risk = Risk(Fraction(1, 10))
    >>> half = risk.half(Claim.OPTIMUM)
    >>> half.amount, risk.left
    (Fraction(1, 20), Fraction(1, 20))
    >>> f"{half.log(1000):.3f}"                  # a thousand claims at a time: each may fail with 1/20000
    '9.903'
    """

    def __init__(self, amount: Fraction) -> None:
        self.amount = amount
        self._shares: dict[Key, Risk] = {}
        self._series: Risk | None = None

    @property
    def left(self) -> Fraction:
        """What has not been taken yet."""
        shares = sum((share.amount for share in self._shares.values()), Fraction(0))
        return self.amount - shares if self._series is None else Fraction(0)

    def share(self, claim: Key, part: Fraction) -> "Risk":
        """A part of the amount, for a claim. The same claim made again takes nothing more."""
        amount = self.amount * part
        taken = self._shares.get(claim)
        if taken is not None and taken.amount == amount:
            return taken
        if taken is not None or amount > self.left:
            raise AssertionError(f"{claim} takes {part} of a risk of which {self.left / self.amount} is left")
        self._shares[claim] = Risk(amount)
        return self._shares[claim]

    def half(self, claim: Claim) -> "Risk":
        """A half of the amount, for a claim."""
        return self.share(claim, HALF)

    def nth(self, n: int) -> "Risk":
        """The ``n``-th share, ``n = 1, 2, ...``, of a series of claims that has all of the amount, however many come.

        It does not matter how many were made before: a run that is continued takes none of them again.
        """
        if self._series is None:
            if self.left < self.amount:
                raise AssertionError(f"a series takes all of a risk of which {self.left / self.amount} is left")
            self._series = Risk(self.amount)
        return self._series.share(n, series(n))

    def log(self, claims: int = 1) -> float:
        """``ln(1/delta')`` if ``delta'`` is what each of so many claims gets of the amount, rounded up."""
        inverse = claims / self.amount
        log = math.log(inverse.numerator) - math.log(inverse.denominator)
        return log + 4 * math.ulp(math.log(inverse.numerator) + math.log(inverse.denominator))


def series(n: int) -> Fraction:
    """``1/(n (n + 1))`` for ``n = 1, 2, ...``: shares that add up to 1, however many there are."""
    return Fraction(1, n * (n + 1))
