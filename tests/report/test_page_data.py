"""What goes into a page: curves, vector graphics, numbers in words."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from made_pages import SMALL, Reader, figure_of, sample_figures, sample_results, text_of
from made_runs import made_part, made_run
from spaql.analysis.style import INK
from spaql.ground.errors import SpaqlError
from spaql.report.shell import coded, embedded, inline_svg, inlined, minus, plain
from spaql_studies.facts import MOST_LINES, MOST_POINTS, curve_data, spaced
from spaql_studies.page import MOST_ROWS
from spaql_studies.paper.plan import random_runs
from spaql_studies.parts import specs_of
from spaql_studies.study import Part, Results
from spaql_studies.tables import duration, large, moment, period, ranges

# -- curves --------------------------------------------------------------------------------------------------------------------------


def test_curves_are_the_means_of_the_agents(tmp_path):
    read = Reader(text_of(tmp_path, sample_results()))
    (problems,) = [json.loads(text) for text in read.scripts if text.startswith("[{")]
    assert [problem["name"] for problem in problems] == ["pendulum", "pendulum-5", "cartpole"]
    series = {one["label"]: one for one in problems[2]["series"]}
    assert list(series) == ["AQL", "SPAQL", "SPAQL-TS", "Random", "TRPO"]
    runs = sample_results().runs("main", "cartpole", "SPAQL")
    mean, half = series["SPAQL"]["curves"]["iterations"]["best_seen"]
    assert mean == pytest.approx(np.mean([run.best_seen_curve for run in runs], axis=0), rel=1e-5)
    assert half[-1] == pytest.approx(3.182 * np.std([run.best_seen for run in runs], ddof=1) / 2, rel=1e-3)
    assert series["TRPO"]["curves"].keys() == {"train", "all"}
    assert "arms" not in series["TRPO"]["curves"]["train"]
    assert series["Random"]["level"][0] == pytest.approx(
        np.mean([run.fresh for run in random_runs(sample_results(), "cartpole")]), rel=1e-5
    )
    assert series["SPAQL"]["paper"] == {"best_seen": [192.57, 0.94], "arms": [557.75, 55.10]}


def test_curves_over_samples_run_from_the_last_start_to_the_first_end():
    spec = specs_of(Part("main", "cartpole"), SMALL)[-1]
    runs = [made_run(spec, 100.0, 90.0, samples=1000, points=10), made_run(spec, 200.0, 90.0, samples=3000, points=10)]
    curve = curve_data(Results({Part("main", "cartpole"): runs}))[0]["series"][0]["curves"]["train"]
    assert (curve["x"][0], curve["x"][-1]) == (300, 1000)
    # at 1000 samples the first agent is at its end, the second a third of the way from its third to its fourth evaluation
    assert curve["best_seen"][0][-1] == pytest.approx((100.0 + 150.0 + 50.0 * (2 + 1 / 3) / 9) / 2, rel=1e-5)


def test_long_curves_and_many_agents_are_thinned(tmp_path):
    spec = specs_of(Part("main", "cartpole"), SMALL)[0]
    runs = [made_run(replace(spec, seed=seed), 100.0 + seed, 90.0, points=2000) for seed in range(150)]
    results = Results({Part("main", "cartpole"): runs})
    series = curve_data(results)[0]["series"][0]
    assert max(len(curve["x"]) for curve in series["curves"].values()) <= MOST_POINTS
    assert len(series["lines"]["best_seen"]) == MOST_LINES
    text = text_of(tmp_path, results)
    assert text.count('<th scope="row">') < MOST_ROWS + 20
    assert "50 more are in the store" in text


def test_what_is_no_number_is_left_out():
    runs = made_part(Part("trpo", "cartpole"), figure_of, SMALL)
    broken = [replace(run, best_seen_curve=np.where(np.arange(5) == 0, np.nan, run.best_seen_curve)) for run in runs]
    results = Results(
        {
            Part("main", "cartpole"): made_part(Part("main", "cartpole"), figure_of, SMALL),
            Part("trpo", "cartpole"): broken,
        }
    )
    trpo = next(one for one in curve_data(results)[0]["series"] if one["label"] == "TRPO")
    assert trpo["curves"]["train"]["best_seen"][0][0] is None
    assert "NaN" not in embedded(curve_data(results))
    assert plain([math.inf, 1.0, 123456789.0, 0.12345678]) == [None, 1, 123457000, 0.123457]


def test_points_lie_close_on_both_kinds_of_axis():
    for first, last in ((0, 0), (1, 1), (0, 3), (1, 2000), (4000, 400_000)):
        found = spaced(first, last)
        assert (found[0], found[-1]) == (first, last)
        assert len(found) <= MOST_POINTS
    assert set(range(1, 8)) <= set(spaced(1, 2000).tolist())


# -- figures inside the page ---------------------------------------------------------------------------------------------------------

RAW = f"""<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<svg xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 360 100" xmlns="http://www.w3.org/2000/svg" width="360pt" height="100pt">
 <metadata>made</metadata><script>alert(1)</script><defs><style type="text/css">*{{stroke-linejoin: round}}</style>
 <clipPath id="p"><rect width="1" height="1"/></clipPath><path id="m" d="M0,0"/></defs>
 <g id="axes" clip-path="url(#p)" style="stroke: {INK.upper()}" onclick="alert(1)"><use xlink:href="#m"/><text>a &lt; b</text></g></svg>"""


def test_figures_take_the_colour_of_the_page_and_keep_to_themselves():
    one, two = (str(inline_svg(RAW, prefix, "A <b> title")) for prefix in ("g1", "g2"))
    assert one.startswith("<svg")
    assert INK.lower() not in one.lower()
    assert "currentColor" in one
    assert not any(word in one for word in ("alert", "metadata", "DOCTYPE", "onclick", 'width="360pt"', "ns0:"))
    assert 'clip-path="url(#g1-p)"' in one
    assert 'xlink:href="#g1-m"' in one
    assert "#g1 *{" in one
    assert ">A &lt;b&gt; title</title>" in one
    assert "--size: 0.694" in one
    assert not set(re.findall(r' id="([^"]+)"', one)) & set(re.findall(r' id="([^"]+)"', two))


def test_figures_that_are_too_large_go_in_as_pictures(tmp_path, monkeypatch):
    figures = [(figure.svg, figure.png, figure.title) for figure in sample_figures(tmp_path)]
    monkeypatch.setattr("spaql.report.shell.MOST_BYTES", len(figures[1][0].read_bytes()) + 10)
    made = [str(one) for one in inlined(figures)]
    assert sorted(one[:4] for one in made) == ["<img", "<svg"]
    assert 'alt="Made &amp; drawn' in next(one for one in made if one.startswith("<img"))


def test_a_damaged_or_missing_figure_is_named(tmp_path):
    with pytest.raises(SpaqlError, match="'Fig' is no SVG"):
        inline_svg("<svg", "g", "Fig")
    with pytest.raises(SpaqlError, match="cannot read the figure"):
        inlined([(tmp_path / "no.svg", tmp_path / "no.png", "Fig")])


# -- words ---------------------------------------------------------------------------------------------------------------------------


def test_numbers_and_times_are_said_as_people_write_them():
    assert ranges([0, 1, 2, 5, 7, 8]) == "0–2, 5, 7–8"
    assert ranges(range(0, 40, 2)).endswith("and 14 more ranges")
    assert [duration(seconds) for seconds in (0.26, 45, 600, 9000)] == ["0.3 s", "45 s", "10 min", "2.5 h"]
    assert [large(count) for count in (950, 2_345_678, 3.51e9)] == ["950", "2.35 million", "3.51 billion"]
    assert moment("2026-11-15T05:52:04+00:00") == "15 November 2026, 05:52"
    assert moment("yesterday") == "yesterday"
    assert period(["2026-11-15T05:52:04+00:00", "2026-11-15T06:10:00+00:00"]) == "15 November 2026, 05:52 to 06:10"
    assert period(["2026-11-15T05:52:04+00:00", "2026-11-16T06:10:00+00:00"]).endswith("to 16 November 2026, 06:10")
    assert minus("-1.5 ± 2, p = 1e-06, 0-3, [-2, 2]") == "−1.5 ± 2, p = 1e-06, 0-3, [−2, 2]"
    assert coded("`a<b` of SPAQL-TS") == '<code>a&lt;b</code> of <span class="one">SPAQL-TS</span>'
