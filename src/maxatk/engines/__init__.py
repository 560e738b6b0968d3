"""Other machines: engines are ``concurrent.futures.Executor`` objects, and any such object will do.

Ray and Dask have classes here because they keep a problem once per node. Executors of the standard library, of loky,
of mpi4py and others can be given as they are.
"""

from maxatk.engines.clusters import Dask, Ray

__all__ = ["Dask", "Ray"]
