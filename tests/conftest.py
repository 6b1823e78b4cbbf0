"""Long tests are skipped unless `--slow` is given. One browser serves all tests of pages."""

import os

import pytest

from browser import browser  # noqa: F401

os.environ.setdefault("SPAQL_COMPILERS", "0")  # every core has a worker of pytest already


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="also run the tests marked slow")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--slow"):
        return
    skip = pytest.mark.skip(reason="long; run with --slow")
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(skip)
