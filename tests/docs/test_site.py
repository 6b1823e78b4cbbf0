"""The documentation site: built without a warning, read without a network, searched from a disk."""

import re
import subprocess
import sys

import pytest

from pages import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site."""
    pytest.importorskip("material", reason="the site is built by the extra `docs`: make docs")
    pytest.importorskip("mkdocstrings_handlers.python", reason="the site is built by the extra `docs`: make docs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_no_page_loads_anything_from_a_server(site):
    for page in site.rglob("*.html"):
        loaded = re.findall(r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="(https?:[^"]+)"', page.read_text())
        assert loaded == [], f"{page.relative_to(site)} loads {loaded}"


def test_a_function_named_on_a_page_is_shown_with_its_source(site):
    assert 'href="source/src/spaql/learners/update.py.html#gaussian"' in (site / "spaql-ts.html").read_text()
    assert 'id="gaussian"' in (site / "source" / "src" / "spaql" / "learners" / "update.py.html").read_text()


def test_the_api_page_shows_every_public_name(site):
    import spaql

    page = (site / "api.html").read_text()
    shown = set(re.findall(r'id="spaql(?:_studies)?\.[\w.]*?(\w+)"', page))
    modules = {"analysis", "callbacks"}  # shown by what is in them
    assert set(spaql.__all__) - modules <= shown
    assert {"compare", "Checkpoint", "EarlyStop", "Progress", "CsvLog", "TensorBoard"} <= shown


def test_no_page_is_wider_than_a_narrow_window(site, browser):
    page = browser.new_page(viewport={"width": 400, "height": 800})
    for name in ("index", "start", "tutorial", "algorithms", "spaql", "plants", "results", "readme", "api"):
        page.goto((site / f"{name}.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, name
    page.close()


def test_the_search_works_from_a_disk(site, browser):
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    page.locator("input[name=query]").fill("temperature")
    page.locator(".md-search-result__item").first.wait_for(state="attached")
    assert "temperature" in page.locator(".md-search-result__list").inner_text().lower()
    page.close()


@pytest.mark.parametrize("words", ["PID", "LQR", "MPC", "integral", "hysteresis", "PLC", "dead time", "set point", "windup", "VecEnv"])
def test_the_search_finds_the_words_of_control_engineers(site, browser, words):
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    page.locator("input[name=query]").fill(words)
    page.locator(".md-search-result__item").first.wait_for(state="attached")
    found = page.locator(".md-search-result__list").inner_text().lower()
    assert "coming from" in found or "formulating a control problem" in found
    assert words.lower() in found
    page.close()
