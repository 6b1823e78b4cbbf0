"""The explanation of laws in a real browser: the page computes them to the last bit, and says of them what `why` says."""

import re
from contextlib import ExitStack

import numpy as np
import pytest

from browser import opened
from explained import compare, decides, fits
from helpers import quick_first
from law_examples import law_policies, law_states
from made_explanations import data_of, now, pixels, settle, text_of, written
from spaql.export.drawing import colour_of
from spaql.report.explanation import write_explanation
from spaql.report.explanation_data import best_axes
from spaql.report.page_parts import signed

# clipped with a plant, behind an oblique test, with two outputs, with constants; thresholds; ordered; best of scores
SHOWN = ("P2", "M3", "L1c", "constants", "odd laws", "cartpole", "A2", "ordered", "ordered many", "L2d", "scores")
QUICK = ("L1c", "scores")  # laws in numbers and in finite actions; the others are for `make test-all`


@pytest.fixture(scope="module")
def law_pages(tmp_path_factory):
    """Pages by name, written when they are asked for."""
    folder = tmp_path_factory.mktemp("laws")

    def path(name):
        found = folder / f"{name}.html"
        if not found.exists():
            write_explanation(law_policies()[name], law_policies()[name], found)
        return found

    return path


@pytest.fixture(scope="module")
def law_page(browser, law_pages):
    """Open pages by name, each loaded once: at its start, in colours of its first action, in a window of some width."""
    with ExitStack() as windows:
        shown = {}

        def page(name, width=1280):
            if name not in shown:
                scheme = "dark" if name == "M3" else "light"
                shown[name] = windows.enter_context(opened(browser, law_pages(name), color_scheme=scheme))
            shown[name].set_viewport_size({"width": width, "height": 900})
            shown[name].evaluate("spaql.set(spaql.data.start, 'start', spaql.data.episodes.length ? { episode: 0, step: 0 } : null)")
            shown[name].locator("[name=colour]").select_option("0")
            settle(shown[name])
            return shown[name]

        yield page


def near(policy):
    """States all over, where laws are not saturated, and where scores are equal or just not."""
    states = law_states(policy, 1000)
    states[-2:] = 0.0
    states[-1, 0] = -5e-324
    return states


@pytest.mark.parametrize("name", quick_first(SHOWN, QUICK))
def test_every_page_of_laws_fits_decides_and_explains_as_its_policy(law_page, name):
    policy, page = law_policies()[name], law_page(name, width=390)
    decides(page, policy, policy)
    decides(page, policy, policy, near(policy))
    fits(page)
    leaf = page.locator(".tree a.leaf:visible").last
    leaf.press("Enter")
    assert page.evaluate("spaql.now.leaf") == int(leaf.get_attribute("data-node")) or policy.rules.oblique


def plain(text):
    """Words and numbers only: what stands in cells of a table on the page stands between brackets in `why`."""
    return re.sub(r"[\s():,;•]+|\.(?!\d)", " ", text.replace("−", "-").lower()).strip()


@pytest.mark.parametrize("name", quick_first(["P2", "M3", "L1c", "constants", "cartpole", "A2", "ordered", "L2d", "scores"], QUICK))
def test_the_box_says_every_line_of_why(law_page, name):
    policy = law_policies()[name]
    page = law_page(name)
    for state in law_states(policy, 12, seed=3):
        page.evaluate("(x) => spaql.set(x, null)", state.tolist())
        settle(page)
        page.evaluate("document.querySelectorAll('#why details').forEach((one) => { one.open = true; })")
        said = plain(page.locator("#why").inner_text())
        for line in str(policy.why(state)).splitlines():
            if not line.startswith("after "):
                assert plain(line).removeprefix("and ") in said, line


@pytest.mark.parametrize(("name", "axis"), [("P2", 0), ("cartpole", 0), *(pytest.param(*one, marks=pytest.mark.slow) for one in [("scores", 0), ("L1c", 1), ("ordered many", 0)])])
def test_colours_of_the_map_follow_the_action(law_page, name, axis):
    policy = law_policies()[name]
    page = law_page(name)
    page.locator("[name=colour]").select_option(str(axis))
    settle(page)
    places, colours = page.evaluate(
        """(() => {
          const canvas = document.querySelector(".map canvas"), { data, width, height } =
            canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height), form = document.getElementById("map-form");
          const axes = [form.across, form.up].map((one) => spaql.coordinates[one.value]), places = [], colours = [];
          for (let j = 4; j < height - 4; j += 9) for (let i = 4; i < width - 4; i += 9) {
            const at = (i, j) => {
              const x = spaql.now.x.slice(), parts = [(i + 0.5) / width, 1 - (j + 0.5) / height];
              axes.forEach((one, k) => { const [a, b] = spaql.rangeOf(one); one.put(x, a + parts[k] * (b - a)); });
              return x;
            };
            const leaf = (i, j) => spaql.leafOf(spaql.tree, at(i, j)), here = leaf(i, j);
            if ([[3, 0], [-3, 0], [0, 3], [0, -3]].some(([a, b]) => leaf(i + a, j + b) !== here)) continue;  // the rim of a region
            places.push(at(i, j));
            colours.push([...data.slice(4 * (j * width + i), 4 * (j * width + i) + 3)]);
          }
          return [places, colours];
        })()"""
    )
    assert len(places) > 500
    assert len({tuple(colour) for colour in colours}) >= 2
    low, high = policy.problem.actions.bounds
    applied = policy.decide(places)[:, axis]
    if axis:
        applied = low[0] + (applied - low[axis]) / (high[axis] - low[axis]) * (high[0] - low[0])
    named = [colour_of(policy.problem.actions, one) for one in applied.tolist()]
    wanted = [[int(text[at : at + 2], 16) for at in (1, 3, 5)] for text in named]
    wrong = (np.abs(np.array(colours) - np.array(wanted)) > 2).any(axis=1)
    assert wrong.mean() < 0.002  # rounding where a finite action changes


def test_the_map_shows_which_law_is_in_charge(law_page):
    page = law_page("P2")
    before = pixels(page)
    page.locator("[name=colour]").select_option("rule")
    assert pixels(page) != before
    assert page.locator(".scale .chip").all_inner_texts() == ["Rule 1: cos < −0.08", "Rule 2: cos ≥ −0.08"]
    page.locator("[name=colour]").select_option("0")
    assert "−2 N m" in page.locator(".scale").inner_text()


def test_the_player_applies_what_the_policy_applied(law_page):
    policy = law_policies()["P2"]
    returns = policy.evaluate(1000).returns
    page = law_page("P2")
    found = page.evaluate("spaql.data.episodes[1].observations.map((x) => spaql.actionAt(x))")
    np.testing.assert_array_equal(found[:-1], policy.episode(0, int(returns.argmax())).actions)
    said = set()
    for _ in range(25):
        page.locator("[name=forward]").click()
        settle(page)
        why = policy.why(now(page))
        badge = page.locator(".strip .chip").inner_text()
        assert badge.replace("−", "-") == policy.words.action(why.action.tolist())
        strip = page.locator(".now-rule").inner_text().replace("−", "-")
        assert all(text in strip for text in (*why.rule, *why.law))
        said.add(badge)
    assert len(said) > 5  # it follows the state, not the leaf


def test_the_whole_controller_is_written_without_scripts(tmp_path):
    for name in ("P2", "L1c", "A2", "L2d"):
        policy = law_policies()[name]
        text = text_of(written(tmp_path, policy))
        for leaf in policy.rules.leaves().tolist():
            for line in policy.words.leaf_lines(leaf):
                assert text.count(signed(line)) >= 2, line  # in the tree and among the rules
    assert "one law with 13 numbers" in text_of(written(tmp_path, law_policies()["L1c"]))


def test_a_page_of_laws_has_no_actions_to_read_by_mistake(tmp_path):
    tree = data_of(written(tmp_path, law_policies()["A2"]))["tree"]
    assert tree["actions"] == []
    assert set(tree["action"]) == {-1}
    assert tree["laws"]["kind"] == "threshold"


def test_the_map_begins_with_the_variables_that_move_the_action():
    assert best_axes(law_policies()["P2"]) == [1, 2]
    assert best_axes(law_policies()["cartpole"]) == [2, 3]


def test_signs_in_sums_are_real_ones_and_names_keep_their_hyphens():
    assert signed("-x - y ≥ -2") == "−x − y ≥ −2"
    assert signed("u = clip(-x - 3·y-z + -2, -2, 2)") == "u = clip(−x − 3·y-z + −2, −2, 2)"


def test_explanations_of_a_state_on_a_test_agree(law_page):
    policy = law_policies()["P2"]
    page = law_page("P2")
    for cos in (-0.08, float(np.nextafter(-0.08, -1))):
        state = np.array([cos, 0.5, -0.1])
        compare(policy, state, page.evaluate("(x) => spaql.explain(x)", state.tolist()))
