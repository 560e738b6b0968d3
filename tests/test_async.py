"""Workers that do not wait: neither better than rounds nor worse than one at a time, by enumeration in fractions."""

import itertools
import math
from fractions import Fraction

import maxatk as mk

SAFE = {Fraction(1, 2): Fraction(3, 4), Fraction(0): Fraction(1, 4)}
RISKY = {Fraction(1): Fraction(1, 4), Fraction(0): Fraction(3, 4)}


def best_of(*laws):
    """The expected best of independent returns, each with a law ``{return: probability}``."""
    outcomes = itertools.product(*(law.items() for law in laws))
    return sum(math.prod(p for _, p in one) * max(x for x, _ in one) for one in outcomes)


def with_a_third(seen, unseen):
    """The best of three tries of Figure 1, the third of which is chosen by the results of those that it has seen."""
    return sum(
        math.prod(p for _, p in one)
        * max(best_of(*({x: Fraction(1)} for x, _ in one), *unseen, third) for third in (SAFE, RISKY))
        for one in itertools.product(*(law.items() for law in seen))
    )


PAIRS = list(itertools.product((SAFE, RISKY), repeat=2))


def test_workers_that_do_not_wait_may_earn_less_than_rounds():
    """Two workers, three tries that take random times of one law: the third starts when either of the others is over,
    each as likely, and sees that one alone; in rounds it sees both.
    """
    problem = mk.instances.figure1(gamma=Fraction(1, 4))
    alone = mk.solve(problem, 3, solver=mk.Exact()).exact
    rounds = mk.solve(problem, 3, rounds=(2, 1), solver=mk.Exact()).exact
    assert alone == Fraction(87, 128)
    assert rounds == max(with_a_third(pair, ()) for pair in PAIRS) == Fraction(43, 64)
    waiting_for_nobody = max((with_a_third((a,), (b,)) + with_a_third((b,), (a,))) / 2 for a, b in PAIRS)
    assert waiting_for_nobody == Fraction(169, 256)
    assert waiting_for_nobody < rounds < alone


SURE, GAMBLE = {Fraction(1): Fraction(1)}, {Fraction(2): Fraction(3, 10), Fraction(0): Fraction(7, 10)}
KINDS = (("choice", Fraction(1, 2)), (1, Fraction(1, 4)), (0, Fraction(1, 4)))  # of tries: the last two end at once


def two_side_by_side():
    """The optimum of two tries at the same time, where a try that goes on sees at once what the other ended with."""

    def value(kinds):
        laws = [(SURE, GAMBLE) if kind == "choice" else ({Fraction(kind): Fraction(1)},) for kind in kinds]
        # If both go on, each knows just that; if one has ended, the other knows its return. So this is the optimum.
        return max(best_of(*pair) for pair in itertools.product(*laws))

    return sum(p * q * value((a, b)) for (a, p), (b, q) in itertools.product(KINDS, repeat=2))


def test_a_best_result_that_is_live_may_earn_more_than_one_at_a_time():
    """A try that goes on learns that the other has ended, and with what, before it chooses."""
    waits, chooses, wins, loses = range(4)
    table = {
        waits: {0: [(1, chooses, 0, False)]},
        chooses: {
            0: [(1, chooses, 1, True)],
            1: [(Fraction(3, 10), chooses, 2, True), (Fraction(7, 10), chooses, 0, True)],
        },
        wins: {0: [(1, wins, 1, True)]},
        loses: {0: [(1, loses, 0, True)]},
    }
    start = [Fraction(1, 2), 0, Fraction(1, 4), Fraction(1, 4)]
    problem = mk.MDP.from_table(table, horizon=2, start=start)
    assert mk.solve(problem, 2, solver=mk.Exact()).exact == Fraction(21, 20)
    assert two_side_by_side() == Fraction(87, 80)
