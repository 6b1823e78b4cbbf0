"""A few laws: controllers that fit on a slide, for nine problems.

The environments of MuJoCo and Box2D need extras; their runs come with the package.
"""

from spaql.analysis.style import short
from spaql.learners.registry import learners
from spaql.plants.catalog import CATALOG
from spaql_studies import benchmark
from spaql_studies.study import Experiment, Published, Results, Section, Study, terminal_view
from spaql_studies.tables import Column, Row, Table, span

QUICK_SHARE = 0.02  # of many samples, for a quick look
MANY_SAMPLES = 10**6
SEARCHER = next(card.name for card in learners() if card.simulator)


def _slide(problem: str, leaves: int, samples: int) -> benchmark.Contender:
    """At most so many laws, after so many samples."""
    quick = samples if samples < MANY_SAMPLES else int(QUICK_SHARE * samples)
    fresh = benchmark.FRESH if problem in CATALOG else benchmark.FRESH_IN_PYTHON
    options = (("max_leaves", leaves),)
    return benchmark.Contender(problem, SEARCHER, (samples,), (quick,), options, fresh=fresh, most_seeds=10)


SIZES = {  # laws at most, and samples
    "pendulum": ((2, 180_000_000), (8, 1_200_000_000)),
    "cartpole-500": ((1, 100_000_000),),
    "cartpole-swing-up": ((3, 200_000_000),),
    "mountain-car": ((2, 200_000_000),),
    "mountain-car-continuous": ((3, 1_500_000_000),),
    "acrobot": ((2, 300_000_000),),
    "InvertedPendulum-v5": ((1, 20_000),),
    "InvertedDoublePendulum-v5": ((1, 20_000),),
    "LunarLanderContinuous-v3": ((1, 1_500_000),),
    "LunarLander-v3": ((1, 1_500_000),),
}
SLIDES = {problem: [_slide(problem, *size) for size in sizes] for problem, sizes in SIZES.items()}
COMPILED = tuple(name for name in SLIDES if name in CATALOG)
MUJOCO = ("InvertedPendulum-v5", "InvertedDoublePendulum-v5")
BOX2D = ("LunarLanderContinuous-v3", "LunarLander-v3")


def _experiment(name: str, problems: tuple[str, ...], published: Published | None = None) -> Experiment:
    tasks = {problem: SLIDES[problem] for problem in problems}
    return benchmark.benchmark(name, "a few laws", tasks, published=published)


def _elsewhere(name: str, module: str, problems: tuple[str, ...]) -> Experiment:
    """Environments that need an extra."""
    need, label = f"the environments of {name} need", f"{name} as published"
    return _experiment(name, problems, Published(module, need, label, beside=("laws",), extra=name))


EXPERIMENTS = (
    _experiment("laws", COMPILED),
    _elsewhere("mujoco", "mujoco", MUJOCO),
    _elsewhere("box2d", "Box2D", BOX2D),
)
ROW = (
    "agents", "fresh", "fresh_half_width", "worst_agent", "worst_episodes", "leaves", "numbers", "samples",
    "cpu_seconds", "episodes", "typical_seed", "typical_fresh", "controller",
)  # fmt: skip


def law_tables(results: Results) -> list[Table]:
    """What was reached, the controllers, and others beside it."""
    names = (experiment.name for experiment in EXPERIMENTS)
    rows: list[Row] = [
        {"problem": problem, "at_most": dict(size.options)["max_leaves"]} | benchmark.figures_of(runs, *ROW)
        for problem, size, runs in benchmark.groups_of(results, SLIDES, *names)
    ]
    if not rows:
        return []
    columns = (
        benchmark.PROBLEM,
        Column.count("laws at most", "at_most"),
        *benchmark.columns_of("agents"),
        Column.number("fresh return", "fresh", 1),
        *benchmark.columns_of("worst_agent worst_episodes"),
        Column.count("laws", "leaves"),
        *benchmark.columns_of("numbers"),
        Column("samples", lambda row: short(row["samples"])),
        *benchmark.columns_of("cpu_seconds"),
    )
    note = (
        "All samples are counted, those of tidying and confirmation included, except the "
        f"{span(row['episodes'] for row in rows)} fresh episodes on which each agent is evaluated. Numbers: how many "
        "the printed controller contains. CPU seconds: learning, without compiling."
    )
    printed = "The controllers, as they are printed"
    return [
        Table("laws", "A few laws: what they reach", columns, rows, (note,)),
        benchmark.controllers_table("laws-controllers", printed, (benchmark.PROBLEM,), rows),
        benchmark.beside_others("laws-others", "problem who return source", rows, _beside, 1, "start states, episodes"),
    ]


def _beside(problem: str, rows: list[Row]) -> list[Row]:
    """Ours and published ones, the highest return first."""
    lines = benchmark.published_of(problem, "laws")
    for row in rows:
        who = f"spaql: {benchmark.plural(row['leaves'], 'law')}, {benchmark.plural(row['numbers'], 'number')}"
        source = f"mean of {row['agents']} agents, worst {row['worst_agent']:,.1f}"
        lines.insert(0, benchmark.line_of(problem, who, row["samples"], row["fresh"], "", source))
    return sorted(lines, key=lambda line: -line["fresh"])


WORDS = (
    "Trees of one to eight affine laws, searched for on the plant: tests and laws are weighted sums of the observed "
    "variables, with numbers of one or two digits. Seeds were not used for tuning, and all agents count, not only the "
    "best one."
)
STUDY = Study(
    "laws",
    experiments=EXPERIMENTS,
    tables=law_tables,
    sections=(Section("laws", "A few laws", WORDS, tables=None),),
    in_terminal=terminal_view(hidden=("laws-controllers",), narrow=("agents", "worst 5 %", "CPU")),
)
