"""Well-known problems where only the best of a few tries counts: laps, throws, evenings, hands, runs, drafts.

They are small, and their numbers are invented, except blackjack's. The gain from planning differs: on some it comes
from adapting to the best so far, on some from aiming for the best instead of the mean, on some it is almost 0.
"""

from fractions import Fraction
from functools import cache
from typing import Any

from maxatk.base import checks
from maxatk.base.errors import InputError
from maxatk.base.types import Number
from maxatk.problem.cards import CARDS, add_card, dealer_showing, two_cards
from maxatk.problem.mdp import MDP


def qualifying_laps(sectors: int = 8, penalty: Number = 30) -> MDP:
    """Qualifying: in every sector of a lap gain 0, 1, 2 or 3 tenths, and crash with chance 0, .02, .08 or .2.

    A crash ends the lap and costs the ``penalty``. Meant for six laps: it is right to push early on, and to protect a
    lap that goes well.

    Args:
        sectors: the number of sectors of a lap.
        penalty: what a crash subtracts from the gain so far, in tenths.

    >>> import maxatk as mk
    >>> mk.instances.qualifying_laps()
    MDP(8 states, 4 actions, horizon 8, 56 outcomes)
    """
    n = checks.integer(sectors, "sectors", least=1)
    loss = checks.exact_number(penalty, "penalty")
    chances = (Fraction(0), Fraction(2, 100), Fraction(8, 100), Fraction(2, 10))
    table = [
        {
            gain: [(1 - crash, min(s + 1, n - 1), gain, s == n - 1), (crash, s, -loss, True)]
            for gain, crash in enumerate(chances)
        }
        for s in range(n)
    ]
    return MDP.from_table(
        table,
        horizon=n,
        state_names=[f"sector {s + 1}" for s in range(n)],
        action_names=("steady", "quick", "hard", "flat out"),
    ).with_unit("tenths")


def javelin() -> MDP:
    """Javelin: choose the run-up, then release early or late; fast and late goes far, unless it is a foul.

    A full run-up may lose its rhythm. Distances are in metres, a foul counts 0. Meant for six throws.

    >>> import maxatk as mk
    >>> round(mk.solve(mk.instances.javelin(), k=6).lower, 2)
    85.7
    """
    quarter, half = Fraction(1, 4), Fraction(1, 2)
    early, late = 0, 1

    def throw(distance: int, foul: Fraction) -> list[Any]:
        lands = ((distance - 3, quarter), (distance, half), (distance + 3, quarter))
        return [(foul, 0, 0, True), *(((1 - foul) * p, 0, d, True) for d, p in lands)]

    def release(distance: int, foul_early: Fraction, foul_late: Fraction) -> dict[int, Any]:
        return {early: throw(distance, foul_early), late: throw(distance + 4, foul_late)}

    table = [
        {
            2: [(1, 1, 0, False)],
            3: [(1, 2, 0, False)],
            4: [(Fraction(3, 4), 3, 0, False), (quarter, 4, 0, False)],
        },
        release(70, Fraction(2, 100), Fraction(1, 10)),
        release(76, Fraction(5, 100), quarter),
        release(81, Fraction(12, 100), Fraction(45, 100)),
        release(64, Fraction(1, 10), Fraction(4, 10)),
    ]
    return MDP.from_table(
        table,
        horizon=2,
        state_names=("at the mark", "easy run-up", "fast run-up", "full run-up", "out of rhythm"),
        action_names=("release early", "release late", "run up easily", "run up fast", "run up fully"),
    ).with_unit("metres")


def gambler(chips: int = 10, target: int = 20, bets: int = 6, win: Number = Fraction(9, 20)) -> MDP:
    """A gambler: an evening of up to six bets on a coin that loses a little more often than it wins.

    Every bet stakes 1, 2, 5 or all chips, as far as the target; going home ends the evening. The return is what was
    won. Meant for three evenings of which the best counts: with a mean in mind one stays at home.

    Args:
        chips: how many the gambler comes with.
        target: how many there can be at most.
        bets: how many bets an evening has.
        win: the chance of each.
    """
    least = checks.integer(chips, "chips", least=1)
    most = checks.integer(target, "target", least=least)
    H = checks.horizon(bets)
    p = checks.exact_number(win, "win")
    if not 0 <= p <= 1:
        raise InputError(f"win must be between 0 and 1, not {checks.shown(win)}")
    table: list[dict[int, Any]] = []
    for have in range(most + 1):
        actions: dict[int, Any] = {0: [(1, have, 0, True)]}
        for action, stake in enumerate((1, 2, 5, have), start=1):
            stake = min(stake, most - have)
            if 0 < stake <= have:
                actions[action] = [
                    (p, have + stake, stake, have + stake == most),
                    (1 - p, have - stake, -stake, have == stake),
                ]
        table.append(actions)
    return MDP.from_table(
        table,
        horizon=H,
        start=least,
        state_names=[f"{have} chip{'' if have == 1 else 's'}" for have in range(most + 1)],
        action_names=("go home", "bet 1", "bet 2", "bet 5", "bet all"),
    ).with_unit("chips")


def speedrun(price: Number = Fraction(1, 4)) -> MDP:
    """A speedrun: five segments, each on a safe line or with a trick that may fail; playing one costs something.

    The return is the time lost, in seconds, below a perfect run; the price of a segment is in seconds, too. Meant for
    up to twenty runs that may be reset (``abandon=True``): a run that lost a trick early is not worth finishing.

    Args:
        price: what playing a segment costs.

    >>> import maxatk as mk
    >>> plan = mk.solve(mk.instances.speedrun(), k=20, abandon=True)
    >>> plan.policy.stops(rollout=1, best=-6), plan.policy.stops(rollout=1, best=-5)
    (False, True)
    """
    chances = (Fraction(9, 10), Fraction(4, 5), Fraction(7, 10), Fraction(1, 2), Fraction(3, 5))
    tricks = list(zip(chances, (2, 3, 4, 8, 6), (8, 9, 12, 18, 18), strict=True))  # lost on the safe line; by a failure
    last = len(tricks) - 1
    table: list[dict[int, Any]] = []
    for s, (chance, safe, failed) in enumerate(tricks):
        after, over = min(s + 1, last), s == last
        table.append({0: [(1, after, -safe, over)], 1: [(chance, after, 0, over), (1 - chance, after, -failed, over)]})
    return MDP.from_table(
        table,
        horizon=len(tricks),
        action_cost=checks.exact_number(price, "price"),
        state_names=[f"segment {s + 1}" for s in range(len(tricks))],
        action_names=("safe line", "trick"),
    ).with_unit("seconds")


def drafts() -> MDP:
    """Drafts of a model: a plain or a bold prompt, a verifier's grade, and then revise once or hand in.

    The score is the number of tests passed, of ten. Meant for four attempts; the guide to attempts of a model builds
    it step by step.

    >>> import maxatk as mk
    >>> round(mk.solve(mk.instances.drafts(), k=4).lower, 4)
    7.7162
    """
    plain, bold, submit, revise = range(4)
    fresh, weak, fair, strong = range(4)

    def then(*chances: tuple[str, int]) -> list[Any]:
        return [(Fraction(chance), state, 0, False) for chance, state in chances]

    def scores(state: int, *chances: tuple[str, int]) -> list[Any]:
        return [(Fraction(chance), state, score, True) for chance, score in chances]

    table = {
        fresh: {
            plain: then(("0.3", weak), ("0.6", fair), ("0.1", strong)),
            bold: then(("0.8", weak), ("0.2", strong)),
        },
        weak: {
            submit: scores(weak, ("0.8", 2), ("0.2", 4)),
            revise: then(("0.6", weak), ("0.35", fair), ("0.05", strong)),
        },
        fair: {
            submit: scores(fair, ("0.7", 5), ("0.3", 6)),
            revise: then(("0.5", weak), ("0.3", fair), ("0.2", strong)),
        },
        strong: {
            submit: scores(strong, ("0.6", 8), ("0.4", 10)),
            revise: then(("0.3", weak), ("0.7", strong)),
        },
    }
    return MDP.from_table(
        table,
        horizon=3,
        state_names=("no draft yet", "a weak draft", "a fair draft", "a strong draft"),
        action_names=("plain prompt", "bold prompt", "hand in", "revise"),
    ).with_unit("tests passed")


def blackjack() -> MDP:
    """Blackjack: one hand for a stake of 1, to stand, hit or double, against a dealer who stands on 17.

    Cards come from an endless deck; there is no splitting, a natural pays 1.5 unless the dealer has one too, and the
    dealer looks for one at once. Meant for three hands of which the best counts.

    >>> import maxatk as mk
    >>> mk.instances.blackjack().return_range
    (-2.0, 2.0)
    """
    states = [
        ("beaten", 0, False, 0),  # by a natural of the dealer
        *(("natural", 21, True, up) for up in CARDS),
        *((kind, total, soft, up) for kind in ("first", "later") for up in CARDS for total, soft in _totals()),
    ]
    number = {state: s for s, state in enumerate(states)}
    table: list[dict[int, Any]] = []
    for kind, total, soft, up in states:
        if kind == "beaten":
            table.append({0: [(1, 0, -1, True)]})
            continue
        if kind == "natural":
            table.append({0: [(float(p), 0, x, True) for x, p in ((0, _natural(up)), (1.5, 1 - _natural(up))) if p]})
            continue
        stand = [(float(p), 0, reward, True) for reward, p in _settled(total, up)]
        if total == 21:
            table.append({0: stand})
            continue
        hit: list[Any] = []
        double: list[Any] = []
        for card, p in CARDS.items():
            after = add_card(total, soft, card)
            if after is None:
                hit.append((float(p), 0, -1, True))
                double.append((float(p), 0, -2, True))
            else:
                hit.append((float(p), number["later", *after, up], 0, False))
                double += [(float(p * q), 0, 2 * reward, True) for reward, q in _settled(after[0], up)]
        table.append({0: stand, 1: hit, **({2: double} if kind == "first" else {})})
    start = [0.0] * len(states)
    for one, p in CARDS.items():
        for two, q in CARDS.items():
            for up, r in CARDS.items():
                total, soft = two_cards(one, two)
                if total == 21:
                    start[number["natural", total, soft, up]] += float(p * q * r)
                else:
                    start[number["first", total, soft, up]] += float(p * q * r * (1 - _natural(up)))
                    start[0] += float(p * q * r * _natural(up))
    return MDP.from_table(
        table,
        horizon=20,  # the longest hand: soft 12 up to 20 by aces, a 2, and up to 21 by aces again
        start=start,
        state_names=[_hand(*state) for state in states],
        action_names=("stand", "hit", "double"),
    ).with_unit("stakes")


def _totals() -> list[tuple[int, bool]]:
    return [*((total, False) for total in range(4, 22)), *((total, True) for total in range(12, 22))]


def _natural(up: int) -> Fraction:
    """The chance that the dealer's other card makes a natural."""
    return dealer_showing(up).get((21, True), Fraction(0))


@cache
def _settled(total: int, up: int) -> list[tuple[int, Fraction]]:
    """The law of the reward for standing on a total against a dealer's card, if the dealer has no natural."""
    law = {-1: Fraction(0), 0: Fraction(0), 1: Fraction(0)}
    for (end, natural), p in dealer_showing(up).items():
        if not natural:
            law[(total > end) - (total < end)] += p / (1 - _natural(up))
    return [(reward, p) for reward, p in law.items() if p]


def _hand(kind: str, total: int, soft: bool, up: int) -> str:
    if kind == "beaten":
        return "the dealer has a natural"
    shows = "an ace" if up == 1 else str(up)
    if kind == "natural":
        return f"natural against {shows}"
    return f"{'soft ' if soft else ''}{total} against {shows}{'' if kind == 'first' else ', later'}"
