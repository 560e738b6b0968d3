"""Every kind of malformed problem gets one line that names the entry."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import maxatk as mk
from maxatk.problem.rows import Rows

NAN, INF = math.nan, math.inf
GOOD = np.array([[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.0, 1.0]]])  # [S, A, S]
PAY = np.array([[1.0, 0.0], [2.0, 0.0]])  # [S, A]


def arrays(P=GOOD, R=PAY, horizon=2, **more):
    return mk.MDP.from_arrays(P, R, horizon=horizon, **more)


def changed(array, place, value):
    array = np.array(array, dtype=object if isinstance(value, str | Fraction | None) else float)
    array[place] = value
    return array


def table(outcomes, horizon=2, **more):
    """Two states; the outcomes are those of state 1, action 3."""
    return mk.MDP.from_table({0: {0: [(1, 1, 0, False)]}, 1: {3: outcomes}}, horizon=horizon, **more)


def pairs(R=(1, 2, 3), Q=((1, 0), (0, 1), (0.5, 0.5)), s=(0, 0, 1), a=(0, 1, 0), **more):
    return mk.MDP.from_pairs(R, Q, s, a, **{"horizon": 2, **more})


def rows(**changes):
    column = {
        "n_states": 1,
        "n_actions": 1,
        "step_layer": np.zeros(1, int),
        "layer": np.zeros(1, int),
        "state": np.zeros(1, int),
        "action": np.zeros(1, int),
        "start": np.array([0, 1]),
        "prob": np.ones(1),
        "next_state": np.zeros(1, int),
        "reward": np.ones(1),
        "ends": np.zeros(1, bool),
    }
    return mk.MDP(Rows(**{**column, **changes}))


def endless():
    table: list = []
    table.append(table)
    return table


CASES = {
    # Rows that are no distributions.
    "row sums to less": (
        lambda: arrays(changed(GOOD, (0, 1, 0), 0.43)),
        "row (state 0, action 1, step 0): probabilities sum to 0.93",
    ),
    "row sums to more": (
        lambda: arrays(changed(GOOD, (1, 0, 0), 2e-6)),
        "row (state 1, action 0, step 0): probabilities sum to 1.000002",
    ),
    "row of a later step": (
        lambda: arrays(np.stack([GOOD, changed(GOOD, (1, 1, 1), 0.5)])),
        "row (state 1, action 1, step 1): probabilities sum to 0.5",
    ),
    "sparse row sums to less": (
        lambda: arrays(sparse.csr_array(GOOD.reshape(4, 2) * [[1], [1], [1], [0.5]])),
        "row (state 1, action 1, step 0): probabilities sum to 0.5",
    ),
    "empty row": (
        lambda: arrays(changed(GOOD, (0, 0, 0), 0)),
        "row (state 0, action 0, step 0): probabilities sum to 0",
    ),
    "empty list of outcomes": (lambda: table([]), "row (state 1, action 3, step 0): probabilities sum to 0"),
    "fractions that sum to less": (
        lambda: table([(Fraction(1, 3), 0, 0, False)]),
        "row (state 1, action 3, step 0): probabilities sum to 0.3333333333",
    ),
    "pair sums to more": (
        lambda: pairs(Q=((1, 0), (0.5, 1), (0.5, 0.5))),
        "row (state 0, action 1, step 0): probabilities sum to 1.5",
    ),
    # Probabilities that are none.
    "negative probability": (
        lambda: arrays(changed(changed(GOOD, (0, 1, 0), 1.5), (0, 1, 1), -0.5)),
        "outcome (state 0, action 1, step 0, next state 1): probability -0.5 is negative",
    ),
    "barely negative probability": (
        lambda: arrays(changed(GOOD, (0, 0, 1), -1e-18)),
        "outcome (state 0, action 0, step 0, next state 1): probability -1e-18 is negative",
    ),
    "negative fraction": (
        lambda: table([(Fraction(-1, 3), 0, 0, False), (Fraction(4, 3), 1, 0, False)]),
        "outcome (state 1, action 3, step 0, next state 0): probability -1/3 is negative",
    ),
    "NaN probability": (
        lambda: arrays(changed(GOOD, (1, 0, 1), NAN)),
        "outcome (state 1, action 0, step 0, next state 1): probability is nan",
    ),
    "infinite probability": (
        lambda: table([(INF, 0, 0, False)]),
        "outcome (state 1, action 3, step 0, next state 0): probability is inf",
    ),
    "probability that is text": (
        lambda: table([("1", 0, 0, False)]),
        "outcome (state 1, action 3, step 0, next state 0): probability is '1', not a real number",
    ),
    "probability that is nothing": (
        lambda: arrays(changed(GOOD, (0, 0, 1), None)),
        "outcome (state 0, action 0, step 0, next state 1): probability is None, not a real number",
    ),
    "complex probability": (
        lambda: table([(1 + 0j, 0, 0, False)]),
        "outcome (state 1, action 3, step 0, next state 0): probability is (1+0j), not a real number",
    ),
    "probability below any float": (
        lambda: table([(Fraction(1, 10**400), 0, 0, False), (1 - Fraction(1, 10**400), 1, 0, False)]),
        "row (state 1, action 3, step 0): a probability is above 0 but below any float",
    ),
    # Rewards that are none.
    "NaN reward": (
        lambda: arrays(R=changed(PAY, (1, 0), NAN)),
        "outcome (state 1, action 0, step 0, next state 1): reward is nan",
    ),
    "infinite reward": (
        lambda: pairs(R=(1, -INF, 3)),
        "outcome (state 0, action 1, step 0, next state 1): reward is -inf",
    ),
    "NaN among fractions": (
        lambda: table([(Fraction(1, 3), 0, NAN, False), (Fraction(2, 3), 0, 1, False)]),
        "outcome (state 1, action 3, step 0, next state 0): reward is nan",
    ),
    "reward that is a list": (
        lambda: table([(1, 0, [1, 2], False)]),
        "outcome (state 1, action 3, step 0, next state 0): reward is [1, 2], not a real number",
    ),
    "reward beyond floats": (
        lambda: table([(1, 0, 10**400, False)]),
        "outcome (state 1, action 3, step 0, next state 0): reward is too large for a float",
    ),
    "returns beyond floats": (
        lambda: arrays(R=changed(PAY, (0, 1), 1e308), horizon=20),
        "row (state 0, action 1, step 0): reward 1e+308 over 20 steps is too large for floats",
    ),
    "probability above 1": (
        lambda: table([(1e308, 0, 0, True)] * 3),
        "outcome (state 1, action 3, step 0, next state 0): probability 1e+308 is above 1",
    ),
    # Indices.
    "next state out of range": (
        lambda: table([(1, 2, 0, False)]),
        "row (state 1, action 3, step 0): next state 2 is out of range: there are 2 states, numbered from 0",
    ),
    "next state out of range though the rollout ends": (
        lambda: table([(1, 7, 0, True)]),
        "row (state 1, action 3, step 0): next state 7 is out of range: there are 2 states, numbered from 0",
    ),
    "negative next state": (
        lambda: table([(1, -1, 0, False)]),
        "table[1][3][0]: next state must be between 0 and 2147483647, not -1",
    ),
    "next state that is a float": (
        lambda: table([(1, 0.0, 0, False)]),
        "table[1][3][0]: next state must be an integer, not 0.0",
    ),
    "state index out of range": (
        lambda: pairs(s=(0, 0, 2)),
        "row 2: state 2 is out of range: there are 2 states, numbered from 0",
    ),
    "negative action index": (
        lambda: pairs(a=(0, -1, 0)),
        "row 1: action -1 is out of range: there are 1 actions, numbered from 0",
    ),
    "state indices that are floats": (
        lambda: pairs(s=(0.0, 0.0, 1.0)),
        "s_indices must hold integers, not float64",
    ),
    "huge action index": (
        lambda: pairs(a=(0, 2**40, 0)),
        "a_indices must hold integers up to 2147483647, not 1099511627776",
    ),
    "pair given twice": (lambda: pairs(a=(1, 1, 0)), "row (state 0, action 1, step 0): given twice"),
    "action that is no number": (
        lambda: mk.MDP.from_table({0: {"left": [(1, 0, 0, False)]}}, horizon=1),
        "table[0]: key must be an integer, not 'left'",
    ),
    "state missing from a table": (
        lambda: mk.MDP.from_table({0: {0: [(1, 0, 0, False)]}, 2: {0: [(1, 0, 0, False)]}}, horizon=1),
        "table has no state 1, but 2 states: they are numbered from 0",
    ),
    "state without actions in a table": (
        lambda: mk.MDP.from_table({0: {0: [(1, 1, 0, True)]}, 1: {}}, horizon=1),
        "state 1 has no actions at step 0 (one where rollouts end still needs an action, such as staying there)",
    ),
    "state without available actions": (
        lambda: arrays(available=[[True, True], [False, False]]),
        "state 1 has no actions at step 0 (one where rollouts end still needs an action, such as staying there)",
    ),
    "state without actions at a later step": (
        lambda: arrays(available=[[[True, True], [True, True]], [[False, False], [True, True]]]),
        "state 0 has no actions at step 1 (one where rollouts end still needs an action, such as staying there)",
    ),
    "state without pairs": (
        lambda: pairs(s=(0, 0, 0), a=(0, 1, 2)),
        "state 1 has no actions at step 0 (one where rollouts end still needs an action, such as staying there)",
    ),
    # Shapes.
    "P of a wrong shape": (
        lambda: arrays(GOOD[:, :, :1]),
        "P has shape (2, 2, 1): expected [S, A, S] or [H, S, A, S], or sparse [S*A, S]",
    ),
    "P without states": (
        lambda: arrays(np.zeros((0, 0, 0))),
        "P has shape (0, 0, 0): expected [S, A, S] or [H, S, A, S], or sparse [S*A, S]",
    ),
    "sparse P of a wrong shape": (
        lambda: arrays(sparse.csr_array(np.ones((3, 2)))),
        "P has shape (3, 2): expected [S, A, S] or [H, S, A, S], or sparse [S*A, S]",
    ),
    "R of a wrong shape": (
        lambda: arrays(R=np.zeros((2, 3))),
        "R has shape (2, 3): expected (2, 2) or (2, 2, 2) or (4, 2), or that for each of the 2 steps",
    ),
    "more steps than the horizon": (
        lambda: arrays(np.stack([GOOD] * 3)),
        "P has shape (3, 2, 2, 2): expected (2, 2, 2) or (4, 2), or that for each of the 2 steps",
    ),
    "fewer matrices than the horizon": (
        lambda: arrays([sparse.csr_array(GOOD.reshape(4, 2))]),
        "P lists 1 steps, but the horizon is 2",
    ),
    "matrices that disagree": (
        lambda: arrays([sparse.csr_array(GOOD.reshape(4, 2)), sparse.eye_array(2)]),
        "P[1] has shape (2, 2): expected (2, 2, 2) or (4, 2)",
    ),
    "sparse R by state and action": (
        lambda: arrays(R=sparse.csr_array(PAY)),
        "R has shape (2, 2): expected (4, 2), or that for each of the 2 steps",
    ),
    "sparse R of three dimensions": (
        lambda: arrays(R=sparse.coo_array(np.ones((2, 2, 2)))),
        "R has shape (2, 2, 2): expected (4, 2), or that for each of the 2 steps",
    ),
    "sparse R per pair and step": (
        lambda: pairs(R=sparse.csr_array(np.ones((2, 3)))),
        "R has shape (2, 3): expected (3, 2), or that for each of the 2 steps",
    ),
    "sparse available": (
        lambda: arrays(available=sparse.csr_array(np.ones((2, 2), bool))),
        "available has shape (): expected (2, 2), or that for each of the 2 steps",
    ),
    "masked rewards": (
        lambda: arrays(R=np.ma.masked_array(PAY, PAY > 1)),
        "R is a masked array: fill in the masked entries",
    ),
    "structured P": (
        lambda: arrays(np.zeros((2, 2, 2), [("p", float)])),
        "P holds [('p', '<f8')], not numbers",
    ),
    "P that holds lists": (
        lambda: arrays(changed(GOOD, (0, 0, 0), "x")),
        "outcome (state 0, action 0, step 0, next state 0): probability is 'x', not a real number",
    ),
    "ragged P": (
        lambda: arrays([[[1.0], [1.0, 0.0]]]),
        "P is not an array of numbers: setting an array element with a sequence. The requested array has an "
        "inhomogeneous shape after 2 dimensions. The detected shape was (1, 2) + inhomogeneous part.",
    ),
    "tables that disagree": (
        lambda: mk.MDP.from_table(
            [{0: {0: [(1, 0, 0, False)]}}, {0: {0: [(1, 0, 0, False)]}, 1: {0: [(1, 0, 0, False)]}}], horizon=2
        ),
        "table[1] has 2 states, but table[0] has 1",
    ),
    "tables in a dict": (
        lambda: mk.MDP.from_table({1: {0: {0: [(1, 0, 0, False)]}}, 0: {0: {0: [(1, 0, 0, False)]}}}, horizon=2),
        "tables of several steps must be a list, in the order of the steps",
    ),
    "a table that holds itself": (lambda: mk.MDP.from_table(endless(), horizon=1), None),
    "fewer tables than the horizon": (
        lambda: mk.MDP.from_table([{0: {0: [(1, 0, 0, False)]}}] * 2, horizon=3),
        "2 tables were given, but the horizon is 3",
    ),
    "indices of different lengths": (
        lambda: pairs(a=(0, 1)),
        "s_indices has shape (3,) and a_indices (2,): expected [N] twice",
    ),
    "Q of a wrong shape": (
        lambda: pairs(Q=((1, 0), (0, 1))),
        "Q has shape (2, 2): expected (3, 2), or that for each of the 2 steps",
    ),
    "R of too few pairs": (
        lambda: pairs(R=(1, 2)),
        "R has shape (2,): expected (3,) or (3, 2), or that for each of the 2 steps",
    ),
    "available of a wrong shape": (
        lambda: arrays(available=[True, False]),
        "available has shape (2,): expected (2, 2), or that for each of the 2 steps",
    ),
    "available that holds numbers": (
        lambda: arrays(available=[[1, 1], [1, 0]]),
        "available must hold booleans, not int64",
    ),
    "terminal of a wrong shape": (
        lambda: arrays(terminal=[True]),
        "terminal has shape (1,): expected (2,), or a list of states",
    ),
    "terminal out of range": (
        lambda: arrays(terminal=[2]),
        "terminal state must be between 0 and 1, not 2",
    ),
    "outcome of three": (
        lambda: table([(1, 0, 0)]),
        "table[1][3][0] must be (probability, next_state, reward, terminated), not (1, 0, 0)",
    ),
    "outcome that is no tuple": (
        lambda: table([1.0]),
        "table[1][3][0] must be (probability, next_state, reward, terminated), not 1.0",
    ),
    "outcomes that are no list": (lambda: table(1.0), "table[1][3] must be a list of outcomes, not 1.0"),
    "terminated that is no boolean": (
        lambda: table([(1, 0, 0, 0.5)]),
        "table[1][3][0]: terminated must be true or false, not 0.5",
    ),
    "table that is a number": (
        lambda: mk.MDP.from_table(3, horizon=1),
        "table must be a dict or a list, not 3",
    ),
    "table without states": (lambda: mk.MDP.from_table({}, horizon=1), "a problem needs at least one state"),
    # Horizon.
    "horizon 0": (lambda: arrays(horizon=0), "horizon must be between 1 and 10000000, not 0"),
    "negative horizon": (
        lambda: table([(1, 0, 0, True)], horizon=-1),
        "horizon must be between 1 and 10000000, not -1",
    ),
    "horizon that is a float": (lambda: pairs(horizon=2.0), "horizon must be an integer, not 2.0"),
    "horizon that is a boolean": (lambda: arrays(horizon=True), "horizon must be an integer, not True"),
    "horizon beyond memory": (
        lambda: arrays(horizon=10**18),
        "horizon must be between 1 and 10000000, not 1000000000000000000",
    ),
    # Start.
    "start out of range": (lambda: arrays(start=2), "start must be between 0 and 1, not 2"),
    "negative start": (lambda: arrays(start=-1), "start must be between 0 and 1, not -1"),
    "start that is a float": (lambda: arrays(start=0.0), "start must be an integer, not 0.0"),
    "start that sums to less": (lambda: arrays(start=[0.5, 0.4]), "start: probabilities sum to 0.9"),
    "start of a wrong length": (
        lambda: arrays(start=[0.5, 0.25, 0.25]),
        "start has shape (3,): expected a state or a distribution over 2 states",
    ),
    "negative start probability": (
        lambda: arrays(start=[1.0, -0.5]),
        "start[1]: probability -0.5 is not between 0 and 1",
    ),
    "NaN start probability": (lambda: arrays(start=[NAN, 1]), "start[0]: probability nan is not between 0 and 1"),
    "start probability that is text": (
        lambda: arrays(start=np.array([0.5, "half"], dtype=object)),
        "start[1] must be a real number, not 'half'",
    ),
    "start probability below any float": (
        lambda: arrays(start=[Fraction(1, 10**400), 1 - Fraction(1, 10**400)]),
        "start[0]: the probability is below any float",
    ),
    # Names.
    "too few names": (lambda: arrays(state_names=["a"]), "state_names has 1 entries: expected 2"),
    "a word in place of names": (
        lambda: arrays(action_names="ab"),
        "action_names must be a list of 2 strings, not 'ab'",
    ),
    "name that is no string": (lambda: arrays(action_names=["a", 1]), "action_names[1] must be a string, not 1"),
    # The constructor itself.
    "arrays in place of rows": (
        lambda: mk.MDP(GOOD),
        "an MDP is built by MDP.from_arrays, from_pairs, from_table, from_gymnasium or load_mdp",
    ),
    "columns that differ in length": (lambda: rows(prob=np.ones(2)), "the columns of the outcomes differ in length"),
    "offsets that fall": (
        lambda: rows(start=np.array([1, 1])),
        "the row offsets must rise from 0 to the number of outcomes",
    ),
    "layers with gaps": (
        lambda: rows(step_layer=np.array([0, 2])),
        "the layers of the steps must be numbered from 0 without gaps",
    ),
    "no steps": (lambda: rows(step_layer=np.zeros(0, int)), "horizon must be between 1 and 10000000, not 0"),
    "too many states": (lambda: rows(n_states=2**31), "at most 2147483647 states and actions can be numbered"),
}


@pytest.mark.parametrize("name", CASES)
def test_one_line_that_names_the_entry(name):
    build, message = CASES[name]
    with pytest.raises(mk.InputError) as error:
        build()
    assert message in (str(error.value), None)
    assert "\n" not in str(error.value)
    assert isinstance(error.value, ValueError)
    assert isinstance(error.value, mk.MaxAtKError)


def test_the_good_ones_are_good():
    for mdp in (arrays(), table([(1, 0, 0, False)]), pairs(), rows()):
        assert isinstance(mdp, mk.MDP)


def test_the_tolerance_is_as_stated():
    arrays(changed(GOOD, (0, 1, 0), 0.5 - 9.9e-7))
    with pytest.raises(mk.InputError):
        arrays(changed(GOOD, (0, 1, 0), 0.5 - 1.01e-6))


def test_float32_rows_are_accepted():
    P = np.random.default_rng(0).dirichlet(np.ones(50), (50, 2)).astype(np.float32)
    assert mk.MDP.from_arrays(P, np.zeros((50, 2)), horizon=3).n_states == 50


@pytest.mark.slow
def test_what_cannot_be_held_is_refused():
    mdp = mk.MDP.from_arrays(sparse.identity(10**5, format="csr"), np.ones((10**5, 1)), horizon=10**7)
    with pytest.raises(mk.TooLargeError, match="a table of 10000000 steps and 100000 states would take 7451 GiB"):
        mdp.analysis.most  # noqa: B018
