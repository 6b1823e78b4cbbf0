"""Other people's plants: what SPAQL, Laws and Atlas reach on them with default settings."""

import functools
import json
from collections.abc import Sequence
from importlib.resources import files
from statistics import fmean, median_low
from typing import Any, NamedTuple

from spaql.analysis.numbers import NOTHING, number, span
from spaql.analysis.tables import Column, Row, Table
from spaql.policy.policy import Policy
from spaql.runs.rows import Run
from spaql.runs.spec import Option, Spec
from spaql.studies.atlas.plan import seeds_of
from spaql.studies.few.tables import others as others_of_few
from spaql.studies.foreign.plants import PLANTS, TRIED
from spaql.studies.parts import Effort, Results
from spaql.studies.study import Experiment, Finished, Section, Study, without_columns

# -- other people's plants, as data: how many samples SPAQL, Laws and Atlas have on each of them -----------------------
#
# Default settings throughout, but that Atlas is asked for laws. Seeds from 1000 on, on which nothing was tuned. Samples
# are such that a learner takes a minute or two: a step of MuJoCo or Box2D costs 0.1 ms, one of dm_control or an
# electric motor 0.3 ms, one of pc-gym 1.2 ms. Laws of Atlas took 32 s on the inverted pendulum, 59 s on the CSTR, and
# 118 s on the cart-pole of dm_control, whose episodes have 1,000 steps; the other plants were not timed when this was
# written.

SEEDS = 10
QUICK_FRESH = 5
ROLLOUTS = 20  # of SPAQL after every training episode: those of `from_gym` by default


class Entrant(NamedTuple):
    """A learner: its settings, the rollouts after every iteration, and the samples of a quick look."""

    options: tuple[tuple[str, Option], ...]
    rollouts: int
    quick: int


ENTRANTS = {
    "SPAQL": Entrant((), ROLLOUTS, 2_000),
    "Laws": Entrant((), 0, 2_000),
    "Atlas": Entrant((("controller", "laws"),), 0, 120),
}


class ForeignTask(NamedTuple):
    """Samples of every entrant, and episodes of the fresh evaluation."""

    samples: tuple[int, int, int]  # of the entrants, in their order
    fresh: int


TASKS = {
    "InvertedPendulum-v5": ForeignTask((100_000, 20_000, 200), 100),
    "InvertedDoublePendulum-v5": ForeignTask((100_000, 50_000, 500), 100),
    "Reacher-v5": ForeignTask((100_000, 100_000, 500), 100),
    "LunarLander-v3": ForeignTask((100_000, 200_000, 1_000), 100),
    "LunarLanderContinuous-v3": ForeignTask((100_000, 200_000, 1_000), 100),
    "dm-cartpole-balance": ForeignTask((100_000, 50_000, 1_000), 20),
    "dm-cartpole-swingup": ForeignTask((100_000, 100_000, 2_000), 20),
    "dm-pendulum-swingup": ForeignTask((100_000, 100_000, 2_000), 20),
    "pcgym-cstr": ForeignTask((20_000, 20_000, 300), 50),
    "pcgym-four-tanks": ForeignTask((20_000, 20_000, 600), 50),
    "gem-current": ForeignTask((50_000, 50_000, 300), 50),
}


def foreign_specs(name: str, effort: Effort, finished: Finished) -> list[Spec]:
    """Every entrant on a plant."""
    plant, task = PLANTS[name], TASKS[name]
    parameters = json.dumps(plant.options, sort_keys=True)
    return [
        Spec(
            plant.env_id, learner, seed, 0, entrant.rollouts, QUICK_FRESH if effort.quick else task.fresh,
            entrant.options, (min(entrant.quick, samples) if effort.quick else samples,), parameters=parameters,
        )
        for (learner, entrant), samples in zip(ENTRANTS.items(), task.samples, strict=True)
        for seed in seeds_of(effort, 1 if effort.quick and effort.seeds is None else SEEDS)
    ]  # fmt: skip


def _lengths(runs: Sequence[Run]) -> tuple[str, str]:
    return f"{span(int(run.checkpoints[-1]) for run in runs)} samples", NOTHING


FOREIGN = Experiment(
    "foreign",
    "other people's plants",
    (),
    foreign_specs,
    other_parts={name: f"{PLANTS[name].title}: default settings" for name in TASKS},
    extras={name: PLANTS[name].extra for name in TASKS},
    lengths=_lengths,
)


# What is reached on other people's plants, beside what is published; the controllers; and what had to be handled

DIGITS = ((100.0, 1), (1.0, 2), (0.0, 3))  # of a return that is at least so large


@functools.cache
def others() -> Any:
    """By plant: who, after how many samples (None: does not learn, or does not say), with which return, how, source."""
    return others_of_few() | json.loads(files("spaql.studies.foreign").joinpath("others.json").read_text("utf-8"))


def foreign_tables(results: Results) -> list[Table]:
    """Of the plants there are runs for."""
    names = [name for name in TASKS if results.runs("foreign", name)]
    own = {name: rows_of(results, name) for name in names}
    return [_reached(own), _controllers(own), _handled()] if names else []


def rows_of(results: Results, name: str) -> list[Row]:
    """One row for each learner with runs."""
    groups = [(learner, results.runs("foreign", name, learner)) for learner in ENTRANTS]
    return [_row(name, learner, runs) for learner, runs in groups if runs]


def _row(name: str, learner: str, runs: Sequence[Run]) -> Row:
    fresh = [run.fresh for run in runs]
    typical = next(run for run in runs if run.fresh == median_low(fresh))
    return {
        "plant": name,
        "who": learner,
        "samples": fmean(run.train_samples + run.eval_samples for run in runs),
        "fresh": fmean(fresh),
        "worst_agent": min(fresh),
        "size": _size(runs),
        "cpu_seconds": fmean(run.cpu_curve[-1] for run in runs),
        "source": f"{len(runs)} agents, {runs[0].episodes} fresh episodes" if len(runs) > 1 else "one agent",
        "typical_seed": typical.seed,
        "typical_fresh": typical.fresh,
        "controller": _words(typical),
    }


def _size(runs: Sequence[Run]) -> str:
    """Cells of a partition; laws, and the numbers that a reader sees of them."""
    policies = [Policy.from_json(run.controller) for run in runs if run.controller]
    if not policies:
        cells = span(int(run.arms or 0) for run in runs)
        return f"{cells} cell" if cells == "1" else f"{cells} cells"
    counts = {"law": span(one.n_leaves for one in policies), "number": span(one.numbers for one in policies)}
    return ", ".join(f"{count} {word}{'' if count == '1' else 's'}" for word, count in counts.items())


def _words(run: Run) -> str:
    """As it is printed; a table of cells is too long to be."""
    return Policy.from_json(run.controller).to_text(share=False).split("\n\n", 1)[-1].strip() if run.controller else ""


def title_of(name: str) -> str:
    return PLANTS[name].title


def told(value: float | None) -> str:
    return number(value, next(digits for least, digits in DIGITS if abs(value or 0.0) >= least))


def _reached(own: dict[str, list[Row]]) -> Table:
    columns = (
        Column("plant", lambda row: title_of(row["plant"]), words=True),
        Column("controller", lambda row: row["who"], words=True),
        Column("samples", lambda row: number(row["samples"], 0)),
        Column("return", _return),
        Column("worst agent", lambda row: told(row.get("worst_agent"))),
        Column("size", lambda row: row.get("size", ""), words=True),
        Column("CPU s", lambda row: number(row.get("cpu_seconds"), 0)),
        Column("source", lambda row: row["source"], words=True),
    )
    rows = [row for name, found in own.items() for row in (*found, *_published(name))]
    notes = (
        "All samples are counted, those of evaluation and of measuring bounds included, except those of the fresh "
        "episodes. Worst agent: the worst of the seeds. CPU seconds: learning, without compiling.",
        "The sources measure returns in different ways (start states, noise, episodes, choice of the best agent): "
        "compare the figures roughly.",
    )
    return Table("foreign", "Other people's plants", columns, rows, notes)


def _return(row: Row) -> str:
    low, high = row["fresh"], row.get("most", row["fresh"])
    return told(low) if low == high else f"{told(low)} to {told(high)}"


def _published(name: str) -> list[Row]:
    lines: list[Row] = []
    for who, samples, returns, how, source in others()[name]:
        low, high = returns if isinstance(returns, list) else (returns, returns)
        line = {"plant": name, "who": who, "samples": samples, "fresh": low, "most": high}
        lines.append(line | {"source": f"{how}; {source}"})
    return lines


def _controllers(own: dict[str, list[Row]]) -> Table:
    """The agent in the middle of each row, not the best."""
    columns = (
        Column("plant", lambda row: title_of(row["plant"]), words=True),
        Column("learner", lambda row: row["who"], words=True),
        Column("controller", lambda row: row["controller"], words=True),
        Column("its return", lambda row: told(row["typical_fresh"])),
        Column("seed", lambda row: str(row["typical_seed"])),
    )
    rows = [row for found in own.values() for row in found if row["controller"]]
    note = "For each row above, the agent with the median return. SPAQL's tables of cells are too long to show."
    return Table("foreign-controllers", "Their controllers, as they are printed", columns, rows, (note,))


def _handled() -> Table:
    """All plants, whether there are runs or not."""
    columns = (
        Column("plant", lambda row: title_of(row["plant"]), words=True),
        Column("Gymnasium id", lambda row: row["env_id"], words=True),
        Column("what to know", lambda row: row["told"], words=True),
    )
    rows: list[Row] = [{"plant": name, "env_id": PLANTS[name].env_id, "told": PLANTS[name].told} for name in TASKS]
    return Table("foreign-plants", "What to know about them", columns, rows, (f"Tested with {TRIED}.",))


# -- other people's plants: what SPAQL, Laws and Atlas reach on them with default settings -----------------------------

WORDS = (
    "Environments of other packages (MuJoCo, Box2D, dm_control, pc-gym and gym-electric-motor), with default settings "
    "and few samples. Seeds were not used for tuning, and all agents count, not only the best one. For comparison "
    "there are published results."
)


def _in_terminal(table: Table, roomy: bool) -> Table | None:
    if table.name != "foreign":
        return None  # too wide; `spaql report` shows them
    return without_columns(table, "source") if roomy else without_columns(table, "source", "size", "CPU")


STUDY = Study(
    "foreign",
    experiments=(FOREIGN,),
    tables=foreign_tables,
    sections=(Section("foreign", "Other people's plants", WORDS, tables=None),),
    in_terminal=_in_terminal,
)
