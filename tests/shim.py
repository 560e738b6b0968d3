"""The CUDA source as C++ on this machine: a device for tests, where a compiler is found."""

import ctypes
import shutil
import subprocess
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxatk as mk
from maxatk.engines.cuda import THREADS, Cuda

COMPILER = shutil.which("g++") or shutil.which("clang++") or shutil.which("c++")
TYPES = {"i": {4: ctypes.c_int32, 8: ctypes.c_int64}, "f": {8: ctypes.c_double}}


@cache
def library(folder: Path) -> ctypes.CDLL:
    """The kernels, compiled once."""
    assert COMPILER is not None
    source = resources.files("maxatk.kernels") / "sweep.cu"
    target = folder / "sweep.so"
    command = [
        COMPILER,
        "-x",
        "c++",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-ffp-contract=off",
        "-shared",
        "-fPIC",
        "-o",
        str(target),
    ]
    subprocess.run([*command, str(source)], check=True)
    return ctypes.CDLL(str(target))


def devices() -> list[Any]:
    """Parameters for tests: this machine as a device, and a GPU, each skipped where it is not there."""
    here = pytest.param("host", marks=pytest.mark.skipif(COMPILER is None, reason="no C++ compiler"))
    try:
        Cuda()
    except mk.MissingExtraError as error:
        return [here, pytest.param("cuda", marks=pytest.mark.skip(reason=str(error)))]
    return [here, "cuda"]


def device(name: str, folders: pytest.TempPathFactory) -> "Host | Cuda":
    """The device of a parameter."""
    return Host(folders.mktemp("shim")) if name == "host" else Cuda()


class Host:
    """A device whose arrays are NumPy's and whose kernels run block after block, thread after thread."""

    def __init__(self, folder: Path) -> None:
        self.xp = np
        self.memory = 1e9
        self.launched: dict[str, int] = {}
        self._library = library(folder)

    def launch(self, kernel: str, blocks: int, rows: int, *arguments: Any) -> None:
        self.launched[kernel] = self.launched.get(kernel, 0) + 1
        self._library.set_grid(blocks, rows, THREADS)
        self._library[f"host_{kernel}"](*map(passed, arguments))

    def to_host(self, array: Any) -> Any:
        return array.copy()


def passed(argument: Any) -> Any:
    """An argument as C takes it; arrays must be of one piece, as on a device."""
    if isinstance(argument, np.ndarray):
        assert argument.flags.c_contiguous
        return ctypes.c_void_p(argument.ctypes.data)
    return TYPES[argument.dtype.kind][argument.dtype.itemsize](argument)
