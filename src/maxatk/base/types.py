"""Type aliases of arrays and numbers."""

from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Number: TypeAlias = int | float | Fraction
Range: TypeAlias = tuple[float, float]  # from the least to the greatest
Seed: TypeAlias = int | np.random.Generator | None  # what every ``rng`` may be

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Ints32: TypeAlias = NDArray[np.int32]
Bools: TypeAlias = NDArray[np.bool_]
Reals: TypeAlias = NDArray[Any]  # float64, or objects where some entry is exact beyond a float
