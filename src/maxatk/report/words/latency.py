"""What latency costs, in words."""

from maxatk.attempts.study.latency import AtWidth, Latency
from maxatk.report.words.attempts import difference, measured


def latency(result: Latency) -> str:
    """Whether each width is better or worse than one at a time, and how many rounds it takes."""
    alone = result.rows[0]
    said = [f"{_capital(difference(row.finding))}; a task takes {_rounds(row)} rounds" for row in result.rows[1:]]
    return ". ".join([*said, f"One at a time takes {_rounds(alone)}"]) + "."


def _rounds(row: AtWidth) -> str:
    value, interval = measured(row.rounds.measured)
    return f"{value} ({interval})"


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]
