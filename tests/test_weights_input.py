"""What weights refuse: one line each, which names the entry."""

import math
from typing import Any

import numpy as np
import pytest

import maxatk as mk
from maxatk import attempts as at

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("rewards", "k", "options", "message"),
    [
        ([1, 2, 3], 4, {}, "k = 4 needs at least 4 samples, and a group has 3: no unbiased weights exist"),
        ([1, 2, 3], 3, {"baseline": "others"}, "'others' with k = 3 needs more than 3 samples, and a group has 3"),
        ([1, 2, 3], 0, {}, "k must be at least 1, not 0"),
        ([1, 2, 3], 1.5, {}, "k must be an integer, not 1.5"),
        ([1, 2, 3], True, {}, "k must be an integer, not True"),
        ([1, 2, 3], 2, {"baseline": "other"}, "not 'other'; did you mean 'others'?"),
        ([1, 2, 3], 2, {"baseline": None}, "baseline must be 'auto', 'others', 'marginal' or 'none', not None"),
        ([1, NAN, 3], 2, {}, r"rewards\[1\] is nan, not a finite number"),
        ([[1, 2], [INF, 3]], 2, {}, r"rewards\[1, 0\] is inf, not a finite number"),
        ([[1, 2], [3]], 2, {}, "rewards must be numbers, in groups of one size or with an index of groups"),
        (["a", "b"], 2, {}, "rewards must be numbers, not <U1"),
        ([None, 1.0], 2, {}, r"rewards\[0\] is nan, not a finite number"),
        ([10**400, 1.0], 2, {}, "rewards must be numbers, in groups"),
        ([1j, 1.0], 2, {}, "rewards must be real numbers, not complex128"),
        (3.0, 1, {}, r"rewards must have a group of samples along the last axis, not the shape \(\)"),
        ([[], []], 1, {}, r"along the last axis, not the shape \(2, 0\)"),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), 1, {}, "rewards must not be masked"),
        ([1.7e308, -1.7e308], 1, {}, "rewards of a group are too far apart: their difference is not a finite float64"),
        ([1, 2, 3], 2, {"index": [0, 0]}, r"index must have a label for each of 3 rewards, not the shape \(2,\)"),
        ([1, 2, 3], 2, {"index": [0, [1], [1, 2]]}, "index must have a label for each of 3 rewards"),
        ([1, 2, 3], 2, {"index": [0.0, 1.0, 0.0]}, "index must hold labels of groups, .* not float64"),
        ([1, 2], 2, {"index": np.array([[], {}], object)}, "index must hold labels of groups, whole numbers or words"),
        ([[1, 2, 3]], 2, {"index": [0, 0, 0]}, r"with index, rewards must have one axis, not the shape \(1, 3\)"),
        ([1, 2, 3], 2, {"index": ["a", "a", "b"]}, "k = 2 needs at least 2 samples, and group 'b' has 1"),
        ([1, 2, 3, 4, 5], 2, {"index": [7, 7, 7, 9, 9], "baseline": "others"}, "than 2 samples, and group 9 has 2"),
    ],
)  # fmt: skip
def test_refusals(rewards: Any, k: Any, options: dict[str, Any], message: str):
    with pytest.raises(mk.InputError, match=message) as caught:
        at.weights(rewards, k, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rewards", "ratios", "k", "options", "message"),
    [
        ([1, 2, 3], [1, 1], 2, {}, r"shapes disagree: rewards \(3,\), ratios \(2,\)"),
        ([1, 2, 3], [1, -0.5, 1], 2, {}, r"ratios\[1\] is -0.5, which is negative"),
        ([1, 2, 3], [1, NAN, 1], 2, {}, r"ratios\[1\] is nan"),
        ([1, 2, 3], [1, 1, 1], 4, {"method": "product"}, "k = 4 needs at least 4 samples"),
        ([1, 2, 3], [1, 1, 1], 3, {"baseline": "others"}, "needs more than 3 samples"),
        ([1, 2, 3], [1, 1, 1], 4, {"baseline": "others"}, "'others' is for method 'product'; 'plug-in' is centred"),
        ([1, 2, 3], [0, 0, 0], 4, {}, "all ratios of a group are 0"),
        ([1, 2, 3], [1e300, 1e300, 1], 3, {}, "products of 3 ratios of a group are too large for float64"),
        ([1e200, 0], [1e200, 1], 1, {}, "products of 1 ratios of a group are too large for float64"),
        ([1, 2, 3], [1, 1, 1], 10**400, {}, "k must be between 1 and 1000000000000000"),
        ([1, 2, 3], [1, 1, 1], 2, {"method": "plugin"}, "not 'plugin'; did you mean 'plug-in'?"),
    ],
)
def test_refusals_off_policy(rewards: Any, ratios: Any, k: Any, options: dict[str, Any], message: str):
    with pytest.raises(mk.InputError, match=message) as caught:
        at.off_policy_weights(rewards, ratios, k, **options)
    assert "\n" not in str(caught.value)


def test_arrays_of_two_libraries_are_refused():
    xp = pytest.importorskip("array_api_strict")
    with pytest.raises(mk.InputError, match="rewards and ratios must be arrays of one library"):
        at.off_policy_weights(xp.asarray([1.0, 2.0]), np.array([1.0, 1.0]), 2)
    with pytest.raises(mk.InputError, match=r"rewards\[1\] is nan"):
        at.weights(xp.asarray([1.0, NAN]), 2)
    with pytest.raises(mk.InputError, match=r"rewards must be real numbers"):
        at.weights(xp.asarray([1.0, 2j]), 2)
