"""Boards: problems on which others publish what they reach, and what a few laws reach there.

RealAIGym's double pendulums are compiled here, with the score of that board beside the return of the search
(protocol.py). Four laws for them come with the package: CMA-ES on a graphics card has tuned the numbers of one law for
the board's score, and for its robustness, in 24 to 164 million episodes. dm_control's swing-ups, MuJoCo's and Box2D's
robots need extras; a part whose extra is missing is left out, and said to be.
"""

import functools
import json
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from spaql.policy.law import law
from spaql.policy.policy import Policy
from spaql_studies import benchmark
from spaql_studies.foreign.plants import PLANTS, suite
from spaql_studies.load import published_json
from spaql_studies.protocol import Shares, nominal, robustness
from spaql_studies.runs.double_pendulum import BOARD, FEATURES, ROBOTS, SEEN, board_problem
from spaql_studies.runs.rows import Run
from spaql_studies.study import Extra, Results, Section, Study, terminal_view
from spaql_studies.tables import Column, Row, Table

QUICK_SHARE = 0.01
DOUBLE_PENDULUMS = tuple(f"{BOARD}-{robot}" for robot in ROBOTS)
LOOKED_AT = ",".join((*SEEN, *FEATURES))  # all of them: no samples to find out which
SUITE = {
    "dm-cartpole-swingup": PLANTS["dm-cartpole-swingup"],
    "dm-pendulum-swingup": PLANTS["dm-pendulum-swingup"],
    "dm-acrobot-swingup": suite(
        "acrobot swingup", "acrobot-swingup",
        ["across1", "across2", "up1", "up2", "velocity1", "velocity2"], "torque",
    ),
}  # fmt: skip
SIZES = {  # laws at most, samples
    **dict.fromkeys(DOUBLE_PENDULUMS, (2, 600_000_000)),
    **dict.fromkeys(SUITE, (2, 5_000_000)),
    "Swimmer-v5": (1, 300_000),
    "Hopper-v5": (1, 3_000_000),
    "HalfCheetah-v5": (1, 3_000_000),
    "Walker2d-v5": (1, 3_000_000),
    "BipedalWalker-v3": (1, 3_000_000),
}
DRAWN_SEED = 1  # of noise and pushes; 0 served to choose among laws
DRAWN = "Noise and pushes are drawn by us, as the board draws them anew for every controller."
MUJOCO, BOX2D = Extra("mujoco", "mujoco"), Extra("Box2D", "box2d")


def _task(name: str, leaves: int, samples: int) -> benchmark.Contender:
    compiled, plant = name in DOUBLE_PENDULUMS, SUITE.get(name)
    options: tuple[tuple[str, Any], ...] = (("max_leaves", leaves), *([("observe", LOOKED_AT)] if compiled else []))
    parameters = "" if plant is None else json.dumps(plant.options, sort_keys=True)
    return benchmark.Contender(
        name if plant is None else plant.env_id, "Laws", (samples,), (int(QUICK_SHARE * samples),), options,
        parameters=parameters, fresh=benchmark.FRESH if compiled else benchmark.FRESH_IN_PYTHON, most_seeds=10,
        quick_seeds=1,
    )  # fmt: skip


TASKS = {name: [_task(name, *size)] for name, size in SIZES.items()}
BOARDS = benchmark.benchmark(
    "boards",
    "a few laws on boards",
    TASKS,
    extras={name: plant.extra for name, plant in SUITE.items()}
    | {name: BOX2D if "Bipedal" in name else MUJOCO for name in TASKS if name.endswith(("-v3", "-v5"))},
)
TITLES = {name: plant.title for name, plant in SUITE.items()} | {
    f"{BOARD}-{robot}": f"RealAIGym, {robot}" for robot in ROBOTS
}
TEXT = Column.text("law", "controller")
WHERE = Column("problem", lambda row: title_of_board(row["problem"]), words=True)


def title_of_board(name: str) -> str:
    return TITLES.get(name, name)


def digits_of(value: float) -> int:
    return 1 if abs(value) >= 10.0 else 3


@functools.lru_cache(100)
def _protocol(controller: str) -> tuple[float, Shares]:
    """The score of a controller, and its robustness."""
    policy = Policy.from_json(controller)
    return nominal(policy).value, robustness(policy, DRAWN_SEED)


def board_tables(results: Results) -> list[Table]:
    """What is reached, the shares of robustness, the controllers, and others beside them."""
    rows = [_row(name, task, runs) for name, task, runs in benchmark.groups_of(results, TASKS, "boards")]
    if not rows:
        return []
    columns = (
        WHERE, *benchmark.columns_of("agents"), Column.number("score or return", "reached", digits_of),
        Column.number("worst agent", "worst", digits_of), Column.count("laws", "leaves"),
        *benchmark.columns_of("numbers samples cpu_seconds"),
    )  # fmt: skip
    note = (
        "RealAIGym: the score of the board, version 2, on its own protocol; elsewhere the mean return of fresh "
        "episodes. All samples of the search are counted."
    )
    standing = [*(row for row in rows if row["problem"] in DOUBLE_PENDULUMS), *tuned_laws()]
    shares = [Column.number(name.replace("_", " "), name, 2) for name in ("mean", *Shares._fields)]
    law = (Column.text("law", "who"), Column.number("score", "reached", 3), *shares, *benchmark.columns_of("numbers"))
    beside = [*rows, *(row for row in standing if "agents" not in row)]
    printed, names = "Their controllers, as they are printed", "problem who return how source"
    return [
        Table("boards", "Laws on boards", columns, rows, (note,)),
        benchmark.controllers_table("boards-controllers", printed, (WHERE,), rows, digits_of),
        benchmark.beside_others("boards-others", names, beside, _beside, digits_of, "starts, episodes"),
        Table("boards-pendulums", "RealAIGym: scores, and shares of robustness", (WHERE, *law), standing, (DRAWN,)),
        Table("boards-laws", "The tuned laws", (WHERE, *benchmark.columns_of("who"), TEXT), tuned_laws()),
    ]


def tuned_laws() -> list[Row]:
    """Those of the package, each with the score and the robustness of the board."""
    rows: list[Row] = []
    for robot, laws in published_json("double_pendulums").items():
        for aim, numbers in laws.items():
            policy = law(board_problem(robot), numbers["gains"], numbers["offset"])
            value, shares = _protocol(policy.to_json())
            row: Row = {"problem": f"{BOARD}-{robot}", "who": f"spaql: 1 law, tuned for {aim}", "reached": value}
            row |= {"mean": shares.mean} | shares._asdict() | {"numbers": str(policy.numbers)}
            rows.append(row | {"controller": policy.to_text(share=False).split("\n\n", 1)[-1].strip()})
    return rows


def _row(name: str, task: benchmark.Contender, runs: Sequence[Run]) -> Row:
    row: Row = {"problem": name} | benchmark.figures_of(
        runs, "agents", "leaves", "numbers", "samples", "cpu_seconds", "typical_seed", "typical_fresh", "controller"
    )
    if name not in DOUBLE_PENDULUMS:
        fresh = [run.fresh for run in runs]
        return row | {"reached": fmean(fresh), "worst": min(fresh)}
    played = [_protocol(run.controller) for run in runs]
    scores = [score for score, _ in played]
    means = {field: fmean(getattr(shares, field) for _, shares in played) for field in ("mean", *Shares._fields)}
    who = f"spaql: {benchmark.plural(row['leaves'], 'law')}, found by Laws"
    return row | {"reached": fmean(scores), "worst": min(scores), "who": who} | means


def _beside(problem: str, rows: list[Row]) -> list[Row]:
    """Ours and published ones, the highest first."""
    lines = benchmark.published_of(problem, "boards")
    for row in rows:
        how = f"robustness {row['mean']:.3f}" if "mean" in row else ""
        laws = row["who"] if "who" in row else f"spaql: {benchmark.plural(row['leaves'], 'law')}"
        source = f"mean of {row['agents']} agents" if "agents" in row else "published with the package"
        who = f"{laws}, {benchmark.plural(row['numbers'], 'number')}"
        lines.append(benchmark.line_of(problem, who, row.get("samples"), row["reached"], how, source))
    named = [line | {"problem": title_of_board(problem)} for line in lines]
    return sorted(named, key=lambda line: -line["fresh"])


WORDS = (
    "Problems for which others keep lists of what was reached: RealAIGym's acrobot and pendubot, dm_control's "
    "swing-ups, and the robots of MuJoCo and Box2D. One setting for all, and all agents count. Those of others are "
    "networks, trajectories or predictive controllers; ours are printed."
)
STUDY = Study(
    "boards",
    experiments=(BOARDS,),
    tables=board_tables,
    sections=(Section("boards", "Boards", WORDS, tables=None),),
    in_terminal=terminal_view(("boards-controllers",), ("agents", "CPU"), always=("source",)),
)
