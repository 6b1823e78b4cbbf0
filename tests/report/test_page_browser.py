"""The page of the report in a real browser: on a telephone, in print, with the keyboard, in the dark, and without scripts."""

import re

import pytest

from browser import opened, overflow
from helpers import quick_first
from made_pages import write_sample

PHONE, DESK = 390, 1280
LINES = "#curves .mean path"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_sample(tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="module")
def window(browser, path):
    with opened(browser, path) as page:
        yield page


@pytest.fixture
def page(window):
    """The page as it opens, in the same window for all tests."""
    window.mouse.move(0, 0)
    window.evaluate("localStorage.clear()")
    window.reload()
    return window


def series(page):
    return [line.get_attribute("data-series") for line in page.locator(LINES).all()]


def choose(page, name, value):
    page.locator(f"#curves input[name={name}][value={value}]").check()


def tick(page, name, on=True):
    page.locator(f"#curves input[name={name}]").set_checked(on)


def labelled(page, text):
    """The switch of an algorithm."""
    return page.locator("#curves .legend li").filter(has_text=re.compile(rf"^{text}\d")).locator("input")


def values(page):
    return page.locator("#curves output").all_inner_texts()


# -- the page as a whole -------------------------------------------------------------------------------------------------------------


def test_page_fits_its_window_and_complains_about_nothing(browser, path):
    for scheme in ("light", "dark"):
        with opened(browser, path, width=PHONE, color_scheme=scheme) as page:
            assert overflow(page) <= 0
            page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            for width in (PHONE, 320, 768, DESK):
                page.set_viewport_size({"width": width, "height": 800})
                assert overflow(page) <= 0


def test_tables_show_their_verdicts(page):
    table = page.get_by_role("table", name="CartPole: return after")
    assert table.get_by_role("row", name="SPAQL-TS").get_by_text("✓ reproduced").is_visible()
    assert page.locator("#table-pendulum .verdict", has_text="▲ differs: better").count() == 3
    assert page.locator("#table-claims .verdict").count() > 3


def test_on_a_telephone_rows_are_cards_with_the_verdict_below_the_name(browser, path):
    with opened(browser, path, width=PHONE) as page:
        row = page.locator("#table-pendulum tbody tr").first
        name, verdict, first = (row.locator(which).bounding_box() for which in ("th", ".judged", "td[data-head=agents]"))
        assert name["y"] < verdict["y"] < first["y"]
        assert row.get_by_role("cell").count() > 5  # though it is no longer laid out as a table


def test_figures_are_drawn_in_the_colour_of_the_text(page):
    drawn = page.locator("#figures svg[role=img]")
    assert drawn.count() == 2
    assert all(drawing.bounding_box()["width"] > 300 for drawing in drawn.all())
    ink = "(svg) => getComputedStyle(svg.querySelector('text')).fill"
    assert drawn.first.evaluate(ink) == page.evaluate("getComputedStyle(document.body).color")


# -- learning curves -----------------------------------------------------------------------------------------------------------------


def test_switching_an_algorithm_off_removes_its_line_and_on_brings_it_back(page):
    before = series(page)
    assert before == ["AQL", "SPAQL", "SPAQL-TS", "Random, torque in [0, 2]", "Random, whole range"]
    labelled(page, "SPAQL").uncheck()
    assert series(page) == [name for name in before if name != "SPAQL"]
    assert page.locator("#curves .band path[data-series=SPAQL]").count() == 0
    page.locator("select[name=problem]").select_option("pendulum-5")
    assert "SPAQL" not in series(page)  # the choice holds for the other problems too
    labelled(page, "SPAQL").check()
    assert "SPAQL" in series(page)


def test_hovering_reads_off_the_values(page):
    readout, plot = page.locator("#curves .readout"), page.locator("#curves .plot")
    assert readout.inner_text() == "At the end of training"
    assert page.locator(".hand circle").count() == 0
    at_the_end = values(page)
    box = plot.bounding_box()
    plot.hover(position={"x": box["width"] * 0.3, "y": 100})
    assert re.fullmatch(r"At \d training episodes", readout.inner_text())
    assert page.locator(".hand circle").count() == 5
    assert values(page) != at_the_end
    page.mouse.move(0, 0)
    assert values(page) == at_the_end


def test_arrow_keys_read_off_the_values(page):
    plot = page.locator("#curves .plot")
    plot.focus()
    for _ in range(3):
        page.keyboard.press("PageUp")
    assert page.locator(".hand circle").count() == 5
    told = plot.get_attribute("aria-valuetext")
    assert re.match(r"At \d training episodes: AQL −1,\d{3}\.\d ± ", told)
    page.keyboard.press("End")
    assert plot.get_attribute("aria-valuetext") != told
    page.keyboard.press("Escape")
    assert page.locator("#curves .readout").inner_text() == "At the end of training"


def test_trpo_is_there_over_samples_and_arms_on_a_logarithmic_axis(page):
    assert labelled(page, "TRPO").is_disabled()
    choose(page, "axis", "train")
    assert "TRPO" in series(page)
    assert page.locator("#curves input[name=logy]").is_disabled()  # returns below zero have no logarithm
    choose(page, "metric", "arms")
    assert series(page) == ["AQL", "SPAQL", "SPAQL-TS"]
    assert page.locator("#curves input[name=logy]").is_checked()
    before = page.locator(LINES).first.get_attribute("d")
    tick(page, "logy", False)
    assert page.locator(LINES).first.get_attribute("d") != before


def test_single_agents_and_the_papers_values_can_be_shown(page):
    assert page.locator("#curves .told g").count() == 4
    tick(page, "paper", False)
    assert page.locator("#curves .told g").count() == 0
    tick(page, "lines")
    assert page.locator("#curves .agent path").count() == 3 * 4
    for name in ("train", "all"):
        choose(page, "axis", name)
        assert page.locator("#curves .agent path").count() == 4 * 4
        assert "NaN" not in page.locator("#curves .plot").inner_html()


def test_no_algorithm_at_all_is_no_error(page):
    for box in page.locator("#curves .legend input:enabled").all():
        box.uncheck()
    assert "Nothing is switched on" in page.locator("#curves .plot").text_content()
    page.locator("#curves .plot").hover()


# -- keyboard, theme, sorting --------------------------------------------------------------------------------------------------------


def test_everything_to_operate_is_reached_with_the_keyboard(page):
    reached = set()
    for _ in range(150):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("(() => { const e = document.activeElement; return e.id || e.name || e.className || e.tagName; })()"))
        if page.evaluate("document.activeElement.closest('#cite') !== null"):
            break
    assert {"theme", "problem", "metric", "axis", "logx", "lines", "paper", "plot", "SUMMARY"} <= reached


def test_boxes_are_stops_of_the_keyboard_only_while_they_scroll(page):
    box = page.locator("#table-scaling .scroll")
    assert box.get_attribute("tabindex") is None
    page.set_viewport_size({"width": PHONE, "height": 800})
    page.wait_for_function("document.querySelector('#table-scaling .scroll').tabIndex === 0")
    page.set_viewport_size({"width": DESK, "height": 900})


def test_focus_is_visible(page):
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_theme_button_changes_the_colours_of_page_and_figures(page):
    colours = """[getComputedStyle(document.body).backgroundColor,
                  getComputedStyle(document.querySelector("#figures svg text")).fill]"""
    before = page.evaluate(colours)
    button = page.get_by_role("button", name="Dark page")
    button.press("Enter")
    after = page.evaluate(colours)
    assert all(one != other for one, other in zip(before, after, strict=True))
    page.get_by_role("button", name="Light page").click()
    assert page.evaluate(colours) == before


def test_dark_systems_get_a_dark_page(browser, path):
    with opened(browser, path, color_scheme="dark") as page:
        assert page.get_by_role("button", name="Light page").is_visible()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"


def test_agents_can_be_unfolded_and_sorted(page):
    block = page.locator("#seeds details").first
    table = block.locator("table")
    assert not table.is_visible()
    block.locator("summary").press("Enter")
    assert table.is_visible()

    def column(place):
        cells = table.locator(f"tbody tr > :nth-child({place})").all_inner_texts()
        return [float(cell.replace(",", "").replace("−", "-")) for cell in cells]

    assert column(1) == [0, 1, 2, 3]
    head = table.get_by_role("button", name="best seen")
    head.press("Enter")
    assert column(2) == sorted(column(2))
    assert column(1) != [0, 1, 2, 3]
    assert table.locator("th[aria-sort=ascending]").count() == 1
    head.click()
    assert column(2) == sorted(column(2), reverse=True)
    table.get_by_role("button", name="seed").click()
    assert column(1) == [0, 1, 2, 3]


# -- without scripts, on paper -------------------------------------------------------------------------------------------------------


def test_without_scripts_tables_and_figures_are_there(browser, path):
    with opened(browser, path, width=PHONE, java_script_enabled=False) as page:
        assert page.locator("#table-cartpole").is_visible()
        assert page.locator("#figures svg").first.is_visible()
        assert page.locator("noscript p").is_visible()
        assert not page.locator("#curves").is_visible()
        assert not page.locator("#theme").is_visible()
        page.locator("#seeds summary").first.click()
        assert page.locator("#seeds table").first.is_visible()


@pytest.mark.parametrize("scheme", quick_first(["light", "dark"], ["light"]))
def test_paper_gets_black_on_white_without_controls(browser, path, scheme):
    with opened(browser, path, width=720, color_scheme=scheme) as page:
        page.emulate_media(media="print", color_scheme=scheme)
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert not any(page.locator(one).first.is_visible() for one in ("#theme", ".controls", "nav", ".legend input"))
        assert page.locator("#curves .plot svg").is_visible()
        assert page.locator("#seeds table").last.is_visible()
        assert page.evaluate("getComputedStyle(document.querySelector('figure')).breakInside") == "avoid"
        assert overflow(page) <= 0
        page.emulate_media(media="screen")
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert not page.locator("#seeds table").last.is_visible()


def test_page_can_be_printed(page):
    assert page.pdf(format="A4").startswith(b"%PDF")
