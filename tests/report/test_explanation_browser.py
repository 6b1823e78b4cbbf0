"""The explanation of a controller in a real browser: it decides and explains what the policy does, for everybody who reads it."""

# ruff: noqa: F811 (fixtures are imported, and arguments are named after them)

import numpy as np
import pytest

from browser import opened
from explained import decides, fits
from helpers import quick_first
from made_explanations import now, page, paths, pixels, policies, settle, window  # noqa: F401
from spaql.policy.words import number, told_apart

PHONE = 390
SHOWN = ("pendulum", "oblique", "nasty", "cartpole", "untrained", "one variable", "two actions")


# -- the page as a whole -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", quick_first(SHOWN, ["pendulum", "oblique"]))
def test_every_page_fits_decides_and_explains_as_its_policy(browser, paths, policies, name):
    with opened(browser, paths[name], width=PHONE, color_scheme="dark" if name == "pendulum" else "light") as page:
        fits(page)
        decides(page, *policies[name])
        missed = page.evaluate("[...spaql.leaves.keys()].filter((leaf) => spaql.leafOf(spaql.tree, spaql.stateIn(leaf)) !== leaf)")
        assert missed == [] or name == "oblique"
        leaf = page.locator(".tree a.leaf:visible").last
        leaf.press("Enter")
        assert page.evaluate("spaql.now.leaf") == int(leaf.get_attribute("data-node")) or name == "oblique"
        assert page.url.endswith(".html")


def test_numbers_are_written_as_in_python(page):
    values = [0.0, 1.0, -0.5, 2.0625, 2.1875, -2.0625, 1234.5, 12345.0, 9999.5, 1e-5, 0.00012345, 131.83333, 1e300, 0.1 + 0.2, 123456.0]
    for digits in (4, 7, 17):
        written = page.evaluate("([values, digits]) => values.map((value) => spaql.plain(value, digits))", [values, digits])
        assert written == [number(value, digits) for value in values]
    for value in filter(None, values):
        close = [value, float(np.nextafter(value, 1e300)), value * (1 + 1e-9)]
        texts = told_apart(close, scale=0.0)
        written = page.evaluate("(values) => spaql.toldApart(values)", close)
        assert [text.replace("−", "-") for text in written] == [texts[one] for one in close]


# -- the map -------------------------------------------------------------------------------------------------------------------------


def test_choosing_variables_and_sliding_draws_the_map_anew(page):
    page.locator("[name=across]").select_option(label="position")
    page.locator("[name=up]").select_option(label="velocity")
    before = pixels(page)
    page.locator("[name=up]").select_option(label="angular velocity")
    turned = pixels(page)
    assert turned != before
    assert "angular velocity (rad/s)" in page.locator(".map").text_content()
    slider = page.get_by_label("angle, slider")
    slider.focus()
    seen = {turned}
    for key in ("End", "Home"):
        page.keyboard.press(key)
        seen.add(pixels(page))
    assert len(seen) > 1
    before = len(seen)
    for colour in ("q", "visits"):
        page.locator("[name=colour]").select_option(colour)
        seen.add(pixels(page))
    assert len(seen) == before + 2
    page.locator("input[name=far]").check()
    assert pixels(page) not in seen


def test_both_axes_never_show_the_same_variable(page):
    shown = """["across", "up"].map((name) => document.querySelector(`[name=${name}]`).selectedOptions[0].text)"""
    page.locator("[name=across]").select_option(label="angle")
    page.locator("[name=up]").select_option(label="position")
    page.locator("[name=across]").select_option(label="position")
    assert page.evaluate(shown) == ["position", "angle"]
    page.locator("[name=up]").select_option(label="position")
    assert page.evaluate(shown) == ["angle", "position"]


def test_clicking_the_map_shows_the_rule_and_the_action_of_the_policy(page, policies):
    _, shown = policies["cartpole"]
    box = page.locator(".map canvas").bounding_box()
    rules = set()
    for across, up in ((0.1, 0.2), (0.5, 0.5), (0.9, 0.2), (0.3, 0.8), (0.7, 0.9)):
        page.locator(".map").scroll_into_view_if_needed()
        box = page.locator(".map canvas").bounding_box()
        page.mouse.click(box["x"] + across * box["width"], box["y"] + up * box["height"])
        settle(page)
        why = shown.why(now(page))
        said = page.locator("#why").inner_text().replace("−", "-")
        assert f"push = {why.action[0]:g}" in said
        assert all(part in said for part in why.rule)
        assert page.locator(".strip .chip").inner_text() == f"push = {why.action[0]:g}"
        assert page.locator(".tree a[aria-current=true]").get_attribute("data-node") == str(why.leaf)
        assert page.locator(".tree a[aria-current=true]").is_visible() or why.share == 0.0
        rules.add(why.leaf)
    assert len(rules) > 1


def test_the_pendulum_has_a_map_of_angle_and_velocity(browser, paths, policies):
    with opened(browser, paths["pendulum"]) as page:
        assert page.locator("[name=across]").evaluate("(select) => select.selectedOptions[0].text") == "angle"
        page.get_by_label("angle", exact=True).fill("0.5")
        np.testing.assert_allclose(now(page)[:2], [np.cos(0.5), np.sin(0.5)])
        page.locator("[name=up]").select_option(label="sin")
        assert page.locator("[name=across]").evaluate("(select) => select.selectedOptions[0].text") == "velocity"


def test_a_state_can_be_typed_and_one_outside_is_warned_of(page):
    page.get_by_label("position", exact=True).fill("1.25")
    assert now(page)[0] == 1.25
    page.get_by_label("position", exact=True).fill("7")
    settle(page)
    assert "position = 7 m is outside −4.8 … 4.8: never seen in training" in page.locator("#why .warning").inner_text()
    page.get_by_label("position", exact=True).fill("")
    assert now(page)[0] == 7.0


# -- the tree ------------------------------------------------------------------------------------------------------------------------


def test_the_tree_folds_and_shows_only_what_is_used(page):
    page.get_by_role("button", name="Unfold all").click()
    used = page.locator("input[name=used]")
    used.uncheck()
    leaves = page.locator(".tree a.leaf:visible").count()
    assert leaves == page.evaluate("spaql.leaves.size")
    used.check()
    assert (
        page.locator(".tree a.leaf:visible").count()
        == page.evaluate("[...spaql.leaves.values()].filter((one) => one.share > 0).length")
        < leaves
    )
    page.get_by_role("button", name="Fold", exact=True).click()
    root = page.locator(".tree > details > summary")
    root.press("Enter")
    assert page.locator(".tree a.leaf:visible").count() == 0


# -- keyboard, theme, no scripts, paper ----------------------------------------------------------------------------------------------


def test_everything_to_operate_is_reached_with_the_keyboard_and_seen(page):
    reached = set()
    for _ in range(250):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("(() => { const e = document.activeElement; return e.name || e.id || e.classList[0] || e.tagName; })()"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none" or page.evaluate(
            "document.activeElement.matches('fieldset input, body')"
        )
        if "speed" in reached:
            break
    assert {
        "theme",
        "episode",
        "across",
        "up",
        "colour",
        "far",
        "paths",
        "map",
        "state-0",
        "used",
        "follow",
        "play",
        "at",
        "speed",
    } <= reached


def test_the_strip_neither_hides_what_has_the_focus_nor_moves_the_page(page):
    page.locator("input[name=used]").focus()
    box, strip = page.locator("input[name=used]").bounding_box(), page.locator(".strip").bounding_box()
    assert box["y"] + box["height"] <= strip["y"]
    before = page.evaluate("scrollY")
    page.locator("[name=play]").focus()
    assert page.evaluate("scrollY") == before


def test_arrow_keys_move_the_state_in_the_map(page):
    page.locator(".map").focus()
    before = now(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowUp")
    assert (now(page) != before).sum() == 2


def test_theme_button_changes_the_colours(page):
    ink = "getComputedStyle(document.querySelector('.map text')).fill"
    before, map_before = page.evaluate(ink), pixels(page)
    page.get_by_role("button", name="Dark page").click()
    assert page.evaluate(ink) != before
    assert pixels(page) != map_before  # the rim of the region at hand has the colour of the text


def test_without_scripts_the_tree_and_the_rules_are_there(browser, paths):
    with opened(browser, paths["cartpole"], width=PHONE, java_script_enabled=False) as page:
        assert page.locator("noscript p").is_visible()
        for part in (".bench", ".strip", ".tree-controls", "#theme"):
            assert not page.locator(part).is_visible()
        assert page.locator(".tree a.leaf").first.is_visible()
        if not page.locator("#rules table").is_visible():
            page.locator("#rules summary").click()
        assert page.locator("#rules tbody tr").first.is_visible()


def test_paper_gets_tree_rules_and_map_without_controls(page):
    page.emulate_media(media="print")
    assert not any(page.locator(one).first.is_visible() for one in (".strip", ".map-controls", ".state", ".tree-controls", "#theme"))
    assert page.locator("#rules table").is_visible()
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.emulate_media(media="screen")
