"""Progress on a terminal: one line that changes; nothing where there is no terminal."""

from rich.console import Console
from rich.status import Status as Spinner

from maxatk.planning.plan import Progress


class ProgressLine:
    """A reporter for :func:`maxatk.solve` that keeps one line on standard error."""

    def __init__(self) -> None:
        self._spinner = Spinner("planning (kernels are compiled on the first run)", console=Console(stderr=True))

    def __enter__(self) -> "ProgressLine":
        self._spinner.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._spinner.stop()

    def __call__(self, at: Progress) -> None:
        """Show where the search stands."""
        rate = at.slices / at.seconds if at.seconds else 0.0
        self._spinner.update(
            f"rollout {at.rollout}: optimum in [{at.lower:.6g}, {at.upper:.6g}], {at.slices} slices, {rate:.0f}/s"
        )
