"""Plans for tests of schedulers, and a server of PostgreSQL of one's own."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

from maxatk import attempts as at


def plan_of(*steps, length=None, stop_at=1.0, price=0.1, tasks=100):
    """A plan with steps (arm, reached, gain, cost), the first ``length`` of which are to be made."""
    made = tuple(at.Step(*step) for step in steps)
    length = len(made) if length is None else length
    built_from = at.BuiltFrom(tasks, frozenset(), {step.arm: 3 * step.cost for step in made})
    return at.SequencePlan(
        steps=made[:length], further=made[length:], stop_at=stop_at, price=price, goal=at.Goal(price=price),
        method="greedy", why="as asked for", single=at.Capped(made[0].arm, 1, stop_at), default_score=0.0,
        built_from=built_from,
    )  # fmt: skip


THREE = (("small", 1.0, 0.4, 1.0), ("small", 0.6, 0.3, 1.0), ("big", 0.4, 0.5, 4.0))


def postgres_programs():
    """The folder of PostgreSQL's programs, or None."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if folders:
        return folders[-1].parent
    found = shutil.which("initdb")
    return Path(found).parent if found else None


class Server:
    """A server of PostgreSQL in a temporary folder, on the loopback, run by a user without privileges."""

    def __init__(self, folder: Path) -> None:
        programs = postgres_programs()
        assert programs is not None
        self._programs, self._data = programs, folder / "data"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._owner = pwd.getpwnam("nobody") if os.getuid() == 0 else None
        if self._owner:
            os.chown(folder, self._owner.pw_uid, self._owner.pw_gid)
        self._run("initdb", "-D", str(self._data), "-A", "trust", "-U", "maxatk", "--no-sync")
        self.start()
        self._run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "maxatk", "runs")
        self.address = f"postgresql://maxatk@127.0.0.1:{self.port}/runs"

    def _run(self, program: str, *arguments: str) -> None:
        owner = {} if self._owner is None else {"user": self._owner.pw_uid, "group": self._owner.pw_gid}
        subprocess.run(
            [self._programs / program, *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self._data.parent,
            **owner,
        )

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = f"-p {self.port} -h 127.0.0.1 -k {self._data.parent}"
        self._run("pg_ctl", "-D", str(self._data), "-w", "-l", str(self._data.parent / "log"), "-o", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop it at once, as a power failure would."""
        self._run("pg_ctl", "-D", str(self._data), "-m", mode, "-w", "stop")


@contextmanager
def postgres():
    """A server for as long as the block lasts."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        try:
            yield server
        finally:
            server.stop()
