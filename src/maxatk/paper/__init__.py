"""The paper, recomputed: one file per claim, which uses the public API alone. Only the command imports it.

``maxatk paper`` calls :func:`reproduce`. A claim is a module with a function ``run(effort) -> Claim``; to see
how a number of the report is computed, read that module from the top.
"""

from maxatk.paper.claim import Check, Claim, Effort, Picture, Table, Verdict
from maxatk.paper.runner import CLAIMS, Reproduction, reproduce

__all__ = ["CLAIMS", "Check", "Claim", "Effort", "Picture", "Reproduction", "Table", "Verdict", "reproduce"]
