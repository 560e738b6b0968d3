"""Exact values of the paper's examples, recomputed independently of this package with fractions."""

from fractions import Fraction

import maxatk as mk


def fractions(*texts: str) -> list[Fraction]:
    return [Fraction(text) for text in texts]


# Optimal values for K = 1, 2, ...
OPTIMA = {
    "figure1, gamma = 1/10": (
        lambda: mk.instances.figure1(gamma=Fraction(1, 10)),
        fractions("9/20", "243/400", "5661/8000", "124947/160000", "2674269/3200000", "56114163/64000000"),
    ),
    "figure1, gamma = 1/4": (
        lambda: mk.instances.figure1(gamma=Fraction(1, 4)),
        fractions("3/8", "9/16", "87/128", "195/256", "1683/2048", "3549/4096"),
    ),
    "proposition3": (
        mk.instances.proposition3,
        fractions("1", "21/16", "189/128", "1613/1024", "13457/8192", "111001/65536"),
    ),
    "footnote, horizon = 5": (lambda: mk.instances.footnote(horizon=5), fractions("31/32", "31/32", "31/32")),
}

# Figure 1 with two rollouts: gamma -> the optimum.
FIGURE1_TWO_ROLLOUTS = {
    Fraction(gamma): Fraction(value)
    for gamma, value in {
        "1/100": "6237/10000",
        "1/10": "243/400",
        "1/8": "77/128",
        "1/5": "29/50",
        "1/4": "9/16",
        "3/10": "217/400",
        "2/5": "99/200",
        "1/2": "7/16",
        "3/5": "7/16",
        "3/4": "7/16",
    }.items()
}

# Proposition 1 with mu = 1/2 and K = k: k -> the optimum.
PROPOSITION1_EXACT = {
    k: Fraction(value) for k, value in {2: "3/8", 3: "365/1458", 4: "12437/65536", 5: "2993657/19531250"}.items()
}
PROPOSITION1 = {
    10: 0.07868138665719801,
    20: 0.040012008500907206,
    50: 0.01618859437916877,
    100: 0.008126931651375912,
    200: 0.0040718181196155905,
    500: 0.0016307569106575345,
    1000: 0.0008157188388500482,
}

# Proposition 3, second rollout at the last state: (M, G) -> (value of safe, value of risky).
PROPOSITION3_ACTIONS = {
    (Fraction(m), g): (Fraction(safe), Fraction(risky))
    for m, g, safe, risky in (
        ("0", 0, "1/2", "1/4"),
        ("0", 1, "3/2", "5/4"),
        ("1/2", 0, "1/2", "5/8"),
        ("1/2", 1, "3/2", "5/4"),
        ("1", 0, "1", "1"),
        ("1", 1, "3/2", "5/4"),
        ("3/2", 0, "3/2", "3/2"),
        ("3/2", 1, "3/2", "13/8"),
        ("2", 0, "2", "2"),
        ("2", 1, "2", "2"),
    )
}
PROPOSITION3_CURVE = {
    Fraction(m): Fraction(u) for m, u in {"0": "1", "1/2": "17/16", "1": "5/4", "3/2": "25/16", "2": "2"}.items()
}

# The windy cliff: the optimum for K = 1..5, to three decimals, and the mean-optimal policy repeated five times.
WINDY_CLIFF = [-28.460, -19.672, -17.560, -16.605, -15.957]
WINDY_CLIFF_REPEATED = -20.6737

# The best of smaller classes, for K = 1, 2, ...: Markov policies, policies without M, policies without G.
MARKOV = {
    "figure1, gamma = 1/10": fractions("9/20", "47/80", "221/320", "983/1280", "4229/5120", "17807/20480"),
    "figure1, gamma = 1/4": fractions("3/8", "17/32", "83/128", "377/512", "1643/2048", "6977/8192"),
    "proposition3": fractions("1", "5/4", "45/32", "385/256"),
}
NO_BEST = {"proposition3": fractions("1", "41/32", "363/256")}
NO_RETURN = {"proposition3": fractions("1", "41/32", "371/256")}

# Figure 1 with two rollouts: gamma -> the best Markov value.
FIGURE1_MARKOV = {
    Fraction(gamma): Fraction(value)
    for gamma, value in {
        "1/100": "497/800",
        "1/10": "47/80",
        "1/8": "37/64",
        "1/5": "11/20",
        "1/4": "17/32",
        "3/10": "41/80",
        "2/5": "19/40",
        "1/2": "7/16",
        "3/5": "7/16",
        "3/4": "7/16",
    }.items()
}

# Proposition 1 with mu = 1/2 and K = k: k -> the best Markov value.
PROPOSITION1_MARKOV_EXACT = {
    k: Fraction(value) for k, value in {2: "3/8", 3: "19/81", 4: "175/1024", 5: "2101/15625"}.items()
}
PROPOSITION1_MARKOV = {
    10: 0.0657699087479,
    20: 0.03272049656536192,
    50: 0.013070739189262525,
    100: 0.006534307546438989,
    200: 0.003267097101753522,
    500: 0.001306841696091957,
    1000: 0.0006534231753159388,
}
