"""The figures: everything drawn, the same bytes twice, fit for a page, and no trouble with half the data."""

import re
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest

from spaql.analysis.control_figures import learning_curve
from spaql.analysis.style import COLOURS, INK, short, thinned
from spaql.ground.errors import SpaqlError
from spaql.ground.workers import worker_processes
from spaql.learners.history import History
from spaql_studies.figures import draw_figures, drawings, prepare
from spaql_studies.paper.drawings import _angle, median_run
from spaql_studies.paper.learning import curve_of, takeover
from spaql_studies.paper.plan import LEARNERS, MAIN, SCALED, groups_of
from spaql_studies.runs.rows import run_from
from spaql_studies.study import Part, Results
from spaql_studies.tables import agents, caption_number, listed

SVG = "{http://www.w3.org/2000/svg}"
LEVELS = {"AQL": 0.1, "SPAQL": 0.7, "SPAQL-TS": 0.8, "Random": 0.1, "TRPO": 1.0}


def make_run(problem, algorithm, seed, xi=None, low=None, length=400, steps=200, level=None):
    """A run as the store would give it, with plausible numbers."""
    rng = np.random.default_rng([seed, len(algorithm), int(10 * (xi or 0))])
    level = (LEVELS[algorithm] if level is None else level) * 200
    curve = level * (1 - np.exp(-np.arange(1, length + 1) / (0.1 * length))) + rng.normal(0, 2) + 10
    angle = np.linspace(3, 8, steps + 1) + 0.2 * rng.normal(size=steps + 1)
    if problem == "cartpole":
        states = np.column_stack([angle / 10, angle, np.radians(angle), angle])
        actions = rng.integers(0, 2, steps).astype(float)
    else:
        states, actions = np.column_stack([np.cos(angle), np.sin(angle), angle]), rng.uniform(-2, 2, steps)
    trpo = algorithm == "TRPO"
    samples = (4000 if trpo else 200) * np.arange(1, length + 1)
    none, fresh = np.zeros(0), curve[-1] - 5 + rng.normal(0, 3, 10)
    return run_from({
        "key": "k", "problem": problem, "algorithm": algorithm, "xi": xi, "seed": seed, "iterations": length, "rollouts": 20,
        "episodes": 10, "options": {name: value for name, value in (("xi", xi), ("low", low)) if value is not None},
        "best_seen": float(curve[-1]), "fresh": float(fresh.mean()), "arms": None if trpo else 1000, "train_samples": int(samples[-1]),
        "eval_samples": 0 if trpo else int(20 * samples[-1]), "fresh_returns": fresh, "evaluation_curve": curve, "best_seen_curve": curve,
        "arms_curve": none if trpo else np.arange(1, length + 1), "train_samples_curve": samples,
        "eval_samples_curve": 0 * samples if trpo else 20 * samples, "temperature_curve": none,
        "episode_states": none if trpo else states.ravel(), "episode_actions": none if trpo else actions, "code": "c", "version": "0",
        "seconds": 1.0, "host": "h", "finished": "f", "python": "3", "libraries": {},
    })  # fmt: skip


def main_runs(problem, seeds=3, **more):
    return [make_run(problem, name, seed, 4.0, **more) for name in LEARNERS for seed in range(seeds)]


def make_results():
    parts = {Part("main", problem): main_runs(problem) for problem in MAIN}
    for problem in SCALED:
        parts[Part("scaling", problem)] = [
            make_run(problem, name, seed, xi, length=20)
            for name in LEARNERS
            for xi in (0.0, 0.4, 4.0, 160.0)
            for seed in (7, 8)
        ]
    for problem in MAIN:
        parts[Part("random", problem)] = [
            make_run(problem, "Random", seed, low=low) for low in (None, 0.0) for seed in range(3)
        ]
    for problem in ("pendulum", "cartpole"):
        parts[Part("trpo", problem)] = [make_run(problem, "TRPO", seed, length=50) for seed in range(2)]
    return Results(parts)


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    said, settings = [], matplotlib.rcParams.copy()
    figures = draw_figures(make_results(), tmp_path_factory.mktemp("figures"), said.append)
    assert all(matplotlib.rcParams._get(name) == settings._get(name) for name in settings), (
        "the user's settings and backend are theirs"
    )
    return figures, said


@pytest.mark.slow
def test_all_are_drawn(everything):
    figures, said = everything
    assert [figure.name for figure in figures] == list(drawings())[:12]  # the rest is not the paper
    assert said == list(drawings())
    assert [figure.name[:2] for figure in figures] == [f"{i:02}" for i in range(1, 13)]
    for figure in figures:
        assert figure.png.name == f"{figure.name}.png"
        assert figure.png.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert 1000 < figure.svg.stat().st_size < 300_000
        assert figure.title
        assert figure.caption.endswith(".")
        assert "nan" not in figure.caption


@pytest.mark.slow
def test_captions_tell_what_was_drawn(everything):
    captions = {figure.name[:2]: figure.caption for figure in everything[0]}
    assert "after 20 training episodes" in captions["01"]
    assert "mean of 2 agents each" in captions["01"]
    assert "raw reward" in captions["01"]
    assert "Pendulum, 3 agents each (SPAQL-TS with ξ = 4, " in captions["02"]
    assert "10 fresh episodes" in captions["02"]
    assert "SPAQL-TS 200" in captions["08"]
    assert "(TRPO 2)" in captions["09"]
    assert "1, 4 and 7 leaves" in captions["11"]
    assert "1, 2 and 3 balls" in captions["11"]


@pytest.mark.slow
def test_only_ink_and_the_colours_of_the_algorithms(everything):
    known = {INK, *(colour.lower() for colour in COLOURS.values())}
    for figure in everything[0]:
        text = figure.svg.read_text()
        colours = set(re.findall(r"(?:fill|stroke|color): ([^;\"]+)", text))
        assert colours <= known | {"none"}, figure.name
        root = ElementTree.fromstring(text)
        in_defs = {id(node) for defs in root.iter(f"{SVG}defs") for node in defs.iter()}
        for node in root.iter():
            if node.tag in (f"{SVG}text", f"{SVG}path", f"{SVG}use") and id(node) not in in_defs:
                assert re.search("fill: |fill-opacity: 0;", node.get("style", "")), "what has no colour is black"
    assert INK not in {colour.lower() for colour in COLOURS.values()}


@pytest.mark.parametrize("page", ["#ffffff", "#14171c"])
def test_colours_can_be_read_on_light_and_dark_pages(page):
    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        return np.dot(
            [0.2126, 0.7152, 0.0722], [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        )

    for colour in COLOURS.values():
        dark, light = sorted((luminance(colour), luminance(page)))
        assert (light + 0.05) / (dark + 0.05) >= 3.0


@pytest.mark.slow
def test_many_on_one_page(everything):
    seen = set()
    for figure in everything[0]:
        text = figure.svg.read_text()
        ids = re.findall(r'\bid="([^"]+)"', text)
        assert text.startswith("<svg ")
        assert "<style" not in text
        assert len(ids) == len(set(ids))
        assert set(re.findall(r"#([\w-]+)[)\"']", re.sub(r": #[0-9a-f]{6}", "", text))) == set(ids)
        assert not seen & set(ids)
        seen |= set(ids)
        assert "<text" in text
        assert "DejaVu Sans, Verdana, sans-serif" in text


@pytest.mark.slow
def test_same_bytes_whatever_the_users_settings(everything, tmp_path):
    before = {figure.name: figure for figure in everything[0]}
    some = Results(
        {
            name: runs
            for name, runs in make_results().parts.items()
            if name in (Part("main", "cartpole"), Part("random", "cartpole"))
        }
    )
    with matplotlib.rc_context(
        {"font.size": 20, "axes.facecolor": "black", "lines.linewidth": 9, "savefig.bbox": "tight"}
    ):
        again = draw_figures(some, tmp_path)
    assert [figure.name[:2] for figure in again] == ["07", "08", "11"]
    for figure in again:
        assert figure.png.read_bytes() == before[figure.name].png.read_bytes()
        assert figure.svg.read_bytes() == before[figure.name].svg.read_bytes()
        assert figure.caption == before[figure.name].caption


def test_nothing_but_the_domains_without_data(tmp_path):
    assert [figure.name for figure in draw_figures(Results({}), tmp_path)] == ["11-domain-of-a-ball"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["11-domain-of-a-ball.png", "11-domain-of-a-ball.svg"]


@pytest.mark.slow
def test_little_data(tmp_path):
    """One seed, one algorithm, no Random, a handful of iterations, an episode that ends early."""
    alone = [make_run("cartpole", "SPAQL", 0, 20.0, length=3, steps=7)]
    parts = {
        Part("tuned", "cartpole"): alone,
        Part("scaling", "cartpole"): alone,
        Part("trpo", "cartpole"): [make_run("cartpole", "TRPO", 0, length=1)],
    }
    figures = {figure.name[:2]: figure for figure in draw_figures(Results(parts), tmp_path)}
    assert list(figures) == ["06", "07", "08", "10", "11"]
    assert "95 %" not in "".join(figures[name].caption for name in ("06", "07", "10"))
    assert "1 agent" in figures["07"].caption
    assert "SPAQL 7" in figures["08"].caption
    assert "has not overtaken SPAQL" in figures["10"].caption
    assert not re.search(r"fill-opacity: 0\.2\b", figures["07"].svg.read_text()), "one agent has no interval"


def test_disk_errors_are_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SpaqlError, match="cannot write") as caught:
        draw_figures(Results({}), tmp_path / "file")
    assert "\n" not in str(caught.value)
    table = np.column_stack([np.arange(1.0, 6.0)] * 6)
    with pytest.raises(SpaqlError, match="cannot write"):
        learning_curve([History(table)], "SPAQL", "cartpole", tmp_path / "file" / "curve.png")


def test_learning_curve(tmp_path):
    tables = [np.column_stack([np.arange(1.0, n)] * 6) for n in (6, 9)]
    for name, histories in (("two", tables), ("one", tables[:1])):
        learning_curve([History(table) for table in histories], "AQL", "cartpole", tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 1000


def test_takeover():
    x = np.geomspace(100, 10_000, 50)
    flat = (x, np.full(50, 10.0))
    assert takeover(flat, (x, np.log10(x) * 10 - 20)) == pytest.approx(1000, rel=0.01)
    assert takeover(flat, (x, flat[1] - 1)) is None
    assert takeover(flat, (x, flat[1] + 1)) == 0.0
    assert takeover(flat, (x * 1000, flat[1] + 1)) is None, "no number of samples that both have"
    back = np.where((x > 300) & (x < 500) | (x > 2000), 11.0, 9.0)
    assert 1800 < takeover(flat, (x, back)) < 2200, "the last time counts"


def test_curves_over_samples_end_with_the_shortest_and_bridge_gaps():
    long, short_one = (
        make_run("pendulum", "SPAQL", 0, 4.0, length=100),
        make_run("pendulum", "SPAQL", 1, 4.0, length=60),
    )
    short_one.best_seen_curve[5] = np.nan
    x, values = curve_of([long, short_one], evaluation=False)
    assert (x[0], x[-1]) == (pytest.approx(200), pytest.approx(12_000))
    assert values.shape == (2, len(x))
    assert np.isfinite(values).all()
    assert curve_of([long], evaluation=True)[0][-1] == pytest.approx(21 * 20_000)


def test_what_is_shown_of_an_algorithm():
    runs = [make_run("pendulum", "SPAQL", seed, 4.0, level=level) for seed, level in enumerate((0.9, 0.1, 0.5, 0.3))]
    assert median_run(runs).seed == 3
    assert median_run(runs[:3]).seed == 2
    angle = _angle(make_run("pendulum", "SPAQL", 0, 4.0))
    assert np.abs(np.diff(angle)).max() < np.pi, "turns are counted on"
    assert angle.max() > 1.5 * np.pi
    assert list(groups_of([make_run("pendulum", "AQL", 0, xi, length=5) for xi in (0.0, 4.0)])["AQL"]) == [0.0, 4.0]


def test_words():
    assert [caption_number(value) for value in (-1234.5, -61.25, 198.72, 20000)] == [
        "−1,234",
        "−61.2",
        "198.7",
        "20,000",
    ]
    assert [short(value) for value in (0.4, 200, 4000, 81_000, 8_400_000)] == ["0.4", "200", "4 k", "81 k", "8.4 M"]
    assert (listed(["a"]), listed(["a", "b", "c"])) == ("a", "a, b and c")
    assert (agents([20, 20]), agents([3, 20]), agents([1])) == ("20 agents each", "3 to 20 agents each", "1 agent")
    assert list(thinned(5)) == [0, 1, 2, 3, 4]
    assert len(thinned(2000)) <= 300
    assert list(thinned(2000)[[0, -1]]) == [0, 1999]


@pytest.mark.slow
def test_a_second_process_draws_the_same_bytes_and_one_that_is_killed_leaves_no_gap(tmp_path):
    results = make_results()
    alone = draw_figures(results, tmp_path / "alone")
    for name, killed in (("beside", False), ("killed", True)):
        with worker_processes(1, prepare, results) as helper:
            for process in helper._processes.values() if killed else ():
                process.kill()
            together = draw_figures(results, tmp_path / name, None, helper)
        assert [(one.name, one.caption) for one in together] == [(one.name, one.caption) for one in alone]
        for one, other in zip(together, alone, strict=True):
            assert one.png.read_bytes() == other.png.read_bytes()
            assert one.svg.read_bytes() == other.svg.read_bytes()
