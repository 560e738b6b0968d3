"""``maxatk attempts --watch``: the progress of a scheduler, until it is interrupted or no task is open."""

import json
import time
from dataclasses import asdict

from rich.live import Live

from maxatk import attempts as at
from maxatk.cli.console import Console
from maxatk.report.tables import scheduler as tables

SECONDS = 1.0  # between two looks


def watch(where: str, as_json: bool) -> int:
    """Show the progress of a scheduler; once, where there is no terminal."""
    scheduler, console = at.load_scheduler(where), Console()
    known = scheduler.progress()
    if as_json:
        print(json.dumps(asdict(known), allow_nan=False))
        return 0
    if not console.is_terminal:
        console.print(tables.progress(known))
        return 0
    with Live(tables.progress(known), console=console, auto_refresh=False) as live:
        try:
            while known.over < known.tasks or not known.tasks:
                time.sleep(SECONDS)
                known = scheduler.progress()
                live.update(tables.progress(known), refresh=True)
        except KeyboardInterrupt:  # the way to end a watch
            pass
    return 0
