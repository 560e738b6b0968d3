"""Plans and learned policies from files."""

from os import PathLike

from maxatk.base import archive
from maxatk.base.archive import Archive
from maxatk.base.checks import shown
from maxatk.base.errors import InputError
from maxatk.engines.engine import EngineConfig
from maxatk.learning import learned
from maxatk.learning.learned import Learned, read_learned
from maxatk.planning.certified.files import read_plan
from maxatk.planning.certified.plan import VERSIONS, CertifiedPlan
from maxatk.planning.rounds import plan as rounds
from maxatk.planning.rounds.files import read_rounds
from maxatk.planning.rounds.plan import RoundsPlan
from maxatk.problem.mdp import MDP

KINDS = {"plan": (*VERSIONS, rounds.VERSION), learned.KIND: (learned.VERSION,)}


def load_plan(
    path: str | PathLike[str], mdp: MDP | None = None, *, device: str = "cpu"
) -> CertifiedPlan | RoundsPlan | Learned:
    """Read what :meth:`maxatk.planning.CertifiedPlan.save` or :meth:`maxatk.Learned.save` wrote.

    Args:
        path: the file.
        mdp: the problem, which must be the one that the plan was made for, however it was built, or that the policy was
            learned in. By default the one that the file of a plan holds, if it was saved with it.
        device: where the policy of a plan sweeps its slices, as in :class:`maxatk.Certified`.

    Returns:
        The plan; or what was learned, whose bounds are about the problem that was sampled.

    >>> import os, tempfile, maxatk as mk
    >>> mdp = mk.instances.windy_cliff()
    >>> plan = mk.solve(mdp, k=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plan.save(os.path.join(folder, "x.plan"))
    ...     mk.load_plan(os.path.join(folder, "x.plan"), mdp).lower == plan.lower
    True
    """
    if mdp is not None and not isinstance(mdp, MDP):
        raise InputError(f"mdp must be a maxatk.MDP, not {shown(mdp)}")

    def read(file: Archive) -> CertifiedPlan | RoundsPlan | Learned:
        if file.kind == learned.KIND:
            return read_learned(file, mdp)
        plan = read_plan(file, file.header, mdp, EngineConfig(device))
        return read_rounds(file, file.header["rounds"], plan) if "rounds" in file.header else plan

    return archive.read(path, KINDS, read)
