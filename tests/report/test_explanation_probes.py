"""Step responses and the worst episode that was found, on the page of an explanation."""

import pytest

import spaql
from browser import opened
from explained import fits
from helpers import quick_first
from law_examples import law_policies
from loops import motor
from made_explanations import data_of, text_of
from spaql.report.explanation import write_explanation


@pytest.fixture(scope="module")
def law():
    references = [spaql.Reference("target", 0.0, 150.0, of="speed", hold=(30, 60)), spaql.Reference("load", 0.0, 1.0)]
    limits = [spaql.Limit("current", high=20.0)]
    problem = spaql.loop(motor(), references=references, noise={"speed": 0.5}, limits=limits, dt=0.01)
    return spaql.law(problem, {"speed_error": 0.5})


@pytest.fixture(scope="module")
def worst(law):
    return law.falsify(300, fresh=100)


@pytest.fixture(scope="module")
def path(law, worst, tmp_path_factory):
    made = tmp_path_factory.mktemp("probed") / "page.html"
    write_explanation(law, law, made, worst)
    return made


def test_a_loop_with_references_has_a_step_response_for_each_variable_that_follows_one(path, law):
    text = text_of(path.read_text("utf-8"))
    assert "Step response of speed" in text
    assert "target from 30 to 120 rad/s" in text
    for name, words in law.step_response().rows():
        assert name in text
        assert words.replace("-", "−") in text
    assert path.read_text("utf-8").count('aria-label="Step response of') == 1  # nothing follows the load


def test_the_worst_episode_stands_beside_the_typical_one(path, worst):
    page = path.read_text("utf-8")
    assert "300 episodes were searched for the largest excess over a limit" in text_of(page)
    episodes = data_of(page)["episodes"]
    assert [one["label"] for one in episodes[:2]] == ["typical", "worst found by the search"]
    assert episodes[1]["observations"] == worst.episode.observations.tolist()


def test_the_worst_seed_of_an_environment_is_called_so(worst, tmp_path):
    gym = spaql.law(spaql.from_gym("MountainCarContinuous-v0", horizon=20, names=True), [0.0, 1.0])
    write_explanation(gym, gym, tmp_path / "page.html", gym.falsify(3))
    assert "Of 3 seeds, the one with the lowest return" in text_of((tmp_path / "page.html").read_text("utf-8"))


def test_other_problems_have_neither(tmp_path):
    policy = law_policies()["P2"]
    write_explanation(policy, policy, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert 'id="responses"' not in page
    assert 'id="worst"' not in page


@pytest.mark.parametrize("scheme", quick_first(["light", "dark"], ["light"]))
def test_in_a_browser_both_fit_and_are_drawn_in_the_colours_of_the_page(browser, path, scheme):
    with opened(browser, path, width=390, color_scheme=scheme) as page:
        fits(page)
        for section in ("#responses", "#worst"):
            drawing = page.locator(f"{section} svg").bounding_box()
            assert drawing["width"] > 300
            assert drawing["height"] > 150
        ink = page.evaluate("getComputedStyle(document.querySelector('#responses svg text')).fill")
        assert ink == page.evaluate("getComputedStyle(document.body).color")
        page.get_by_role("link", name="Step response").click()
        assert page.locator("#responses").bounding_box()["y"] < 800


def test_in_a_browser_the_player_plays_the_worst_episode(browser, path, worst):
    with opened(browser, path) as page:
        page.locator("#episode").select_option("1")
        assert "worst found by the search" in page.locator("#episode option:checked").inner_text()
        assert page.evaluate("spaql.now.x") == worst.episode.observations[0].tolist()
