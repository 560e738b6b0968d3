"""The example log: restarts of five solvers, recorded by ``examples/solver_restarts.py``."""

from importlib.resources import as_file, files

from maxatk.attempts.logs.log import Log
from maxatk.attempts.logs.readers import read_log

NAME = "solver_restarts.csv"


def example_log() -> Log:
    """The log that comes with the library: ten restarts each of five solvers (SciPy's and CMA-ES) on 120 functions.

    The functions have many local minima. The score is the share of six digits by which an attempt reduced the distance
    to the optimum: 1 is solved. The cost is processor time in seconds.

    >>> from maxatk import attempts as at
    >>> at.example_log()
    Log(120 tasks, 5 arms, 6000 attempts)
    """
    with as_file(files("maxatk.attempts.logs") / NAME) as path:
        return read_log(path, score_range=(0, 1))
