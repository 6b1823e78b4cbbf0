"""A real browser for the tests of pages: found if there is one, started once, and listened to."""

import os
import shutil
from contextlib import contextmanager

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def chromium():
    """The browser's program: $SPAQL_CHROMIUM, else one on the path, else None, which lets Playwright look for its own."""
    return os.environ.get("SPAQL_CHROMIUM") or next((found for name in NAMES if (found := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser():
    """One Chromium for all tests. Where there is none, they are skipped and say so."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        pytest.skip("no browser: Playwright is not installed (pip install playwright)")
    with sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        except Error as error:
            pytest.skip(
                f"no browser: Chromium was not found or does not start ({str(error).splitlines()[0]}); $SPAQL_CHROMIUM can name one"
            )
        yield started
        started.close()


@contextmanager
def opened(browser, path, width=1280, height=900, **context):
    """The page in a window of its own. Whatever it complains about or asks the network for is an error in the end."""
    room = browser.new_context(viewport={"width": width, "height": height}, **context)
    room.set_default_timeout(10_000)
    page = room.new_page()
    complaints = []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.on("request", lambda request: complaints.append(f"request: {request.url}") if request.url != path.as_uri() else None)
    try:
        page.goto(path.as_uri())
        yield page
    finally:
        room.close()
    assert [text for text in complaints if not text.startswith("request: data:")] == []


def overflow(page):
    """Pixels by which the page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
