"""A worker that asks a scheduler and calls models over HTTP: ``python scheduler_http.py WHERE ADDRESS TASKS``."""

import json
import sys
import time
import urllib.error
import urllib.request

from maxatk import attempts as at


def main() -> None:
    where, address, tasks = sys.argv[1:]
    scheduler = at.load_scheduler(where, lease=2.0)
    for task in tasks.split(","):
        while attempt := scheduler.ask(task, wait=True):
            request = f"{address}/{attempt.arm}?task={task}&attempt={attempt.id}"
            try:
                with urllib.request.urlopen(request, timeout=1.0) as answer:
                    given = json.loads(answer.read())
            except urllib.error.HTTPError as error:
                if error.code == 429:
                    time.sleep(0.02)
                scheduler.drop(attempt)
            except OSError:
                scheduler.drop(attempt)
            else:
                scheduler.tell(attempt, score=given["score"], cost=given["cost"])


if __name__ == "__main__":
    main()
