"""From end to end: a plan, its scheduler, workers that call three models over HTTP, and a kill in the middle."""

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs, urlparse

import pytest

from maxatk import attempts as at
from scheduler_worlds import plan_of

WORKER = Path(__file__).with_name("scheduler_http.py")
STEPS = [("failing", 1.0, 0.3, 1.0), ("limited", 0.7, 0.3, 2.0), ("slow", 0.5, 0.3, 3.0), ("failing", 0.3, 0.3, 1.0)]


class Models(BaseHTTPRequestHandler):
    """Three models: one is slow, one fails every third time, one answers one request at a time."""

    answered: ClassVar[Counter] = Counter()
    asked: ClassVar[Counter] = Counter()
    lock, busy = threading.Lock(), threading.Lock()

    def do_GET(self) -> None:
        model, query = urlparse(self.path).path.strip("/"), parse_qs(urlparse(self.path).query)
        with self.lock:
            self.asked[model] += 1
            number = self.asked[model]
        if model == "slow":
            time.sleep(0.05)
        if model == "failing" and number % 3 == 0:
            return self.send_error(500)
        if model == "limited" and not self.busy.acquire(blocking=False):
            return self.send_error(429)
        try:
            time.sleep(0.002)
            body = json.dumps({"score": 0.5 if model != "slow" else 0.9, "cost": 1.0}).encode()
        finally:
            if model == "limited":
                self.busy.release()
        with self.lock:
            self.answered[query["attempt"][0]] += 1
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)
        return None

    def log_message(self, *arguments) -> None:
        pass


@pytest.mark.slow
def test_models_over_http_resumed_after_a_kill(tmp_path):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Models)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address, path = f"http://127.0.0.1:{server.server_port}", str(tmp_path / "runs.db")
    scheduler = plan_of(*STEPS, price=0.01).scheduler(path, max_retries=50)
    tasks = [f"t{n}" for n in range(20)]
    command = [sys.executable, WORKER, path, address, ",".join(tasks)]
    workers = [subprocess.Popen(command) for _ in range(4)]
    while len(scheduler.records()) < 20:
        time.sleep(0.01)
    for worker in workers:
        worker.kill()
        worker.wait()
    between = len(scheduler.records())
    workers = [subprocess.Popen(command) for _ in range(4)]
    assert [worker.wait(timeout=120) for worker in workers] == [0] * 4
    server.shutdown()
    server.server_close()
    told = scheduler.records()
    assert between >= 20
    assert all(count == 1 for count in Models.answered.values())  # every id was asked for once
    assert scheduler.in_flight == []
    for task in tasks:
        assert scheduler.ask(task).stop
        arms = Counter(row["arm"] for row in told if row["task"] == task)
        assert arms["failing"] >= 2  # no attempt was skipped
        assert arms["limited"] >= 1
        assert arms["slow"] >= 1
    assert scheduler.progress().over == 20
    assert isinstance(scheduler.export(), at.Log)
