"""Other people's plants: what SPAQL, Laws and Atlas reach on them with default settings.

Default settings throughout, but that Atlas is asked for laws. Samples are such that a learner takes a minute or two: a
step of MuJoCo or Box2D costs 0.1 ms, one of dm_control or an electric motor 0.3 ms, one of pc-gym 1.2 ms. Laws of Atlas
took 32 s on the inverted pendulum, 59 s on the CSTR, and 118 s on the cart-pole of dm_control, whose episodes have
1,000 steps; the other plants were not timed when this was written.
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

from spaql_studies import benchmark
from spaql_studies.foreign.plants import PLANTS, TRIED
from spaql_studies.runs.rows import Run
from spaql_studies.study import Results, Section, Study, lengths_of, terminal_view
from spaql_studies.tables import NOTHING, Column, Row, Table, span

ROLLOUTS = 20  # of SPAQL after every training episode: those of `from_gym` by default
QUICK_FRESH = 5


class Entrant(NamedTuple):
    """A learner: its settings, the rollouts after every iteration, and the samples of a quick look."""

    options: benchmark.Options
    rollouts: int
    quick: int


ENTRANTS = {
    "SPAQL": Entrant((), ROLLOUTS, 2_000),
    "Laws": Entrant((), 0, 2_000),
    "Atlas": Entrant((("controller", "laws"),), 0, 120),
}


def tasks_of(name: str, budgets: Sequence[int], fresh: int) -> list[benchmark.Contender]:
    """The entrants on a plant with so many samples each, and so many fresh episodes."""
    plant = PLANTS[name]
    return [
        benchmark.Contender(
            plant.env_id, learner, (samples,), (min(entrant.quick, samples),), entrant.options,
            parameters=json.dumps(plant.options, sort_keys=True), fresh=(fresh, QUICK_FRESH),
            rollouts=entrant.rollouts, most_seeds=10, quick_seeds=1,
        )
        for (learner, entrant), samples in zip(ENTRANTS.items(), budgets, strict=True)
    ]  # fmt: skip


TASKS = {
    name: tasks_of(name, budgets, fresh)
    for name, budgets, fresh in (
        ("InvertedPendulum-v5", (100_000, 20_000, 200), 100),
        ("InvertedDoublePendulum-v5", (100_000, 50_000, 500), 100),
        ("Reacher-v5", (100_000, 100_000, 500), 100),
        ("LunarLander-v3", (100_000, 200_000, 1_000), 100),
        ("LunarLanderContinuous-v3", (100_000, 200_000, 1_000), 100),
        ("dm-cartpole-balance", (100_000, 50_000, 1_000), 20),
        ("dm-cartpole-swingup", (100_000, 100_000, 2_000), 20),
        ("dm-pendulum-swingup", (100_000, 100_000, 2_000), 20),
        ("pcgym-cstr", (20_000, 20_000, 300), 50),
        ("pcgym-four-tanks", (20_000, 20_000, 600), 50),
        ("gem-current", (50_000, 50_000, 300), 50),
    )
}
FOREIGN = benchmark.benchmark(
    "foreign",
    "other people's plants",
    TASKS,
    other_parts={name: f"{PLANTS[name].title}: default settings" for name in TASKS},
    extras={name: PLANTS[name].extra for name in TASKS},
    lengths=lambda runs: (lengths_of(runs)[0], NOTHING),  # rollouts are those of SPAQL alone
)


# -- what is reached, beside what is published; the controllers; and what had to be handled ----------------------------

PLANT = Column("plant", lambda row: title_of_plant(row["plant"]), words=True)


def title_of_plant(name: str) -> str:
    return PLANTS[name].title


def digits_of(value: float) -> int:
    return 1 if abs(value) >= 100.0 else 2 if abs(value) >= 1.0 else 3


def foreign_tables(results: Results) -> list[Table]:
    """Of the plants there are runs for: what was reached beside published results, and the controllers."""
    own = [_row(name, task.algorithm, runs) for name, task, runs in benchmark.groups_of(results, TASKS, "foreign")]
    if not own:
        return []
    rows = []
    for name in dict.fromkeys(row["plant"] for row in own):
        rows += [row for row in own if row["plant"] == name]
        for line in benchmark.published_of(name):
            kept = {key: line[key] for key in ("who", "samples", "fresh", "most")}
            rows.append({"plant": name} | kept | {"source": f"{line['how']}; {line['source']}"})
    columns = (PLANT, *benchmark.columns_of("who samples return worst_agent size cpu_seconds source", digits_of))
    notes = (
        "All samples are counted, those of evaluation and of measuring bounds included, except those of the fresh "
        "episodes. Worst agent: the worst of the seeds. CPU seconds: learning, without compiling.",
        benchmark.compare_roughly("start states, noise, episodes"),
    )
    printed = [row for row in own if row["controller"]]
    title, note = "Their controllers, as they are printed", " SPAQL's tables of cells are too long to show."
    whose = (PLANT, Column.text("learner", "who"))
    return [
        Table("foreign", "Other people's plants", columns, rows, notes),
        benchmark.controllers_table("foreign-controllers", title, whose, printed, digits_of, note),
        _handled(),
    ]


def _row(name: str, learner: str, runs: Sequence[Run]) -> Row:
    source = f"{len(runs)} agents, {runs[0].episodes} fresh episodes" if len(runs) > 1 else "one agent"
    row: Row = {"plant": name, "who": learner} | benchmark.figures_of(runs, "samples", "fresh", "worst_agent")
    row |= {"size": _size(runs)} | benchmark.figures_of(runs, "cpu_seconds") | {"source": source}
    return row | benchmark.figures_of(runs, "typical_seed", "typical_fresh", "controller")


def _size(runs: Sequence[Run]) -> str:
    """Cells of a partition; laws, and the numbers that a reader sees of them."""
    if not any(run.controller for run in runs):
        return benchmark.plural(span(int(run.arms or 0) for run in runs), "cell")
    counts = benchmark.figures_of(runs, "leaves", "numbers")
    return f"{benchmark.plural(counts['leaves'], 'law')}, {benchmark.plural(counts['numbers'], 'number')}"


def _handled() -> Table:
    """All plants, whether there are runs or not."""
    columns = (PLANT, Column.text("Gymnasium id", "env_id"), Column.text("what to know", "told"))
    rows: list[Row] = [{"plant": name, "env_id": PLANTS[name].env_id, "told": PLANTS[name].quirks} for name in TASKS]
    return Table("foreign-plants", "What to know about them", columns, rows, (f"Tested with {TRIED}.",))


WORDS = (
    "Environments of other packages (MuJoCo, Box2D, dm_control, pc-gym and gym-electric-motor), with default settings "
    "and few samples. Seeds were not used for tuning, and all agents count, not only the best one. For comparison "
    "there are published results."
)
STUDY = Study(
    "foreign",
    experiments=(FOREIGN,),
    tables=foreign_tables,
    sections=(Section("foreign", "Other people's plants", WORDS, tables=None),),
    in_terminal=terminal_view(("foreign-controllers", "foreign-plants"), ("size", "CPU"), always=("source",)),
)
