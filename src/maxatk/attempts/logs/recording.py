"""A log that comes with the library: restarts of five solvers, recorded by ``examples/solver_restarts.py``."""

from importlib.resources import as_file, files

from maxatk.attempts.logs.log import Log
from maxatk.attempts.logs.readers import read_log

NAME = "solver_restarts.csv"


def recorded() -> Log:
    """Ten restarts each of five solvers (SciPy's and CMA-ES) on 120 functions with many valleys.

    The score says how many of six digits of the distance to the optimum an attempt closed, as a share: 1 is solved. The
    cost is processor time in seconds.

    >>> from maxatk import attempts as at
    >>> at.recorded()
    Log(120 tasks, 5 arms, 6000 attempts)
    """
    with as_file(files("maxatk.attempts.logs") / NAME) as path:
        return read_log(path, score_range=(0, 1))
