"""A probability of failure as an account: what each claim may take of it is added up, exactly.

A learner makes many claims, each of which may fail. It is right with probability ``1 - delta`` if the chances add up to
no more than ``delta``. So nothing in this package divides ``delta`` by hand: whoever makes a claim takes a share of the
account, and an account from which more is taken than there is raises an error.
"""

import math
from fractions import Fraction


class Risk:
    """An account of risk.

    Args:
        amount: the probability with which the claims that are paid from it may fail, all together.

    >>> from fractions import Fraction
    >>> risk = Risk(Fraction(1, 10))
    >>> half = risk.share("from above", Fraction(1, 2))
    >>> half.amount, risk.left
    (Fraction(1, 20), Fraction(1, 20))
    >>> f"{half.log(1000):.3f}"                  # a thousand claims at a time: each may fail with 1/20000
    '9.903'
    """

    def __init__(self, amount: Fraction) -> None:
        self.amount = amount
        self._shares: dict[str, Risk] = {}

    @property
    def left(self) -> Fraction:
        """What has not been taken yet."""
        return self.amount - sum((share.amount for share in self._shares.values()), Fraction(0))

    def share(self, claim: str, part: Fraction) -> "Risk":
        """A part of the amount, for a claim. Who makes the same claim again pays only once."""
        amount = self.amount * part
        taken = self._shares.get(claim)
        if taken is not None and taken.amount == amount:
            return taken
        if taken is not None or amount > self.left:
            raise AssertionError(f"{claim} takes {part} of a risk of which {self.left / self.amount} is left")
        self._shares[claim] = Risk(amount)
        return self._shares[claim]

    def nth(self, n: int) -> "Risk":
        """The ``n``-th share, ``n = 1, 2, ...``, of a series of claims that has all of the amount, however many come.

        It does not matter how many were made before: a run that is continued pays for none of them again.
        """
        return self.share("a series of claims", Fraction(1)).share(f"claim {n}", series(n))

    def log(self, claims: int = 1) -> float:
        """``ln(1/delta')`` if ``delta'`` is what each of so many claims gets of the amount, rounded up."""
        inverse = claims / self.amount
        log = math.log(inverse.numerator) - math.log(inverse.denominator)
        return log + 4 * math.ulp(math.log(inverse.numerator) + math.log(inverse.denominator))


def series(n: int) -> Fraction:
    """``1/(n (n + 1))`` for ``n = 1, 2, ...``: shares that add up to 1, however many there are."""
    return Fraction(1, n * (n + 1))
