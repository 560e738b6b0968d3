"""The gallery's problems are what they say: planned once more from the story, without a table, by plain recursion."""

import itertools
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import maxatk as mk

NONE = -(10**9)  # no return yet


def plan_from_story(k, start, choices):
    """The optimum of K tries whose step is told by ``choices(h, place)``: lists of (chance, place or None, reward)."""

    @cache
    def before(i, m):
        return m if i == k else sum(p * within(i, 0, place, m, 0) for p, place in start)

    @cache
    def within(i, h, place, m, g):
        return max(
            sum(
                p * (before(i + 1, max(m, g + r)) if after is None else within(i, h + 1, after, m, g + r))
                for p, after, r in outcomes
            )
            for outcomes in choices(h, place)
        )

    return before(0, NONE)


def test_qualifying_laps():
    def choices(h, sector):
        for gain, crash in ((0, 0), (1, 2), (2, 8), (3, 20)):
            through = None if sector == 7 else sector + 1
            yield [(1 - crash / 100, through, gain), (crash / 100, None, -30)]

    plan = mk.solve(mk.instances.qualifying_laps(), 6, solver=mk.Certified(tol=0))
    story = plan_from_story(6, [(1.0, 0)], choices)
    assert plan.lower - 1e-9 <= story <= plan.upper + 1e-9
    assert round(story, 2) == 19.84
    always_quick = 0.98**8  # the best mean
    assert round(8 * (1 - (1 - always_quick) ** 6), 1) == 8.0


def test_javelin():
    spread = ((-3, Fraction(1, 4)), (0, Fraction(1, 2)), (3, Fraction(1, 4)))
    runs = {"easy": (70, 2, 10), "fast": (76, 5, 25), "full": (81, 12, 45), "lost": (64, 10, 40)}

    def choices(h, place):
        if place == "mark":
            yield [(1, "easy", 0)]
            yield [(1, "fast", 0)]
            yield [(Fraction(3, 4), "full", 0), (Fraction(1, 4), "lost", 0)]
            return
        distance, early, late = runs[place]
        for more, foul in ((0, Fraction(early, 100)), (4, Fraction(late, 100))):
            yield [(foul, None, 0), *(((1 - foul) * p, None, distance + more + d) for d, p in spread)]

    exact = mk.solve(mk.instances.javelin(), 6, solver=mk.Exact()).exact
    assert exact == plan_from_story(6, [(1, "mark")], choices)


def test_gambler():
    win = Fraction(9, 20)

    def choices(h, have):
        yield [(1, None, 0)]
        for stake in {1, 2, 5, have} - {0}:
            stake = min(stake, 20 - have)
            if stake > have or stake == 0:
                continue
            over = h == 5
            up = None if over or have + stake == 20 else have + stake
            down = None if over or have == stake else have - stake
            yield [(win, up, stake), (1 - win, down, -stake)]

    exact = mk.solve(mk.instances.gambler(), 3, solver=mk.Exact()).exact
    assert exact == plan_from_story(3, [(1, 10)], choices)
    assert exact == 10 * (1 - Fraction(11, 20) ** 2)  # go home once, then all on one bet, twice
    assert mk.solve(mk.instances.gambler(), 1, solver=mk.Exact()).exact == 0  # a game that loses on average


@pytest.mark.parametrize("resets", [False, True])
def test_a_speedrun_by_plain_recursion(resets):
    chances = [Fraction(x) for x in ("9/10", "4/5", "7/10", "1/2", "3/5")]
    safe, failed, price, k = (2, 3, 4, 8, 6), (8, 9, 12, 18, 18), Fraction(1, 4), 3

    @cache
    def before(runs, m):  # m: the least time lost so far; None for nothing
        go = within(runs, 0, 0, m) if runs < k else None
        return go if m is None else max(x for x in (go, -m) if x is not None)

    @cache
    def within(runs, s, lost, m):
        if s == 5:
            return before(runs + 1, lost if m is None else min(m, lost))
        p = chances[s]
        go = max(
            within(runs, s + 1, lost + safe[s], m),
            p * within(runs, s + 1, lost, m) + (1 - p) * within(runs, s + 1, lost + failed[s], m),
        )
        reset = before(runs + 1, m) if resets and s and (m is not None or runs < k - 1) else None
        return max(x for x in (go - price, reset) if x is not None)

    assert mk.solve(mk.instances.speedrun(), k, solver=mk.Exact(), abandon=resets).exact == before(0, None)


def test_drafts_are_those_of_the_guide():
    mdp = mk.instances.drafts()
    value = mk.solve(mdp, 4, solver=mk.Exact()).exact
    assert round(float(value), 4) == 7.7162
    weak, fair, strong = Fraction("2.4"), Fraction("5.3"), Fraction("8.8")  # handed in
    revised = Fraction("0.6") * weak + Fraction("0.35") * fair + Fraction("0.05") * strong
    alone = (3 * revised + 6 * fair + strong) / 10  # plain; only a weak draft is worth revising
    assert mk.solve(mdp, 1, solver=mk.Exact()).exact == alone


def test_blackjack_deals_and_settles():
    """Dealers' and players' hands, dealt card by card here."""
    cards = [min(rank, 10) for rank in range(1, 14)]

    def total(hand):
        low = sum(hand)
        return low + 10 if 1 in hand and low <= 11 else low

    @cache
    def dealt(hand):  # the law of the dealer's end from a sorted hand; 0 for too much, 21.5 for a natural
        if total(hand) > 21:
            return {0: 1.0}
        if total(hand) >= 17:
            return {21.5 if len(hand) == 2 and total(hand) == 21 else total(hand): 1.0}
        law = {}
        for card in cards:
            for end, p in dealt(tuple(sorted((*hand, card)))).items():
                law[end] = law.get(end, 0) + p / 13
        return law

    mdp = mk.instances.blackjack()
    starts = dict(zip(mdp.start_state.tolist(), mdp.start_prob.tolist(), strict=True))
    named = {name: s for s, name in enumerate(mdp.state_names)}
    # All of the first deal: beaten at once when the dealer has a natural and the player has not.
    player = sum(1 for pair in itertools.product(cards, repeat=2) if total(pair) == 21) / 169
    assert starts[named["the dealer has a natural"]] == pytest.approx((1 - player) * player, abs=1e-12)
    assert starts[named["soft 18 against 6"]] == pytest.approx(2 / 13**3, abs=1e-12)
    for up in range(1, 11):
        law = dealt((up,))
        fair = {end: p / (1 - law.get(21.5, 0)) for end, p in law.items() if end != 21.5}
        for stands in range(4, 22):
            state = named[f"{stands} against {'an ace' if up == 1 else up}"]
            mean = sum(p * (1 if stands > end else -1 if stands < end else 0) for end, p in fair.items())
            assert sum(p * r for p, _, r in mdp.outcomes(0, state, 0)) == pytest.approx(mean, abs=1e-12)
    double = mdp.outcomes(0, named["11 against 6"], 2)
    assert {o.reward for o in double} == {-2.0, 0.0, 2.0}
    assert {o.next_state for o in double} == {None}
    assert mdp.actions(0, named["11 against 6, later"]) == [0, 1]
    assert mdp.actions(0, named["21 against 6"]) == [0]


def test_no_hand_of_blackjack_is_cut_short():
    """After the last step there is nobody left at the table, whatever is done."""
    mdp = mk.instances.blackjack()
    there = np.zeros(mdp.n_states + 1, bool)
    there[mdp.start_state] = True
    origin = np.repeat(np.repeat(np.arange(mdp.n_states), np.diff(mdp.pair_start)), np.diff(mdp.outcome_start))
    for _ in range(mdp.horizon):
        after = np.zeros_like(there)
        after[mdp.next_state[there[origin]]] = True
        there = after
        there[mdp.n_states] = False
    assert not there.any()


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("qualifying_laps", {"sectors": 0}, "sectors must be at least 1, not 0"),
        ("qualifying_laps", {"penalty": "much"}, "penalty must be a real number, not 'much'"),
        ("gambler", {"chips": 0}, "chips must be at least 1, not 0"),
        ("gambler", {"chips": 30}, "target must be at least 30, not 20"),
        ("gambler", {"win": 2}, "win must be between 0 and 1, not 2"),
        ("gambler", {"bets": 0}, "horizon must be between 1 and"),
        ("speedrun", {"price": -1}, "is negative"),
    ],
)
def test_what_cannot_be_made(name, arguments, message):
    with pytest.raises(mk.InputError, match=message):
        mk.instances.make(name, **arguments)
