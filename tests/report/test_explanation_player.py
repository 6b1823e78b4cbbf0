"""The player of the explanation page in a real browser: recorded episodes, step by step, with the rule in charge lit."""

# ruff: noqa: F811 (fixtures are imported, and arguments are named after them)

import numpy as np
import pytest

from browser import opened
from made_explanations import now, page, paths, policies, window  # noqa: F401


def test_stepping_lights_the_rule_in_charge(page, policies):
    _, shown = policies["cartpole"]
    observations = page.evaluate("spaql.data.episodes[0].observations")
    for step in range(1, 6):
        page.locator("[name=forward]").click()
        np.testing.assert_array_equal(now(page), observations[step])
        why = shown.why(observations[step])
        lit = page.evaluate("spaql.now.leaf")
        assert lit == why.leaf
        assert page.locator(".tree a[aria-current=true]").get_attribute("data-node") == str(lit)
        assert all(part in page.locator(".now-rule").inner_text().replace("−", "-") for part in why.rule)
        assert page.locator("#rules tr.lit").get_attribute("data-node") == str(lit)
    page.locator("[name=back]").click()
    np.testing.assert_array_equal(now(page), observations[4])
    assert "0.08 s" in page.locator(".clock").inner_text()


def test_playing_moves_until_it_is_paused_and_stops_at_the_end(page):
    button = page.locator("[name=play]")
    assert button.inner_text() == "Play"
    page.locator("[name=speed]").select_option("0.25")  # so that a slow machine comes to the pause before the end
    button.press("Enter")
    page.wait_for_function("() => spaql.now.moment.step > 1")
    button.press("Enter")
    stopped = page.evaluate("spaql.now.moment.step")
    page.wait_for_timeout(150)
    assert page.evaluate("spaql.now.moment.step") == stopped
    last = page.evaluate("spaql.data.episodes[0].observations.length") - 1
    page.locator("[name=speed]").select_option("4")
    page.locator("[name=at]").fill(str(last - 3))
    assert page.evaluate("spaql.now.moment.step") == last - 3
    button.click()
    page.wait_for_function("() => document.querySelector('[name=play]').textContent === 'Play'")
    assert page.evaluate("spaql.now.moment.step") == last


def test_looking_elsewhere_pauses_and_another_episode_begins_at_its_start(page):
    page.locator("[name=play]").click()
    page.locator(".map").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("[name=play]").inner_text() == "Play"
    assert page.evaluate("spaql.now.moment") is None
    plots = page.locator(".series").inner_html()
    page.locator("#episode").select_option("2")
    assert page.evaluate("spaql.now.moment") == {"episode": 2, "step": 0}
    assert page.locator(".series").inner_html() != plots
    box = page.locator(".series").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 50)
    assert page.evaluate("spaql.now.moment.step") == pytest.approx(page.evaluate("spaql.data.episodes[2].observations.length") / 2, abs=2)


def test_nothing_moves_by_itself(browser, paths):
    with opened(browser, paths["pendulum"], reduced_motion="reduce") as page:
        page.wait_for_timeout(200)
        assert page.evaluate("spaql.now.moment.step") == 0
        page.locator("[name=forward]").click()
        rod = page.locator(".plant .rod").get_attribute("x2")
        page.locator("[name=forward]").click()
        assert page.locator(".plant .rod").get_attribute("x2") != rod
