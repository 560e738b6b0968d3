"""Settings for all tests: Hypothesis repeats its runs, and does not time them on noisy machines. And a browser."""

import shutil
from contextlib import ExitStack

import pytest
from hypothesis import settings

from maxatk.base.tuning import tuned

collect_ignore_glob = ["data/*"]  # scripts there need tools that are not installed

settings.register_profile("maxatk", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("maxatk")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


@pytest.fixture(autouse=True)
def _no_columns(monkeypatch):
    """Commands in a pipe wrap no line, unless a test asks for it."""
    monkeypatch.delenv("COLUMNS", raising=False)


def pytest_configure(config):
    """Compile the loops that most tests need before workers start, where nothing is compiled yet."""
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput") and not config.option.collectonly:
        from compile_once import compile_all  # loads the compiler, which those who run one test need not wait for
        from maxatk.kernels.compiled import kept

        if not kept()[1]:
            compile_all()


@pytest.fixture
def tune():
    """Sets thresholds until the test is over: ``tune(small_slice=-1)``."""
    with ExitStack() as stack:
        yield lambda **thresholds: stack.enter_context(tuned(**thresholds))


@pytest.fixture(scope="module")
def browser():
    """A real browser; tests that need one are skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed (extra dev)")
    if CHROMIUM is None:
        pytest.skip("no Chromium on the path: apt-get install chromium")
    with playwright.sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()
