"""Ray and Dask as executors."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from maxatk.base.errors import MissingExtraError


class Ray(Executor):
    """Tasks on the Ray cluster that this process is connected to (extra ``ray``).

    Ray runs again what a lost worker left, up to three times: a task that kills its worker each time would go on for
    ever otherwise. What it gives up is swept by the caller.

    Args:
        options: those of a Ray task, such as ``num_cpus`` or ``num_gpus``; one CPU and three retries by default.
    """

    def __init__(self, **options: Any) -> None:
        try:
            import ray  # pyright: ignore[reportMissingImports, reportMissingTypeStubs]
        except ImportError:
            raise MissingExtraError("mk.engines.Ray needs Ray: pip install 'maxatk[ray]'") from None
        self._ray: Any = ray
        self._task: Any = self._ray.remote(_call).options(**{"num_cpus": 1, "max_retries": 3, **options})

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a function on some worker.

        Args:
            fn: the function, which the workers must be able to import.
            args: what it is given.
            kwargs: likewise, by name.
        """
        reference = self._task.remote(fn, *args, **kwargs)
        future: Any = reference.future()
        future.cancel = lambda: self._cancel(reference)
        return future

    def _cancel(self, reference: Any) -> bool:
        self._ray.cancel(reference, force=False)
        return True

    def put(self, packed: bytes) -> Any:
        """What a task may be given in place of these bytes: they travel once per node.

        Args:
            packed: the bytes.
        """
        return self._ray.put(packed)


class Dask(Executor):
    """Tasks on the cluster of a ``dask.distributed.Client`` (extra ``dask``).

    Args:
        client: the client.
    """

    def __init__(self, client: Any) -> None:
        self._client, self._executor = client, client.get_executor(pure=False, retries=3)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a function on some worker.

        Args:
            fn: the function, which the workers must be able to import.
            args: what it is given.
            kwargs: likewise, by name.
        """
        return self._executor.submit(fn, *args, **kwargs)

    def put(self, packed: bytes) -> Any:
        """What a task may be given in place of these bytes: the result of a task, which is made again if it is lost.

        Args:
            packed: the bytes.
        """
        return self._client.submit(_same, packed, pure=False)


def _call(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return fn(*args, **kwargs)


def _same(packed: bytes) -> bytes:
    return packed
