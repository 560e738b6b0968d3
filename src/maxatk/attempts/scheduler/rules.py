"""What to do next at a task: the rules of a scheduler, which know nothing of databases or clocks."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from maxatk.attempts.scheduler.attempt import Handed, TaskState, rounds_of
from maxatk.attempts.scheduler.schedule import Schedule, TaskTrace, learned
from maxatk.attempts.sequences.plan import SequencePlan, Step
from maxatk.base.text import count_of, short, threshold


@dataclass(frozen=True)
class SharedBudget:
    """A budget that all tasks share, and where it stands."""

    total: float
    tasks: int  # that share it
    spent: float
    opened: int  # tasks that were opened so far
    waiting: Mapping[int, int]  # open tasks by their place in the schedule
    in_flight: Mapping[str, int]  # attempts by arm


class Decision(NamedTuple):
    """The next attempt of a task, if any."""

    arm: str | None
    stop: bool
    why: str
    allowed: int | None  # the number of attempts that the task would be given in all; None if that is not known


class Rules:
    """The rules of a plan."""

    def __init__(self, plan: SequencePlan) -> None:
        self.plan, self._schedule = plan, Schedule([*plan.steps, *plan.further])
        self._highest_costs = plan.built_from.highest_costs
        self.arms = frozenset(step.arm for step in self._schedule.steps) | frozenset(plan.built_from.highest_costs)

    def place(self, task: TaskState) -> int:
        """The first attempt of the schedule that is neither made, nor in flight, nor failed."""
        return self._first_unused(task, task.in_flight)

    def _between_rounds(self, task: TaskState, place: int) -> bool:
        """Whether an attempt would begin a round while one of an earlier round is in flight."""
        width = self.plan.width
        return width > 1 and self._first_unused(task, ()) // width < place // width

    def _first_unused(self, task: TaskState, in_flight: Sequence[Handed]) -> int:
        used = Counter([arm for arm, _, _ in task.told] + [one.arm for one in (*in_flight, *task.failed)])
        for place, step in enumerate(self._schedule.steps):
            if not used[step.arm]:
                return place
            used[step.arm] -= 1
        return len(self._schedule.steps)

    def counted(self, task: TaskState) -> TaskState:
        """The state of a task with its rounds."""
        return replace(task, rounds=rounds_of(len(task.told) + len(task.in_flight) + len(task.failed), self.plan.width))

    def solved(self, best: float | None) -> bool:
        """Whether a best score reaches the threshold."""
        return best is not None and best >= self.plan.stop_at

    def decide(self, task: TaskState, budget: SharedBudget | None, newcomer: bool = False) -> Decision:
        """The next attempt at a task. Attempts in flight count as if they fell short of the threshold."""
        made, stop_at, flying = len(task.told), self.plan.stop_at, len(task.in_flight)
        if task.best is not None and task.best >= stop_at:
            best, stop = _beside(task.best, stop_at), threshold(stop_at)
            attempts = f"of {count_of(made, 'attempt')}"
            return Decision(
                None, True, f"{self._best(f'score {attempts}', attempts)} {best}, which reaches {stop}", None
            )
        if task.cancelled:
            return Decision(None, True, "the task was cancelled", None)
        if task.paused:
            return Decision(None, False, "the task is paused", None)
        meanwhile = (
            f"; {flying} in flight, counted as if {'it' if flying == 1 else 'they'} fell short" if flying else ""
        )
        place, price = self.place(task), self.price(budget, newcomer)
        length = len(self.plan.steps) if budget is None else self._schedule.cut(price, place)
        if place >= length:
            return Decision(None, not flying, self._given_up(task, place, price) + meanwhile, max(length, place))
        if self._between_rounds(task, place):
            return Decision(None, False, f"the next round begins when this one is over: {flying} in flight", length)
        step = self._schedule.steps[place]
        if budget is not None and not self._affordable(step, budget):
            left, may_cost = short(budget.total - budget.spent), short(self._dearest(step.arm))
            why = f"{left} is left of the shared budget, and {step.arm} may cost {may_cost}"
            return Decision(None, not flying, why + meanwhile, place)
        so_far, best_of = "no result yet", f"of {made} so far"
        if task.best is not None:
            so_far = f"{self._best(best_of, best_of)} {_beside(task.best, stop_at)}, below {threshold(stop_at)}"
        per_cost = f", which is {short(step.gain_per_cost)} per unit of cost" if step.gain > 0 and step.cost > 0 else ""
        why = (
            f"attempt {place + 1} of at most {length}: {so_far}; at tasks that get here {step.arm} adds "
            f"{short(step.gain)} on average for {short(step.cost)}{per_cost} (the price is {short(price)})"
        )
        return Decision(step.arm, False, why + meanwhile, length)

    def _given_up(self, task: TaskState, place: int, price: float) -> str:
        best = "no result yet" if task.best is None else f"{self._best('score', 'attempt')} {short(task.best)}"
        if place >= len(self._schedule.steps):
            return f"{best}, and the log has no estimate for attempts after {place}"
        step = self._schedule.steps[place]
        if step.gain <= 0:
            would = f"lose {short(-step.gain)}" if step.gain < 0 else "gain nothing"
            return f"{best}, and one more attempt, {step.arm}, would {would} on average"
        gain = f"{short(step.gain_per_cost)} per unit of cost" if step.cost > 0 else f"{short(step.gain)} at no cost"
        return f"{best}, and one more attempt, {step.arm}, would gain {gain}, while the price is {short(price)}"

    def _best(self, score: str, judged: str) -> str:
        """The beginning of a clause on the number that the plan decides by: a score, or what its judge gave."""
        judge = self.plan.judge
        return f"the best {score} is" if judge is None else f"{judge} gives the best {judged}"

    def picked(self, task: TaskState) -> str:
        """The reason why the best attempt of a task is handed in."""
        numbers = [seen for _, seen, _ in task.told]
        judge, made, same = self.plan.judge, count_of(len(numbers), "attempt"), numbers.count(max(numbers))
        first = f", and told before {count_of(same - 1, 'other')} with as much" if same > 1 else ""
        given = "its score is" if judge is None else f"{judge} gives it"
        return f"{given} {short(max(numbers))}, the most of {made}{first}"

    # A shared budget.

    def price(self, budget: SharedBudget | None, newcomer: bool = False) -> float:
        """The gain per cost that an attempt needs now: the plan's price, or that at which a shared budget lasts."""
        plan = self.plan
        if budget is None:
            return plan.price
        waiting = Counter(budget.waiting)
        waiting[0] += max(budget.tasks - budget.opened, int(newcomer))
        # What is left after the attempts in flight, at the mean cost of their arms.
        left = budget.total - budget.spent - sum(n * self._mean_cost(arm) for arm, n in budget.in_flight.items())
        lowest = plan.price if plan.goal.budget is None and plan.goal.target_score is None else 0.0
        return max(lowest, self._schedule.shadow_price(+waiting, left))

    def _mean_cost(self, arm: str) -> float:
        costs = [step.cost for step in self._schedule.steps if step.arm == arm]
        return sum(costs) / len(costs) if costs else 0.0

    def _dearest(self, arm: str) -> float:
        return self._highest_costs.get(arm, max(self._highest_costs.values(), default=0.0))

    def _affordable(self, step: Step, budget: SharedBudget) -> bool:
        """Whether the budget left covers this attempt and all in flight, each at the highest cost of its arm."""
        flying = sum(n * self._dearest(arm) for arm, n in budget.in_flight.items())
        return self._dearest(step.arm) + flying <= budget.total - budget.spent

    # Learning.

    def trace(self, task: TaskState, allowed: int | None) -> TaskTrace | None:
        """The trace of a task that is over; None if it is open, was counted before, or left the schedule's order."""
        over = task.over or self.solved(task.best)
        if not over or allowed is None or task.in_flight or task.failed:
            return None
        told = list(task.told)
        best, gains, costs = self.plan.default_score, list[float](), list[float]()
        for step in self._schedule.steps[: len(told)]:
            # Attempts in flight together come back in any order. They are fresh draws, whichever is counted first.
            attempt = next((one for one in told if one[0] == step.arm), None)
            if attempt is None or attempt[2] is None:
                return None
            told.remove(attempt)
            gains.append(max(attempt[1] - best, 0.0) if gains else attempt[1] - best)
            best = max(attempt[1], best) if costs else attempt[1]
            costs.append(attempt[2])
            if best >= self.plan.stop_at and len(gains) % self.plan.width == 0:  # all of a round are made
                break
        return TaskTrace(tuple(gains), tuple(costs), max(allowed, len(gains)))

    def learned(self, traces: list[TaskTrace]) -> SequencePlan:
        """The plan with gains and costs re-estimated from tasks that are over, and hence another end."""
        plan = self.plan
        built_from = plan.built_from
        steps = learned(self._schedule.steps, built_from.tasks, traces)
        schedule, goal = Schedule(steps), plan.goal
        if goal.budget is not None:
            length = max(n for n in range(len(steps) + 1) if schedule.cost(0, n) <= goal.budget)
        elif goal.target_score is not None:
            scores = [plan.default_score + schedule.gain(n) for n in range(len(steps) + 1)]
            length = next((n for n, score in enumerate(scores) if score >= goal.target_score), len(steps))
        else:
            length = schedule.cut(plan.price)
        counted = replace(built_from, tasks=built_from.tasks + len(traces))
        return replace(plan, steps=steps[:length], further=steps[length:], built_from=counted)


def _beside(score: float, stop_at: float) -> str:
    """A score to three digits, or in full where rounding would move it across ``stop_at``."""
    shown = short(score)
    return shown if (float(shown) >= stop_at) == (score >= stop_at) or math.isinf(score) else repr(score)
