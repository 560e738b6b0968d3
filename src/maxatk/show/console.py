"""The terminal, as all commands write to it."""

import rich.console


class Console(rich.console.Console):
    """A console that takes names as they are, breaks no lines in a pipe and leaves a closed one to its caller."""

    def __init__(self) -> None:
        super().__init__(highlight=False, markup=False)
        if not self.is_terminal:
            self.width = 1000

    def on_broken_pipe(self) -> None:
        """Called while the error is being handled: let it pass."""
        raise BrokenPipeError
