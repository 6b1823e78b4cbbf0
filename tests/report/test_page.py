"""The page of the report: what it says, that it stands alone, and that nothing in the data can break it."""

import json
import math
import re
from dataclasses import replace
from itertools import chain

import pytest

from made_pages import SMALL, Reader, figure_of, sample_figures, sample_results, text_of, write_sample
from made_runs import made_part, made_results, made_run
from spaql.ground.errors import SpaqlError
from spaql.report.shell import embedded, minus
from spaql_studies.facts import curve_data, key_figures, remarks, summary
from spaql_studies.page import tables_of, write_page
from spaql_studies.parts import specs_of
from spaql_studies.study import QUICK, Effort, Part, Results

NASTY = '</script><script>alert("x")</script>&\u2028<b>'


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return write_sample(tmp_path_factory.mktemp("page")).read_text("utf-8")


@pytest.fixture(scope="module")
def read(page):
    return Reader(page)


# -- one file that stands alone ------------------------------------------------------------------------------------------------------


def test_page_needs_nothing_but_itself(page, read):
    assert all(value.startswith("data:") for value in read.all("src"))
    links = [value for value in read.all("href") + read.all("xlink:href") if not value.startswith(("#", "data:"))]
    assert {link for link in links if "://" in link} == {"https://arxiv.org/abs/2011.02141"}
    assert "@import" not in page
    assert "default-src 'none'" in page
    assert len(page.encode()) < 5_000_000


def test_ids_are_unique_and_links_inside_lead_somewhere(read):
    ids = read.all("id")
    assert len(ids) == len(set(ids))
    for name in ("href", "xlink:href", "aria-labelledby"):
        for value in read.all(name):
            if name == "aria-labelledby" or value.startswith("#"):
                assert value.removeprefix("#") in ids
    for value in re.findall(r"url\(#([^)]+)\)", str(read.elements)):
        assert value in ids


def test_tables_and_pictures_say_what_they_are(read):
    names = [tag for tag, _ in read.elements]
    assert names.count("caption") == names.count("table") > 5
    assert all("scope" in attrs for tag, attrs in read.elements if tag == "th")
    pictures = [attrs for tag, attrs in read.elements if tag == "svg"]
    assert len(pictures) == 2
    assert all(attrs["role"] == "img" for attrs in pictures)


def test_sections_are_there_in_the_order_of_reading(page):
    places = [
        page.index(f'id="{name}"')
        for name in ("tables", "claims", "learning", "figures", "further", "seeds", "repeat", "cite")
    ]
    assert places == sorted(places)


def test_the_same_results_give_the_same_page(tmp_path, page):
    assert write_sample(tmp_path).read_text("utf-8").replace(str(tmp_path), "") == re.sub(r"/[^'\s]*/page0", "", page)


# -- what it says --------------------------------------------------------------------------------------------------------------------


def test_summary_counts_runs_samples_time_and_verdicts():
    results = sample_results()
    told = summary(results, tables_of(results))
    assert (
        told
        == "72 runs with 708 million samples, 72 s of computing time: 7 of 10 published returns reproduced, 3 better."
    )
    assert key_figures(results, tables_of(results))[3] == ("7 of 10", "published returns reproduced")


def test_verdicts_have_a_sign_beside_the_words(page):
    for sign, word in (("✓", "reproduced"), ("▲", "differs: better"), ("✓", "holds")):
        assert f'<span aria-hidden="true">{sign}</span> {word}</span>' in page
    assert "cause unknown" in page


def test_reasons_stand_below_their_verdict(page):
    assert '<span class="why">cause unknown' in page
    assert 'data-head="why"' not in page


def test_every_table_is_there_with_links_to_its_files(page, read):
    for table in chain(*tables_of(sample_results()).values()):
        assert f'id="table-{table.name}"' in page
        assert f"tables/{table.name}.csv" in read.all("href")


def test_figures_have_numbers_captions_and_links_to_their_files(page, read):
    assert "Figure 2. Made &amp; drawn 2." in page
    assert "<code>x</code> &lt; y" in page
    assert {"figures/01-made.png", "figures/01-made.svg"} <= set(read.all("href"))


def test_every_agent_is_listed(page):
    seeds = page[page.index('id="seeds"') : page.index('id="repeat"')]
    run = sample_results().runs("main", "pendulum", "SPAQL")[2]
    assert f'<th scope="row">2</th><td>{minus(f"{run.best_seen:,.2f}")}</td>' in seeds
    assert seeds.count("<details>") == 5 + 3 + 6


def test_repeating_needs_command_versions_and_seeds(page):
    part = page[page.index('id="repeat"') :]
    for words in (
        "spaql reproduce --store out",
        "1 January 2026, 00:00",
        "0–3",
        "100000–100003",
        "pandas.read_parquet(",
        "/*.parquet",
        "here",
    ):
        assert words in part


def test_quick_runs_say_what_that_means(tmp_path):
    parts = dict.fromkeys((Part("main", "cartpole"), Part("random", "cartpole")), figure_of)
    results = made_results(parts, QUICK)
    results = replace(results, plans={part: {"quick": True, "command": "spaql reproduce --quick"} for part in parts})
    told = dict(remarks(results))
    assert "300 training episodes instead of 2,000, 5 agents instead of 20" in told["A quick look"]
    assert summary(results, tables_of(results)).endswith("1 of 4 published returns reproduced, 3 not comparable.")
    assert "not comparable" in text_of(tmp_path, results)


def test_remarks_name_what_is_missing_borrowed_tuned_and_not_run():
    told = dict(remarks(sample_results(missing={Part("main", "cartpole"): 7, Part("random", "pendulum"): 1})))
    assert told["8 runs missing"].startswith("CartPole: main runs (7) and Pendulum: random policies (1).")
    assert "Pendulum and CartPole (4 agents each)" in told["TRPO was not computed here"]
    assert "Pendulum with scaled reward: main runs" in told["Not the whole paper"]
    assert "4 agents instead" in told["Fewer agents"]
    tuned = Results(
        {
            Part("tuned", "cartpole"): [
                made_run(spec, *figure_of(spec)) for spec in specs_of(Part("main", "cartpole"), SMALL)
            ]
        }
    )
    assert "ξ from our own study" in dict(remarks(tuned))


@pytest.mark.parametrize(
    "parts",
    [
        [Part("scaling", "cartpole")],
        [Part("random", "pendulum")],
        [Part("main", "pendulum-scaled")],
        [Part("trpo", "cartpole")],
        [],
    ],
)
def test_parts_of_the_paper_make_a_page_too(tmp_path, parts):
    text = text_of(tmp_path, Results({part: made_part(part, figure_of, Effort(seeds=2)) for part in parts}))
    Reader(text)
    assert 'id="repeat"' in text


def test_one_agent_has_no_interval(tmp_path):
    results = Results({Part("main", "cartpole"): made_part(Part("main", "cartpole"), figure_of, Effort(seeds=1))})
    assert curve_data(results)[0]["series"][0]["curves"]["train"]["best_seen"][1] is None
    write_page(results, {}, [], tmp_path / "report.html")
    Reader((tmp_path / "report.html").read_text("utf-8"))


# -- nothing in the data breaks it ---------------------------------------------------------------------------------------------------


def test_hosts_commands_and_names_are_shown_not_obeyed(tmp_path):
    results = sample_results()
    parts = {
        part: [replace(run, host=NASTY, python=NASTY, finished=NASTY) for run in runs]
        for part, runs in results.parts.items()
    }
    plan = {"command": f"spaql reproduce --store {NASTY}", "written": NASTY}
    figures = [replace(figure, title=NASTY, caption=NASTY) for figure in sample_figures(tmp_path / "figures", 1)]
    text = text_of(tmp_path, replace(results, parts=parts, plans={Part("main", "cartpole"): plan}), figures)
    read = Reader(text)
    assert sum(tag == "script" for tag, _ in read.elements) == 4
    assert not any(tag == "b" for tag, _ in read.elements)
    assert "alert" not in "".join(read.scripts)
    assert "&lt;/script&gt;" in text


def test_embedded_data_cannot_leave_its_element():
    text = str(embedded({"a": NASTY, "b": "<!--"}))
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"a": NASTY, "b": "<!--"}
    with pytest.raises(ValueError, match="JSON"):
        embedded(math.nan)


def test_a_page_that_cannot_be_written_says_so(tmp_path):
    with pytest.raises(SpaqlError, match="cannot write"):
        write_page(sample_results(), {}, [], tmp_path / "nowhere" / "report.html")
