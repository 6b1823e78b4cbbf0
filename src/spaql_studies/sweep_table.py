"""What a sweep is asked for, and what came of it: a table to read, and files to keep."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from spaql.ground.writing import make_folder, write_whole
from spaql.policy.digits import counted
from spaql.policy.evaluation import Evaluation
from spaql_studies.runs.spec import Option

Options = dict[str, Option]
FIRST_REPORTED = 1000  # seeds that are reported are from here on


@dataclass(frozen=True)
class Sweep:
    """What was asked for; see `sweep`."""

    problem: str
    algorithm: str
    options: tuple[str, ...]
    store: Path
    trials: int = 30
    seeds: int = 3
    best: int = 3
    final_seeds: int = 10
    iterations: int = 200
    samples: int = 2000
    rollouts: int | None = None
    fresh: int = 200
    sampler: str = "random"
    seed: int = 0
    jobs: int | None = None
    executor: str | None = None
    repair: bool = False

    @property
    def name(self) -> str:
        """Of its tables: the same for the same sweep, another for another."""
        asked = [self.problem, self.algorithm, *sorted(self.options), self.trials, self.seeds, self.best]
        asked += [self.final_seeds, self.iterations, self.samples, self.rollouts, self.fresh, self.sampler, self.seed]
        return f"{self.problem}-{self.algorithm.lower()}-{hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:8]}"


@dataclass
class Trial:
    """One set of options."""

    options: Options
    tuned: list[float] = field(default_factory=list)  # fresh returns, one per tuning seed
    reported: list[float] = field(default_factory=list)  # one per reported seed; only of the best

    @property
    def score(self) -> float:
        return float(np.mean(self.tuned))

    @property
    def worth(self) -> Evaluation:
        return Evaluation(np.array(self.reported), 0)


@dataclass
class Swept:
    """What came of it. `best`: in the order of their scores in tuning, which is the order to trust."""

    sweep: Sweep
    trials: list[Trial] = field(default_factory=list)
    best: list[Trial] = field(default_factory=list)
    default: Trial | None = None  # the learner as it comes, judged on the reported seeds
    computed: int = 0
    interrupted: bool = False


# -- a table to read, and files to keep --------------------------------------------------------------------------------


def rows_of(swept: Swept) -> list[dict[str, Any]]:
    """The best in the order of tuning, then the learner as it comes."""
    ranked = [(str(rank), trial) for rank, trial in enumerate(swept.best, 1)]
    return [
        {"rank": rank, "options": trial.options, "tuned": trial.score if trial.tuned else None}
        | {"fresh": trial.worth.mean, "fresh_ci95": list(trial.worth.ci95)}
        for rank, trial in [*ranked, ("default", swept.default)]
        if trial is not None
    ]


def seeds(first: int, count: int) -> str:
    """ "seed 0", "seeds 0 to 2"."""
    return f"seed {first}" if count == 1 else f"seeds {first} to {first + count - 1}"


def said(options: Options) -> str:
    return ", ".join(
        f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}" for name, value in options.items()
    )


def markdown_of(swept: Swept) -> str:
    sweep = swept.sweep
    lines = [
        f"# Sweep: {sweep.algorithm} on {sweep.problem}",
        "",
        f"{counted(len(swept.trials), 'trial')} ({sweep.sampler}) of {', '.join(sweep.options)}. "
        f"Tuned: mean fresh return on {seeds(0, sweep.seeds)}, which chose the rows. Fresh: the same options on "
        f"{seeds(FIRST_REPORTED, sweep.final_seeds)}, which chose nothing; 95 % interval over the seeds.",
        "",
        "| | options | tuned | fresh | 95 % interval |",
        "|---|---|---|---|---|",
    ]
    for row in rows_of(swept):
        tuned = "" if row["tuned"] is None else f"{row['tuned']:.2f}"
        low, high = row["fresh_ci95"]
        lines.append(
            f"| {row['rank']} | {said(row['options']) or 'defaults'} | {tuned} | {row['fresh']:.2f} | {low:.2f} "
            f"... {high:.2f} |"
        )
    return "\n".join([*lines, ""])


def folder_of(swept: Swept) -> Path:
    return swept.sweep.store / "sweeps"


def keep(swept: Swept, folder: Path) -> Path:
    """FOLDER/NAME.md, .csv (all trials) and .json. Returns the first."""
    import pandas

    make_folder(folder)
    asked = {name: str(value) if isinstance(value, Path) else value for name, value in asdict(swept.sweep).items()}
    counts = {
        "sweep": asked,
        "best": rows_of(swept),
        "trials": [{"options": t.options, "tuned": t.tuned} for t in swept.trials],
    }
    table = pandas.DataFrame([{**t.options, "tuned": t.score, "seeds": len(t.tuned)} for t in swept.trials])
    texts = {"md": markdown_of(swept), "csv": table.to_csv(index_label="trial"), "json": json.dumps(counts, indent=1)}
    for ending, text in texts.items():
        data = text.encode()
        write_whole(folder / f"{swept.sweep.name}.{ending}", lambda file, data=data: file.write(data))
    return folder / f"{swept.sweep.name}.md"


def show(swept: Swept, kept: Path | None) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    sweep = swept.sweep
    table = Table(
        title=f"{sweep.algorithm} on {sweep.problem}: the best of {counted(len(swept.trials), 'trial')}",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("")
    table.add_column("options")
    for heading in (f"tuned, {seeds(0, sweep.seeds)}", f"fresh, {seeds(FIRST_REPORTED, sweep.final_seeds)}"):
        table.add_column(heading, justify="right")
    for row in rows_of(swept):
        low, high = row["fresh_ci95"]
        tuned = "" if row["tuned"] is None else f"{row['tuned']:.2f}"
        table.add_row(
            row["rank"], said(row["options"]) or "defaults", tuned, f"{row['fresh']:.2f} ± {(high - low) / 2:.2f}"
        )
    console = Console()
    console.print(table)
    console.print(
        "Tuned is biased upwards: it chose the rows. Fresh did not; ± is half the 95 % interval over its seeds. "
        f"{counted(swept.computed, 'run')} computed now.{f' Kept: {kept}' if kept is not None else ''}",
        highlight=False,
    )
