"""Makes docs/images/explain.png: the page of a CartPole controller, playing. Needs Chromium, and Playwright (the `dev` extra)."""

import sys
import tempfile
from pathlib import Path

import spaql
from spaql.report.explanation import write_explanation

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from browser import chromium

agent = spaql.SPAQLTS(spaql.make("cartpole-fitted"), seed=0)
agent.learn(iterations=600)
table = agent.policy()
with tempfile.TemporaryDirectory() as folder:
    from playwright.sync_api import sync_playwright

    page_file = Path(folder, "page.html")
    write_explanation(table, table.compress(max_leaves=8, laws=False), page_file)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.goto(page_file.as_uri())
        page.get_by_role("heading", name="In motion, and as a map").evaluate("heading => heading.scrollIntoView()")
        page.get_by_role("button", name="Play", exact=True).click()
        page.wait_for_timeout(1500)
        page.get_by_role("button", name="Pause", exact=True).click()
        page.screenshot(path=Path(__file__).parent / "images" / "explain.png")
        browser.close()
