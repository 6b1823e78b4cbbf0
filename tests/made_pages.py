"""Pages of results made by hand, and a reader that finds in them what a browser would."""

import math
from dataclasses import replace
from html.parser import HTMLParser

from made_runs import made_results
from spaql.analysis.style import sheet
from spaql_studies.figures import Figure, save
from spaql_studies.page import tables_of, write_page
from spaql_studies.study import Effort, Part

SMALL = Effort(seeds=4)
COMPUTED = (
    Part("scaling", "pendulum"),
    Part("main", "pendulum"),
    Part("main", "pendulum-5"),
    Part("main", "cartpole"),
    Part("random", "pendulum"),
    Part("random", "cartpole"),
)
PUBLISHED = (Part("trpo", "pendulum"), Part("trpo", "cartpole"))


def figure_of(spec):
    """Agents around the published values: best seen, fresh."""
    means = {"AQL": 22.40, "SPAQL": 192.57, "SPAQL-TS": 198.53, "Random": 22.15, "TRPO": 197.27}
    if spec.problem != "cartpole":
        means = {"AQL": -1180.0, "SPAQL": -520.0, "SPAQL-TS": -610.0, "Random": -1340.0, "TRPO": -170.0}
    best = means[spec.algorithm] + math.sin(1.0 + spec.seed)
    return best, best - 5.0


def sample_results(**changes):
    """A small whole: both problems with TRPO as published, a scaling study, plans as the store keeps them."""
    made = made_results(dict.fromkeys((*COMPUTED, *PUBLISHED), figure_of), SMALL)
    study = {COMPUTED[0]: [run for run in made.parts[COMPUTED[0]] if run.xi in (0.0, 4.0)]}
    plan = {"command": "spaql reproduce --store out", "quick": False, "written": "2026-01-01T00:00:00+00:00"}
    told = {"parts": made.parts | study, "plans": dict.fromkeys(COMPUTED, plan), "published": frozenset(PUBLISHED)}
    return replace(made, **(told | changes))


def sample_figures(folder, count=2):
    folder.mkdir(exist_ok=True)
    drawn = []
    for place in range(1, count + 1):
        with sheet(2.0, 5.0 if place == 2 else 7.2) as figure:
            axis = figure.subplots()
            axis.plot([0, 1, 2], [1, place, 3])
            axis.set_title("a < b")
            png, svg = save(figure, folder, f"{place:02d}-made", f"Made & drawn {place}")
        drawn.append(
            Figure(f"{place:02d}-made", f"Made & drawn {place}", "What to notice: `x` < y.", png, svg, "paper")
        )
    return drawn


def write_sample(folder, results=None, figures=None):
    """DIR/report.html as `spaql reproduce` leaves it."""
    results = sample_results() if results is None else results
    path = folder / "report.html"
    write_page(results, tables_of(results), sample_figures(folder / "figures") if figures is None else figures, path)
    return path


def text_of(folder, results, figures=()):
    return write_sample(folder, results, list(figures)).read_text("utf-8")


class Reader(HTMLParser):
    """What a browser would find: ids, links, tables, and whether every element is closed."""

    VOID = ("meta", "link", "input", "img", "br")

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.scripts = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)

    def all(self, name):
        return [value for _, attrs in self.elements if (value := attrs.get(name)) is not None]
