"""What is handed in among k attempts, by going through all sets and orders, in fractions."""

import random
from fractions import Fraction
from itertools import combinations, permutations
from math import comb


def mean(values):
    values = list(values)
    return sum(values, Fraction(0)) / len(values)


def selected(truth, judge, k):
    """The mean over all sets of k of the mean truth of those that the judge likes best."""

    def pick(some):
        top = max(judge[i] for i in some)
        return mean(truth[i] for i in some if judge[i] == top)

    return mean(pick(some) for some in combinations(range(len(truth)), k))


def voted(truth, answer, some, default, weight=None):
    """What a set of attempts hands in: one of the attempts of a leading answer."""
    votes = {}
    for i in some:
        if answer[i] is not None:
            votes[answer[i]] = votes.get(answer[i], Fraction(0)) + (Fraction(1) if weight is None else weight[i])
    if not votes:
        return Fraction(default)
    leaders = [a for a in votes if votes[a] == max(votes.values())]
    return mean(mean(truth[i] for i in some if answer[i] == a) for a in leaders)


def majority(truth, answer, k, default=0, weight=None):
    return mean(voted(truth, answer, some, default, weight) for some in combinations(range(len(truth)), k))


def stopped(truth, judge, t, k):
    """(true score, attempts) of stopping at a judge's score of t, at most k, the best judged handed in, ties to the
    first: over all orders of the attempts.
    """
    outcomes = []
    for order in permutations(range(len(truth))):
        made = []
        for i in order[:k]:
            made.append(i)
            if judge[i] >= t:
                break
        best = max(judge[i] for i in made)
        outcomes.append((truth[next(i for i in made if judge[i] == best)], Fraction(len(made))))
    return mean(x for x, _ in outcomes), mean(n for _, n in outcomes)


def gradient_weights(truth, judge, k):
    """s_i = (1 / C(n, k)) sum over sets with i of the truth of the judge's pick, ties at random."""
    n = len(truth)

    def pick(some):
        top = max(judge[i] for i in some)
        return mean(truth[i] for i in some if judge[i] == top)

    sets = list(combinations(range(n), k))
    return [sum((pick(s) for s in sets if i in s), Fraction(0)) / comb(n, k) for i in range(n)]


def case(seed, most=7, answers=3):
    """A random task: truths, judge's scores with ties, answers with blanks, as fractions."""
    draw = random.Random(seed)
    n = draw.randint(1, most)
    truth = [Fraction(draw.randint(-2, 4), draw.choice([1, 2, 3])) for _ in range(n)]
    judge = [Fraction(draw.randint(0, 3), 2) for _ in range(n)]
    answer = [draw.choice([None, *"abcdefgh"[:answers]]) for _ in range(n)]
    return truth, judge, answer, draw.randint(1, n)


def plurality(truth, counts, blank, k, default=0):
    """majority@k by generating functions in whole numbers, from the truth and the number of attempts of each answer."""
    total = comb(sum(counts) + blank, k)
    score = Fraction(default) * comb(blank, k)
    for t in range(1, min(k, max(counts, default=0)) + 1):
        state = {(0, 0): (1, Fraction(0))}  # by votes and leaders: the sets, and these times their leaders' truth
        for value, count in zip([None, *truth], [blank, *counts], strict=True):
            after = {}
            for (votes, leaders), (sets, truths) in state.items():
                for u in range(min(count, k - votes, k if value is None else t) + 1):
                    leads = value is not None and u == t
                    old, ways = after.get((votes + u, leaders + leads), (0, Fraction(0))), comb(count, u)
                    more = truths + sets * value if leads else truths
                    after[votes + u, leaders + leads] = old[0] + ways * sets, old[1] + ways * more
            state = after
        score += sum((truths / r for (votes, r), (_, truths) in state.items() if votes == k and r), Fraction(0))
    return score / total
