"""What the library promises, each held to the oracle. A promise that is broken raises :class:`BrokenError`."""

import functools
import itertools
import math
import os
import re
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import optimize

import maxatk as mk
from maxatk import attempts as at
from maxatk.base.tuning import tuned
from maxatk.planning.certified.plan import evidence_of
from maxatk.report.words.verdict import sentences
from soaking.oracle import Number, Problem, TooLargeError, Truth

MOST_ROLLOUTS = 40  # of policies that are followed exactly

BRANCHES: dict[str, tuple[Any, ...]] = {  # settings that lead small problems where only large ones come otherwise
    "small_slice": (2**23, -1),
    "recorded_slice": (2**26, -1),
    "coarse_points": (128, 5, 17),
    "exact_points": (50_000, 50_000, 1),
    "table_points": (2**22, 1, 30),
    "most_outcomes": (100_000, -1),
    "few_outcomes": (3_000, -1, -1),
}


class BrokenError(Exception):
    """A promise is broken."""


class Case:
    """A problem, what the library makes of it, and the truth."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem, self.truth = problem, Truth(problem)
        self.random = np.random.default_rng([seed, 1])
        table: Any = problem.steps if len(problem.steps) > 1 else problem.steps[0]
        costs: dict[int, dict[int, Number]] = {}
        for (s, a), cost in problem.costs.items():
            costs.setdefault(s, {})[a] = cost
        self.mdp = mk.MDP.from_table(table, horizon=problem.horizon, start=problem.start, action_cost=costs)
        self.pay: dict[str, Any] = {"cost": problem.price, "abandon": problem.abandon} if problem.priced else {}
        self.incumbent = problem.incumbent
        least, most = self.mdp.return_range
        share = [None, None, 1e-6, 1e-2, 0.3, 3.0][int(self.random.integers(6))]
        self.tol = None if share is None else share * (most - least)

    def solve(self, **options: Any) -> Any:
        """A plan, in ten seconds at most."""
        progress = options.pop("progress", False)
        solver = mk.Certified(**{"tol": self.tol, "time_limit": 10, **options})
        return mk.solve(
            self.mdp, self.problem.k, solver=solver, best_so_far=self.incumbent, progress=progress, **self.pay
        )

    @cached_property
    def plan(self) -> Any:
        """The plan, by default settings but for the tolerance."""
        return self.solve()

    def some_return(self) -> Number:
        """A number to have in hand: a return, something near one, or anything."""
        least, most = self.mdp.return_range
        kinds: list[Callable[[], Number]] = [
            lambda: -math.inf,
            lambda: sorted(self.truth.returns)[int(self.random.integers(len(self.truth.returns)))],
            lambda: float(self.random.uniform(least, most)),
            lambda: math.nextafter(float(self.random.choice([float(r) for r in self.truth.returns])), math.inf),
            lambda: least - float(self.random.exponential(1 + most - least)),
            lambda: Fraction(float(self.random.uniform(least, most))).limit_denominator(7),
        ]
        return kinds[int(self.random.integers(len(kinds)))]()


def _at_least(earned: Fraction, promised: float, what: str) -> None:
    if earned < Fraction(promised):
        raise BrokenError(f"{what}: promised {promised!r}, earns {float(earned)!r}")


def _inside(case: Case, plan: Any, i: int, m: Number, what: str) -> None:
    low, high = case.truth.value(i, m)
    lower, upper = (plan.lower, plan.upper) if i == 0 and m == case.incumbent else plan.curve(i, m)
    if Fraction(lower) > high or Fraction(upper) < low:
        raise BrokenError(f"{what}: {float(low)!r} is not in [{lower!r}, {upper!r}]")


def interval(case: Case) -> None:
    """The optimum lies in the plan's interval, and no bound is sillier than what anybody knows."""
    plan = case.plan
    _inside(case, plan, 0, case.incumbent, "interval")
    _, most = case.mdp.return_range
    if plan.upper > max(most, math.nextafter(float(case.incumbent), math.inf)):
        raise BrokenError(f"upper bound {plan.upper!r} exceeds the greatest return {most!r}")
    if plan.status == "within tol" and plan.gap > evidence_of(plan).tol:
        raise BrokenError(f"width {plan.gap!r} is called within tol {evidence_of(plan).tol!r}")


def policy(case: Case) -> None:
    """The plan's policy earns at least ``lower``."""
    _follow(case)
    _at_least(case.truth.earned(case.plan.policy.action, 0, case.incumbent), case.plan.lower, "policy")


def lines(case: Case) -> None:
    """Curves contain the truth wherever they are asked, and the policy earns their lower ends from there on."""
    for _ in range(4):
        i, m = int(case.random.integers(0, case.problem.k + 1)), case.some_return()
        if i == case.problem.k and m == -math.inf:
            continue
        _inside(case, case.plan, i, m, f"curve({i}, {m!r})")
        if 0 < i < case.problem.k <= MOST_ROLLOUTS and not evidence_of(case.plan).repeats_mean:
            earned = case.truth.earned(case.plan.policy.action, i, m)
            if m != -math.inf:  # nothing in hand can be lost
                _at_least(earned, case.plan.curve(i, m)[0], f"line at ({i}, {m!r})")


def saved(case: Case) -> None:
    """Problems and plans that are read back are the same."""
    with tempfile.TemporaryDirectory() as folder:
        case.mdp.save(Path(folder) / "p.npz")
        if mk.load_mdp(Path(folder) / "p.npz") != case.mdp:
            raise BrokenError("the problem changes when it is saved")
        case.plan.save(Path(folder) / "x.plan", with_problem=True)
        loaded = mk.load_plan(Path(folder) / "x.plan")
    m = case.some_return()
    i = int(case.random.integers(0, case.problem.k))
    same = (
        (loaded.lower, loaded.upper, loaded.best_so_far) == (case.plan.lower, case.plan.upper, case.plan.best_so_far)
        and loaded.curve(i, m) == case.plan.curve(i, m)
        and all(a == b for a, b in zip(*(_some_actions(case, plan) for plan in (case.plan, loaded)), strict=True))
    )
    if not same:
        raise BrokenError("the plan changes when it is saved")


def _some_actions(case: Case, plan: Any) -> Iterator[int]:
    for h, s in itertools.product(range(case.problem.horizon), range(case.mdp.n_states)):
        for best in (-math.inf, 1.5):
            try:
                yield plan.policy.action(rollout=case.problem.k - 1, step=h, state=s, best=best, so_far=0.25 * h)
            except mk.TooLargeError:
                yield -1


def threads(case: Case) -> None:
    """The number of threads changes nothing."""
    one, three = (case.solve(threads=n) for n in (1, 3))
    if one.status != "time limit" != three.status and (one.lower, one.upper) != (three.lower, three.upper):
        raise BrokenError(f"threads: [{one.lower!r}, {one.upper!r}] and [{three.lower!r}, {three.upper!r}]")


def stopped(case: Case) -> None:
    """A plan that is stopped at a random moment, by time or by Ctrl-C, is true and its policy earns ``lower``."""
    delay = float(case.random.exponential(0.005))
    if case.random.random() < 0.5:
        plan = case.solve(time_limit=delay, tol=0.0)
    else:
        plan = _interrupted(case, delay)
        if plan is None:
            return
    _inside(case, plan, 0, case.incumbent, f"stopped ({plan.status})")
    _holds_gain(case, plan)
    if case.problem.k <= MOST_ROLLOUTS:
        _at_least(case.truth.earned(plan.policy.action, 0, case.incumbent), plan.lower, f"policy, {plan.status}")


def _interrupted(case: Case, delay: float) -> Any:
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
    plan = None
    try:
        with suppress(KeyboardInterrupt):
            timer.start()
            plan = case.solve(tol=0.0, time_limit=2)
        with suppress(KeyboardInterrupt):
            timer.cancel()
            timer.join()
    finally:
        signal.signal(signal.SIGINT, usual)
    return plan


def _exact(x: float) -> Number:
    """A float as a fraction, if it is finite."""
    return Fraction(x) if math.isfinite(x) else x


def _between(lower: float, x: Number, upper: float) -> bool:
    return bool(_exact(lower) <= x <= _exact(upper))


def evaluated(case: Case) -> None:
    """What ``evaluate`` says of a policy contains what it earns, and its law what the law is."""
    _follow(case)
    found: Any
    for name, chosen in _policies(case).items():
        try:
            atoms = [100_000, 20][int(case.random.integers(2))]
            found = mk.evaluate(case.mdp, chosen, cost=case.problem.price, max_atoms=atoms)
        except mk.TooLargeError:
            continue
        law, paid, tries = case.truth.followed(chosen.action, 0, case.incumbent)
        earned = sum((p * Fraction(best) for best, p in law.items()), -paid)
        for part, true in ((found.best, earned + paid), (found.cost, paid), (found.tries, tries)):
            if part.exact != true and not (part.exact is None and _between(part.lower, true, part.upper)):
                raise BrokenError(f"evaluate({name}): {float(true)!r} is not in {part}")
        exact = found.exact is not None
        if (exact and found.exact != earned) or not (exact or _between(found.lower, earned, found.upper)):
            raise BrokenError(f"evaluate({name}): {float(earned)!r} is not in [{found.lower!r}, {found.upper!r}]")
        for x in {float(best) for best in list(law)[:20]}:
            for near in (x, math.nextafter(x, math.inf), math.nextafter(x, -math.inf)):
                below = sum((p for best, p in law.items() if best <= near), Fraction(0))
                lower, upper = found.cdf(near)
                if not Fraction(lower) <= below <= Fraction(upper):
                    raise BrokenError(f"cdf({near!r}) of {name}: {float(below)!r} is not in [{lower!r}, {upper!r}]")


def _policies(case: Case) -> dict[str, Any]:
    k, H, mdp = case.problem.k, case.problem.horizon, case.mdp
    salt = int(case.random.integers(1000))

    def any_of(step: int, state: int, *key: Any) -> int:
        offered = mdp.actions(step, state)
        return offered[hash((salt, step, state, *key)) % len(offered)]

    def adaptive(rollout: int, step: int, state: int, best: Number, so_far: Number) -> int:
        return any_of(step, state, rollout, best, so_far)

    table = [[[any_of(h, s, i) for s in range(mdp.n_states)] for h in range(H)] for i in range(k)]
    return {
        "plan": case.plan.policy,
        "adaptive": mk.AdaptivePolicy(adaptive, k, H, case.incumbent),
        "markov": mk.MarkovPolicy(table, best_so_far=case.incumbent),
    }


def simulated(case: Case) -> None:
    """Simulated trials have returns that are possible."""
    runs = mk.simulate(case.mdp, case.plan.policy, trials=50, rng=0) if case.problem.k < 1000 else None
    if runs is None:
        return
    possible = np.array(sorted(float(r) for r in case.truth.returns))
    off = np.abs(runs.returns[np.isfinite(runs.returns)][:, None] - possible).min(axis=-1).max(initial=0.0)
    if off > 1e-15 * case.problem.horizon * np.abs(case.mdp.reward).max():
        raise BrokenError(f"a simulated return is {off!r} away from all that are possible")


def acts_anywhere(case: Case) -> None:
    """M and G may be any numbers."""
    sizes = [0, 1e-300, 1e9, 2.2e9, -1e10, 1e20, -1e300, 1.7e308, Fraction(10**30, 7)]
    for _ in range(6):
        best, so_far = (sizes[int(n)] for n in case.random.integers(0, len(sizes), 2))
        h, s = int(case.random.integers(case.problem.horizon)), int(case.random.integers(case.mdp.n_states))
        i = int(case.random.integers(case.problem.k))
        try:
            action = case.plan.policy.action(rollout=i, step=h, state=s, best=best, so_far=so_far)
        except mk.TooLargeError:
            continue
        if action not in case.mdp.actions(h, s) and not (case.problem.abandon and action == mk.ABANDON):
            raise BrokenError(f"action({best!r}, {so_far!r}) is {action}, which is not offered")


def compared(case: Case) -> None:
    """Every row's policy earns its lower bound; no row contradicts the optimum, nor a row of a smaller class."""
    if case.problem.k > 4:
        return
    solver = mk.Certified(time_limit=4)
    found = mk.compare(case.mdp, case.problem.k, solver=solver, best_so_far=case.incumbent, **case.pay)
    low, high = case.truth.value(0, case.incumbent)
    for row in found:
        lower = _exact(row.lower) if row.exact is None else row.exact
        if row.lower > row.upper or lower > high:
            raise BrokenError(f"compare: {row.name} [{row.lower!r}, {row.upper!r}], optimum {float(high)!r}")
        if isinstance(row.policy, mk.CompressedPolicy):
            earned = case.truth.earned(row.policy.action, 0, case.incumbent)
            exact = row.exact is not None
            if (exact and row.exact != earned) or (not exact and earned < _exact(row.lower)):
                raise BrokenError(f"compare: {row.name} promises {row.lower!r}, earns {float(earned)!r}")
    if Fraction(found["adaptive"].upper) < low:
        raise BrokenError("compare: the adaptive row misses the optimum")
    if found.rows[-1].name != "adaptive":
        raise BrokenError("compare: the last row is not that of all policies")
    best = {row.name: row for row in found}
    pairs = [(row.name, "adaptive") for row in found]
    if not case.problem.priced:
        pairs += [
            ("mean-optimal, repeated", "one policy, sampled k times"),
            ("mean-optimal, repeated", "Markov, per try"),
            ("Markov, per try", "without M"),
            ("Markov, per try", "without G"),
            ("one policy, sampled k times", "without M"),
        ]
    for small, large in pairs:
        if best[small].lower > best[large].lower or best[small].upper > best[large].upper:
            raise BrokenError(f"compare: {small} is not nested in {large}")
    _holds_gain(case, found.plan, found.gain)
    _holds_shares(case, found)


def _holds_shares(case: Case, found: Any) -> None:
    """A share is told of classes that were searched, and no more than the policy of the row has."""
    _, high = case.truth.value(0, case.incumbent)
    for row in found:
        share = found.share(row)
        if share is not None and not row.searched:
            raise BrokenError(f"compare: {row.name} was not searched, and has a share of {share!r}")
        if share and isinstance(row.policy, mk.CompressedPolicy) and row.name != "adaptive":
            mine, rival = (case.truth.earned(one.policy.action, 0, case.incumbent) for one in (row, found.rows[0]))
            if high > rival and Fraction(share) * (1 - Fraction(1, 10**9)) > (mine - rival) / (high - rival):
                raise BrokenError(f"compare: {row.name} has not {share!r} of the gain")


def _rival(case: Case, k: int) -> Fraction:
    """What the mean-optimal policy earns that does not adapt: all tries, or where they cost something the best number.

    Which of several with the same mean it is, is the library's choice; that it has the best mean is checked.
    """
    actions = case.mdp.mean_optimal_actions
    once = replace(case.problem, k=1, incumbent=-math.inf, abandon=False)

    def choose(rollout: int, step: int, state: int, best: Number, so_far: Number) -> int:
        return int(actions[step][state])

    alone = Truth(once)
    law, paid, _ = alone.followed(choose, 0, -math.inf)
    mean = sum((p * Fraction(r) for r, p in law.items()), -paid)
    best = alone.value(0, -math.inf)[0]
    if mean < best - Fraction(1, 10**12) * max(abs(best), *(abs(r) for r in case.truth.returns)):
        raise BrokenError(f"the mean-optimal policy has a mean of {float(mean)!r}, not {float(best)!r}")
    start = None if case.incumbent == -math.inf else Fraction(case.incumbent)
    values = sorted(law)
    below = list(itertools.accumulate(law[r] for r in values))

    def of(n: int) -> Fraction:
        if n == 0:
            assert start is not None
            return start
        risen = [Fraction(r) if start is None else max(Fraction(r), start) for r in values]
        short = sum(((b - a) * p**n for a, b, p in zip(risen, risen[1:], below, strict=False)), Fraction(0))
        return risen[-1] - short - n * paid

    if not case.problem.priced:
        return of(k)
    return max(of(n) for n in range(0 if start is not None else 1, k + 1))


def _holds_gain(case: Case, plan: Any, gain: Any = None) -> tuple[Fraction, Fraction]:
    """The true gain lies between the bounds of the finding, and what it says of its statement is true."""
    if case.problem.k > MOST_ROLLOUTS:
        raise TooLargeError
    gain = plan.gain if gain is None else gain
    low, high = case.truth.value(0, case.incumbent)
    rival = _rival(case, case.problem.k)
    if _exact(gain.lower) > high - rival or _exact(gain.upper) < low - rival:
        raise BrokenError(f"gain {float(high - rival)!r} is not in [{gain.lower!r}, {gain.upper!r}]")
    if gain.outcome == "proved" and high <= rival:
        raise BrokenError("a gain is proved where there is none")
    if gain.outcome == "disproved":
        one = Truth(replace(case.problem, k=1)).value(0, case.incumbent)[0]
        added = max(low - one, Fraction(0)) if case.problem.k > 1 else Fraction(0)
        if low - rival > Fraction(2, 1000) * added + 8 * Fraction(evidence_of(plan).rounding):
            raise BrokenError(f"a gain of {float(low - rival)!r} is called next to nothing, tries add {float(added)!r}")
    return low - rival, high - rival


def gained(case: Case) -> None:
    """What adapting gains is as the finding says, and the sentences made of it are true."""
    low, high = _holds_gain(case, case.plan)
    said = " ".join(sentences(case.plan))
    for pattern, (least, most) in SAID.items():
        found = re.search(pattern, said)
        if found is not None and not (least(found) <= high and low <= most(found)):
            raise BrokenError(f"said {found[0]!r}, but the gain is {float(high)!r}")


NUMBER = r"(-?\d+(?:\.\d+)?(?:e[-+]\d+)?)"
Bound = Callable[[re.Match[str]], Fraction]


def _nothing(found: re.Match[str]) -> Fraction:
    return Fraction(0)


def _first(found: re.Match[str]) -> Fraction:
    return Fraction(found[1])


def _second(found: re.Match[str]) -> Fraction:
    return Fraction(found[2])


SAID: dict[str, tuple[Bound, Bound]] = {  # sentences, with the least and the most that they say of the gain
    f"a gain of {NUMBER} to {NUMBER}": (_first, _second),
    f"a gain of {NUMBER}[.]( |$)": (_first, _first),
    f"next to nothing here.*?: at most {NUMBER}": (_nothing, _first),
    f"between 0 and {NUMBER}": (_nothing, _first),
    "gains nothing here": (_nothing, _nothing),
}


def told_when_to_stop(case: Case) -> None:
    """The threshold lies between the bounds of the finding, and so does the mean number of tries."""
    found = case.plan.stop
    if found is None:
        return
    last = Truth(replace(case.problem, k=1, incumbent=-math.inf))
    slack = Fraction(1, 10**12) * max(1, *(abs(r) for r in case.truth.returns))
    if math.isfinite(found.lower) and last.value(0, Fraction(found.lower) - slack)[1] <= Fraction(found.lower) - slack:
        raise BrokenError(
            f"stop: no try is worth its cost below {found.lower!r}, which the threshold is said to exceed"
        )
    beyond = Fraction(found.upper) + slack if math.isfinite(found.upper) else None
    if beyond is not None and last.value(0, beyond)[0] > beyond + Fraction(found.adds):
        raise BrokenError(f"stop: a try is worth its cost above {found.upper!r}, the most that the threshold may be")
    _follow(case)
    law, _, tries = case.truth.followed(case.plan.policy.action, 0, case.incumbent)
    if not _between(found.tries_lower, tries, found.tries_upper):
        raise BrokenError(f"stop: {float(tries)!r} tries are not in [{found.tries_lower!r}, {found.tries_upper!r}]")
    for best in case.truth.returns:
        stops = case.plan.policy.stops(rollout=case.problem.k - 1, best=best)
        if math.isinf(found.at):  # whatever a try returned, or never
            if stops != (found.at < 0) and (best in law or found.at < 0):
                raise BrokenError(f"stop: at {float(best)!r} the policy says {stops}, the finding {found.at!r}")
            continue
        near = abs(best - Fraction(found.at)) <= Fraction(1, 10**9) * max(1, abs(best))
        above = best > Fraction(found.at)
        if found.on_step and not near and (stops < above if best not in law else stops != above):
            raise BrokenError(f"stop: at {float(best)!r} the policy says {stops}, the finding {found.at!r}")


def attempted(case: Case) -> tuple[str, bool]:
    """A log drawn from known laws: what is said of plans is their own and true, and proved intervals hold."""
    world = _World(case.random)
    log, study = world.log, at.study(world.log, **world.goal, rng=int(case.random.integers(1000)))
    for one in study.advised:
        held = {task for task in log.tasks if task not in one.plan.built_from.names}
        told = one.finding
        for plan, score, cost in (
            (one.plan, told.score.value, told.cost.value),
            *([(one.alternative, one.other_score.value, one.other_cost.value)] if one.alternative else ()),
        ):
            true = _replayed(world.records, held, plan.arms, plan.stop_at, plan.default_score)
            if abs(score - true[0]) > 1e-9 or abs(cost - true[1]) > 1e-9:
                raise BrokenError(
                    f"attempts: {plan.spelled} has {true[0]!r} for {true[1]!r}, not {score!r} for {cost!r}"
                )
    _said(study, log)
    return "interval", world.holds(study, int(case.random.integers(3)))


class _World:
    """Tasks of every difficulty: what an attempt scores, how often, and what it costs; and a log of some of them."""

    MANY = 20_000  # tasks that stand for all

    def __init__(self, random: np.random.Generator) -> None:
        self.arms = int(random.integers(1, 4))
        kinds = [(0.0, 1.0, 1.0), (0.0, 0.5, 1.0), (0.0, 3.0, 3.0), (0.0, 1 / 3, 0.992593), (-2.0, 0.5, 100.0)]
        self.grades = kinds[int(random.integers(len(kinds)))]  # of an attempt that fails, passes, and passes well
        self.well = 0.01 if self.grades[-1] == 100 else 0.5  # how many of those that pass do so well
        # Few tasks and many attempts, or tasks enough for Student's t: the oracle goes through all orders of attempts.
        tasks, attempts = int(random.integers(6, 40)), int(random.integers(1, 5))
        if random.random() < 0.2:
            tasks, attempts, self.arms = int(random.integers(100, 120)), int(random.integers(1, 3)), min(self.arms, 2)
        skill = random.beta(0.5, 0.7, (tasks, self.arms))
        score = self._drawn(random, np.repeat(skill[:, :, None], attempts, axis=2))
        self.records = [
            {"task": t, "arm": f"arm {a}", "score": self.grades[g], "cost": self.cost(a, g)}
            for (t, a, _), g in np.ndenumerate(score)
        ]
        self.bounded = bool(random.random() < 0.6)
        given: dict[str, Any] = {}
        if self.bounded:
            given = {"score_range": (self.grades[0], self.grades[-1]), "cost_limit": self.arms + 0.5}
        self.log = at.Log.from_records(self.records, **given)
        price, budget = float(10 ** random.uniform(-2, 0.5)), float(random.uniform(0.5, 3 * self.arms))
        target_score = float(random.uniform(self.grades[0], self.grades[1] + 1))
        goals: list[dict[str, float]] = [{"price": price}, {"price": price}, {}, {"budget": budget}]
        self.goal = [*goals, {"target_score": target_score}][random.integers(5)]
        self.all = self._chances(random.beta(0.5, 0.7, (self.MANY, self.arms)))

    def cost(self, arm: int, grade: int) -> float:
        """What fails costs a little more."""
        return 1.0 + arm + 0.5 * (grade == 0)

    def _chances(self, skill: Any) -> Any:
        """Of each grade [tasks, arms, 3]."""
        return np.stack([1 - skill, skill * (1 - self.well), skill * self.well], axis=-1)

    def _drawn(self, random: np.random.Generator, skill: Any) -> Any:
        return (random.random(skill.shape) < skill) * (1 + (random.random(skill.shape) < self.well))

    def value(self, arms: Sequence[str], stop_at: float, default_score: float) -> tuple[float, float]:
        """The mean best score and cost of a sequence over all tasks."""
        if not arms:
            return default_score, 0.0
        here = np.zeros((self.MANY, len(self.grades)))  # the chance that it goes on, with each grade as its best
        score, cost = np.zeros(self.MANY), np.zeros(self.MANY)
        for number, name in enumerate(arms):
            arm = int(name.removeprefix("arm "))
            alive = here.sum(axis=1) if number else np.ones(self.MANY)
            after = np.zeros_like(here)
            for g, value in enumerate(self.grades):
                chance = self.all[:, arm, g]
                cost += alive * chance * self.cost(arm, g)
                if value >= stop_at:
                    score += alive * chance * value
                elif not number:
                    after[:, g] += chance
                else:
                    for best in range(len(self.grades)):
                        after[:, max(best, g)] += here[:, best] * chance
            here = after
        return float((score + here @ np.array(self.grades)).mean()), float(cost.mean())

    def holds(self, study: Any, which: int) -> bool:
        """Whether a proved interval of the study or of its log has the true number in it."""
        if not self.bounded:  # then only chances to pass can be proved
            passed = self.log.pass_at_k(1, self.grades[1], arm="arm 0", interval="proved")
            return bool(passed.lower <= 1 - self.all[:, 0, 0].mean() <= passed.upper)
        means = (self.all @ np.array(self.grades)).mean(axis=0)
        if which == 0 and self.arms > 1:
            apart = at.difference(self.log, "arm 0", "arm 1", interval="proved")
            return _right(apart.finding, float(means[0] - means[1]))
        one = study.main
        if which == 1 and one is not None and one.alternative is not None and one.gain.proved:
            plans = one.plan, one.alternative
            net = [self.value(plan.arms, plan.stop_at, plan.default_score) for plan in plans]
            true = net[0][0] - net[1][0] - one.finding.aim.price * (net[0][1] - net[1][1])
            return _right(one.finding, true)
        proved = self.log.max_at_k(1, arm="arm 0", interval="proved")
        return bool(proved.lower <= float(means[0]) <= proved.upper)


def _right(found: Any, true: float) -> bool:
    """Whether the truth lies within the bounds of a finding, and is not what its outcome denies."""
    denied = {"proved": true <= 0, "disproved": true >= 0}.get(str(found.outcome), False)
    return found.lower <= true <= found.upper and not denied


def _said(study: Any, log: at.Log) -> None:
    """Sentences say what findings prove, and name what a plan does; without a range no score is proved."""
    first, second = study.advice
    if study.main is None:
        found = study.silence
        if found is None or (found.reason == "out of reach" and not found.best < found.asked):
            raise BrokenError(f"attempts: no advice for no reason: {first!r}, {found}")
        return
    found, plan = study.main.finding, study.plan
    if "at least " in first and float(first.split("at least ")[1].split(" (")[0]) != plan.stop_at:
        raise BrokenError(f"attempts: {first!r}, but the plan stops at {plan.stop_at!r}")
    claims = "that is better than" in second, f"there {found.alternative} was better, by" in second
    may_differ = "other tasks may differ" in second
    if claims[0] != (found.outcome == "proved" and found.chosen.attempts > 0) or (
        claims[1] != (found.outcome == "disproved" and found.chosen.attempts > 0) and not may_differ
    ):
        raise BrokenError(f"attempts: {second!r} of {found}")
    for one, goal in ((one, one.goal) for one in study.advised):
        if goal.budget is not None and one.plan.cost > goal.budget * (1 + 1e-9):
            raise BrokenError(f"attempts: {one.plan.spelled} costs {one.plan.cost!r}, for a budget of {goal.budget!r}")
        if log.score_range is None and one.plan.steps and one.score.proved:
            raise BrokenError(f"attempts: {one.score} is proved without a range")
    for pair in study.differences or ():
        if log.score_range is None and pair.proved:
            raise BrokenError(f"attempts: {pair} is proved without a range")
        if ("better" in pair.verdict) != (
            pair.finding.outcome == "proved"
        ) and "other tasks may differ" not in pair.verdict:
            raise BrokenError(f"attempts: {pair.verdict!r} of {pair.finding}")


def _replayed(
    records: list[dict[str, Any]], tasks: set[str], arms: Sequence[str], stop_at: float, default_score: float
) -> tuple[float, float]:
    """The mean best score and cost of a sequence on some tasks, by brute force over the orders of attempts."""
    scores: list[Fraction] = []
    costs: list[Fraction] = []
    for task in sorted(tasks):
        mine: dict[str, list[tuple[float, float]]] = {}
        for row in records:
            if str(row["task"]) == task:
                mine.setdefault(row["arm"], []).append((row["score"], row["cost"]))
        score, cost = _walked(mine, tuple(arms), stop_at, default_score)
        scores.append(score)
        costs.append(cost)
    return float(sum(scores) / len(scores)), float(sum(costs) / len(costs))


def _walked(
    left: dict[str, list[tuple[float, float]]], arms: tuple[str, ...], stop_at: float, best: float
) -> tuple[Fraction, Fraction]:
    """What one task brings on average, any of the attempts that are left being the next with the same chance."""
    known: dict[Any, tuple[Fraction, Fraction]] = {}

    def after(at_arm: int, best: float, rest: tuple[tuple[str, tuple[tuple[float, float], ...]], ...]) -> Any:
        key = at_arm, best, rest
        if key not in known:
            if at_arm == len(arms):
                known[key] = Fraction(best), Fraction(0)
            else:
                here = dict(rest)
                some = here[arms[at_arm]]
                score = cost = Fraction(0)
                for n, (value, paid) in enumerate(some):
                    new = value if at_arm == 0 else max(best, value)
                    others = tuple(sorted({**here, arms[at_arm]: (*some[:n], *some[n + 1 :])}.items()))
                    then = (Fraction(new), Fraction(0)) if value >= stop_at else after(at_arm + 1, new, others)
                    score, cost = score + then[0] / len(some), cost + (Fraction(paid) + then[1]) / len(some)
                known[key] = score, cost
        return known[key]

    return after(0, best, tuple(sorted((arm, tuple(sorted(some))) for arm, some in left.items())))


def learned(case: Case) -> bool | None:
    """Learning at delta 0.5: whether what was certified is true, which it must be half of the time."""
    rewards = case.mdp.reward
    if (
        case.problem.priced
        or case.problem.k > 2
        or case.incumbent != -math.inf
        or np.ptp(rewards) == 0
        or abs(rewards).max() > 1e6
    ):
        return None
    least, most = case.mdp.return_range
    model = mk.TabularModel(case.mdp)
    seed = int(case.random.integers(10**6))
    try:
        out = mk.learn(
            *(model, case.problem.k), epsilon=0.3 * (most - least), delta=0.5, rng=seed,
            budget=int(case.random.choice([200, 3000])) + model.n_states * model.n_actions * case.problem.horizon,
        )  # fmt: skip
    except mk.MaxAtKError:
        return None
    low, high = case.truth.value(0, -math.inf)
    earned = case.truth.earned(out.policy.action, 0, -math.inf)
    return Fraction(out.upper) >= low and earned >= Fraction(out.lower) and high - earned <= out.epsilon


def _follow(case: Case) -> None:
    if case.problem.k > MOST_ROLLOUTS:
        raise TooLargeError


def stops(case: Case) -> None:
    """The plan stops from one best return on, before every try: where one more, as the last, is not worth its cost."""
    if not case.problem.priced:
        return
    last = replace(case.problem, k=1, incumbent=-math.inf)
    for _ in range(4):
        m, i = case.some_return(), int(case.random.integers(case.problem.k))
        if m == -math.inf:
            continue
        stopped = case.plan.policy.stops(rollout=i, best=m)
        if stopped != (m >= case.plan.stop_at):
            raise BrokenError(f"stops({i}, {m!r}) is {stopped}, stop_at {case.plan.stop_at!r}")
        low, high = Truth(last).value(0, m)
        gain = max(abs(case.plan.gap), 1e-9 * (1 + abs(case.plan.upper)), 4 * evidence_of(case.plan).rounding)
        if not stopped and high <= Fraction(m) and case.plan.stop_at - float(m) > gain:
            raise BrokenError(f"does not stop with {m!r}, but one more try is not worth it")
        if stopped and low - Fraction(m) > Fraction(gain):
            raise BrokenError(f"stops with {m!r}, but one more try is worth {float(low)!r}")


def enough(case: Case) -> None:
    """More tries than the plan calls enough are worth no more than was asked."""
    if not case.problem.priced:
        return
    least, most = case.mdp.return_range
    tol = float(case.random.choice([0.3, 0.03, 0.003])) * max(most - least, 1e-9)
    n = case.plan.useful_tries(tol)
    if n is None or n > 25:
        return
    fewer, more = (Truth(replace(case.problem, k=k)) for k in (max(n, 1), n + 10))
    in_hand = Fraction(case.incumbent) if n == 0 else fewer.value(0, case.incumbent)[0]
    gained = more.value(0, case.incumbent)[0] - in_hand
    if gained > Fraction(tol) * (1 + Fraction(1, 10**9)):
        raise BrokenError(f"{n} tries are not enough: ten more are worth {float(gained)!r}, not {tol!r}")


def _may_decline(promise: Callable[[Case], None]) -> Callable[[Case], None]:
    """The same promise, where the package may say of a problem that it is too large."""

    @functools.wraps(promise)
    def held(case: Case) -> None:
        with suppress(mk.TooLargeError):
            promise(case)

    return held


@_may_decline
def in_rounds(case: Case) -> None:
    """A plan in rounds earns its lower end, which the optimum of one at a time exceeds, and that its upper end."""
    k = case.problem.k
    if case.problem.abandon or k < 2 or k > MOST_ROLLOUTS:
        return
    width = int(case.random.integers(2, k + 1))
    solver = mk.Certified(tol=case.tol, time_limit=10)
    asked: dict[str, Any] = {"width": width} if case.random.random() < 0.5 else {"rounds": _rounds(case, k)}
    try:
        plan = mk.solve(case.mdp, k, **asked, **case.pay, best_so_far=case.incumbent, solver=solver)
    except mk.TooLargeError:
        return
    low, high = case.truth.value(0, case.incumbent)
    if Fraction(plan.lower) > high or Fraction(plan.upper) < low:
        raise BrokenError(f"{asked}: [{plan.lower!r}, {plan.upper!r}], one at a time {float(low)!r}")
    earned = mk.evaluate(case.mdp, plan.policy)
    _at_least(Fraction(earned.ends[1]), plan.lower, f"{asked}")
    rows = mk.compare(case.mdp, k, plan=case.plan, widths=[width])
    for row in (row for row in rows if row.in_rounds is not None and row.searched):
        told = mk.evaluate(case.mdp, row.policy).ends
        if told[1] < row.lower or told[0] > row.upper or Fraction(row.lower) > high:
            raise BrokenError(f"{row.name}: [{row.lower!r}, {row.upper!r}], its policy earns {told}")


def beyond(case: Case) -> None:
    """The utility of what lies beyond ``c`` is the value of having ``c``, less ``c``; and no tail is exceeded."""
    if case.problem.priced:
        return
    least, most = case.mdp.return_range
    c = Fraction(float(case.random.uniform(least, most)))
    if least < most and case.incumbent <= c:
        plan = mk.solve(
            case.mdp, case.problem.k, utility=[(c - 1, 0), (c, 0), (c + 1, 1)], best_so_far=case.incumbent,
            solver=mk.Certified(time_limit=10),
        )  # fmt: skip
        low, high = case.truth.value(0, c)
        if Fraction(plan.lower) > high - c or Fraction(plan.upper) < low - c:
            raise BrokenError(f"beyond {float(c)!r}: {float(low - c)!r} is not in [{plan.lower!r}, {plan.upper!r}]")
    x = float(case.random.uniform(least, most))
    try:
        chance = 1 - mk.evaluate(case.mdp, case.plan.policy).cdf(math.nextafter(x, -math.inf))[1]
    except mk.TooLargeError:  # evaluation may decline; then nothing is said
        return
    if chance > case.plan.tail(x) + 1e-9:
        raise BrokenError(f"{x!r} is reached with a chance of {chance!r}, more than {case.plan.tail(x)!r}")


def _rounds(case: Case, k: int) -> tuple[int, ...]:
    """Widths of any kind that add up to ``k``."""
    cuts = np.flatnonzero(case.random.random(k - 1) < case.random.random()) + 1
    return tuple(np.diff([0, *cuts.tolist(), k]).tolist())


def _knots(case: Case, least: Number, most: Number) -> list[tuple[Fraction, Fraction]]:
    """Knots of a convex nondecreasing function, some of them among the returns and some beyond."""
    n, span = int(case.random.integers(2, 6)), Fraction(most) - Fraction(least) or Fraction(1)
    xs = sorted({Fraction(least) + Fraction(int(j), 16) * span for j in case.random.integers(-4, 21, n + 2)})
    slopes = sorted(Fraction(int(j), 4) for j in case.random.integers(0, 9, len(xs) - 1))
    u, knots = Fraction(int(case.random.integers(-3, 4))), list[tuple[Fraction, Fraction]]()
    for j, x in enumerate(xs):
        u += slopes[j - 1] * (x - xs[j - 1]) if j else 0
        knots.append((x, u))
    return knots


def _counts(knots: Sequence[tuple[Fraction, Fraction]], m: Fraction) -> Fraction:
    """A convex function by its knots: the greatest of its lines."""
    return max(u + (v - u) / (y - x) * (m - x) for (x, u), (y, v) in itertools.pairwise(knots))


class _OneStep:
    """A case with its first step alone: its returns have few laws, whose tuples can be enumerated in fractions."""

    def __init__(self, case: Case) -> None:
        problem = case.problem
        self.k = int(case.random.integers(2, 5))
        self.case = Case(
            replace(problem, horizon=1, steps=problem.steps[:1], k=self.k), int(case.random.integers(2**31))
        )
        first, self.incumbent = self.case.problem, case.incumbent
        options = [[(p, first.row(0, s, a)) for a in first.actions(0, s)] for p, s in first.resets]
        if math.prod(map(len, options)) > 4:
            raise TooLargeError
        self.laws: list[dict[Fraction, Fraction]] = []
        self.costs: list[Fraction] = []  # of each of them, on average
        starts = [(p, s) for p, s in first.resets]
        for actions in itertools.product(*(first.actions(0, s) for _, s in starts)):
            self.costs.append(
                sum((p * first.cost(s, a) for (p, s), a in zip(starts, actions, strict=True)), Fraction(first.price))
            )
        for rows in itertools.product(*options):
            law: dict[Fraction, Fraction] = {}
            for p, row in rows:
                for q, _, x in row:
                    law[x] = law.get(x, Fraction(0)) + p * q
            self.laws.append(law)
        self.returns = sorted({x for law in self.laws for x in law})
        if len(self.returns) > 6:
            raise TooLargeError

    def better(self, m: Number, x: Fraction) -> Fraction:
        """The best of both."""
        return x if m == -math.inf else max(Fraction(m), x)

    def after(self, chosen: Sequence[dict[Fraction, Fraction]], m: Number) -> dict[Fraction, Fraction]:
        """The law of the best of independent draws and ``m``."""
        best: dict[Fraction, Fraction] = {}
        for outcome in itertools.product(*(law.items() for law in chosen)):
            top = self.better(m, max(x for x, _ in outcome))
            best[top] = best.get(top, Fraction(0)) + math.prod((p for _, p in outcome), start=Fraction(1))
        return best


@_may_decline
def side_by_side(case: Case) -> None:
    """Of one step, the best of all tuples of policies in rounds, with costs or any utility, is between the bounds."""
    if case.problem.abandon:
        return
    one, m = _OneStep(case), case.incumbent
    rounds, priced = _rounds(case, one.k), one.case.problem.priced
    asks = not priced and case.random.random() < 0.5
    knots = _knots(case, one.returns[0], one.returns[-1]) if asks else None
    known: dict[tuple[int, Number], Fraction] = {}

    def value(b: int, m: Number) -> Fraction:
        if b == len(rounds):
            return Fraction(m) if knots is None else _counts(knots, Fraction(m))
        if (b, m) not in known:
            goes_on = (
                sum(
                    (p * value(b + 1, x) for x, p in one.after([one.laws[j] for j in some], m).items()),
                    -sum((one.costs[j] for j in some), Fraction(0)),
                )
                for some in itertools.combinations_with_replacement(range(len(one.laws)), rounds[b])
            )
            known[b, m] = max([*goes_on, *([Fraction(m)] if priced and m != -math.inf else [])])
        return known[b, m]

    true, asked = value(0, m), {"rounds": rounds, "utility": knots, "best_so_far": m, **one.case.pay}
    exact = mk.solve(one.case.mdp, one.k, solver=mk.Exact(), **asked)
    low, high = mk.evaluate(one.case.mdp, exact.policy).ends
    if exact.exact != true or not low <= true <= high:
        raise BrokenError(f"rounds {rounds}, utility {knots}: {exact.exact} in place of {true}")
    plan = mk.solve(one.case.mdp, one.k, solver=mk.Certified(tol=case.tol, time_limit=10), **asked)
    low, high = mk.evaluate(one.case.mdp, plan.policy).ends
    most = true if max(rounds) > 1 else Fraction(plan.upper)
    if not plan.lower <= true <= plan.upper or plan.lower > high or low > most:
        raise BrokenError(
            f"rounds {rounds}, utility {knots}: [{plan.lower!r}, {plan.upper!r}], earned {low, high}, "
            f"true {float(true)}"
        )


@_may_decline
def best_shares(case: Case) -> None:
    """Of one step, tails against all adaptive policies and their mixtures; what is promised is earned."""
    if case.problem.priced:
        return
    one, m = _OneStep(case), case.incumbent
    k = min(one.k, 2)
    plan = mk.solve(one.case.mdp, k, best_so_far=m, solver=mk.Certified(tol=case.tol, time_limit=10))
    policies = {frozenset(law.items()) for law in _adaptive(one, k, m)}
    values = sorted({x for law in policies for x, _ in law})
    laws = np.array([[float(dict(law).get(x, 0)) for x in values] for law in policies])
    a = Fraction(float(case.random.choice([1.0, 0.9, 0.5, 0.25, 0.1, 0.01])))
    known = plan.cvar(a)
    truth, mixed = Truth(replace(one.case.problem, k=k)), dict[Number, Fraction]()
    for part, weight in zip(known.policies, known.weights, strict=True):
        for x, p in truth.law(part.action, 0, m).items():
            mixed[x] = mixed.get(x, Fraction(0)) + Fraction(weight) * p
    if Fraction(known.lower) > _best_share(mixed, a):
        raise BrokenError(f"cvar({float(a)}): {known}, but its policy earns less")
    size = float(max(abs(values[0]), abs(values[-1]), Fraction(1)))
    most = _over_mixtures(laws, [float(x) / size for x in values], float(a)) * size
    if not known.lower - 1e-7 * size <= most <= known.upper + 1e-7 * size:
        raise BrokenError(f"cvar({float(a)}): {known}, but mixtures earn {most!r}")
    x = values[int(case.random.integers(len(values)))]
    chance = max(sum((p for y, p in law if y >= x), Fraction(0)) for law in policies)
    if Fraction(plan.tail(x)) < chance:
        raise BrokenError(f"tail({x}): {plan.tail(x)!r}, but {float(chance)!r} is reached")


def _adaptive(one: _OneStep, left: int, m: Number) -> list[dict[Fraction, Fraction]]:
    """The laws of the best return under all adaptive policies."""
    if not left:
        return [{Fraction(m): Fraction(1)}]
    found: list[dict[Fraction, Fraction]] = []
    for law in one.laws:
        draws = one.after([law], m)
        later = [_adaptive(one, left - 1, x) for x in draws]
        if math.prod(map(len, later)) > 500:
            raise TooLargeError
        for some in itertools.product(*later):
            best: dict[Fraction, Fraction] = {}
            for p, after in zip(draws.values(), some, strict=True):
                for x, q in after.items():
                    best[x] = best.get(x, Fraction(0)) + p * q
            found.append(best)
    return found


def _best_share(law: Any, a: Fraction) -> Fraction:
    """The mean of the best share of a law, in fractions."""
    left, total = a, Fraction(0)
    for x, p in sorted(((Fraction(x), p) for x, p in law.items()), reverse=True):
        total += min(p, left) * x
        left -= min(p, left)
    return total / a


def _over_mixtures(laws: Any, values: Sequence[float], a: float) -> float:
    """The greatest mean of the best share over mixtures of laws [n, values], by a linear program."""
    n, v = laws.shape
    cost = np.concatenate([np.zeros(n), -np.array(values) / a])
    sums = [[1.0] * n + [0.0] * v, [0.0] * n + [1.0] * v]
    rows = np.hstack([-laws.T, np.eye(v)])
    return -float(optimize.linprog(cost, A_ub=rows, b_ub=np.zeros(v), A_eq=sums, b_eq=[1.0, a]).fun)


ALWAYS = (interval, policy, lines, stops, gained)
SOMETIMES = (
    *(saved, threads, stopped, evaluated, simulated, acts_anywhere, compared, learned, enough, told_when_to_stop),
    *(attempted, in_rounds, beyond, side_by_side, best_shares),
)


@contextmanager
def branches(seed: int) -> Iterator[None]:
    """Thresholds drawn anew for a case, so that small problems come to every branch."""
    random = np.random.default_rng([seed, 2])
    with tuned(**{name: options[int(random.integers(len(options)))] for name, options in BRANCHES.items()}):
        yield
