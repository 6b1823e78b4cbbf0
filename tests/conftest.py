"""Long tests are skipped unless `--slow` is given. One browser serves all tests of pages. Searches can be made quick."""

import os
import signal
from collections import Counter
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: on small matrices its threads wait for each other

import pytest

import spaql
from browser import browser  # noqa: F401
from spaql.laws import in_model

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # so shells start what runs in the background of a script
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests press Ctrl-C, here and in processes they start


FEW = Path(__file__).with_name("few.txt")  # tests that take long


def few() -> dict[str, int]:
    """How many parameters of a test run every time."""
    lines = [line.split() for line in FEW.read_text().splitlines() if not line.startswith("#")]
    return {test: int(count) for count, test in lines}


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="also run the tests marked slow")


def pytest_collection_modifyitems(config, items):
    items.sort(key=lambda item: "test_docs.py" not in item.nodeid)  # the longest first: at the end one worker would wait
    if config.getoption("--slow"):
        return
    skip, seen, most = pytest.mark.skip(reason="long; run with --slow"), Counter(), few()
    for item in items:
        test = f"{item.path.relative_to(FEW.parent)}::{item.originalname}"
        seen[test] += 1
        if seen[test] > most.get(test, len(items)) or item.get_closest_marker("slow"):
            item.add_marker(skip)


@pytest.fixture
def quick_search(monkeypatch):
    """A three-hundredth of the search for laws in a model: for tests that are not about the last tenth of the return.

    And no doubts after `learn`, which ask the model for seconds; `trust()` is as always.
    """
    monkeypatch.setattr(spaql.Atlas, "remarks", lambda agent, hurry=False, fresh=None: ())
    monkeypatch.setattr(in_model, "SEARCH_KERNELS", 2e7)
    monkeypatch.setattr(in_model, "LOOK_AHEAD_KERNELS", 1e7)
