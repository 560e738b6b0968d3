"""Problems on lattices, as tests sweep them: on one thread of this machine, or on an engine of their own."""

import math
import os

import maxatk as mk
from maxatk.engines.engine import Engine, EngineConfig, SharedEngine
from maxatk.planning.certified.cells import Task
from maxatk.planning.certified.off_lattice import KeptPlaneJob, OffLattice
from maxatk.planning.certified.on_lattice import OnLattice, ValueJob
from maxatk.planning.certified.slices import SliceMethod
from problems import decision


def engine_of(problem, made: Engine | None = None) -> SharedEngine:
    """An engine for a method: one thread, unless it is made already."""
    shared = SharedEngine(EngineConfig(threads=1), problem)
    if made is not None:
        shared._made = os.getpid(), made
    return shared


def on_lattice(mdp: mk.MDP, kappa: float, made: Engine | None = None, **objective) -> OnLattice:
    return OnLattice(engine_of(decision(mdp, **objective), made), kappa)


def off_lattice(mdp: mk.MDP, kappa: float, made: Engine | None = None, **objective) -> OffLattice:
    return OffLattice(engine_of(decision(mdp, **objective), made), kappa)


def values(method: OnLattice, curve, *ms: float, keep: bool = True) -> ValueJob:
    """Slices at some best returns, swept to the end."""
    job = ValueJob(method, Task(curve, ms), keep=keep)
    job.alone(math.inf)
    return job


def planes(method: OffLattice, curve, m: float) -> KeptPlaneJob:
    """A slice off the lattice, swept to the end, all layers of it kept."""
    job = KeptPlaneJob(method, Task(curve, (m,)))
    job.alone(math.inf)
    return job


def decided(method: SliceMethod, task: Task, memory: float = math.inf):
    """What is to be done in a task."""
    return method.decisions_job(task).alone(memory)


def swept(method: SliceMethod, task: Task, memory: float = math.inf):
    """The bounds of a task."""
    return method.bounds_job(task).alone(memory)
