"""What a store holds, sorted by part: the one thing tables, figures and the page are made from."""

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from spaql.experiments.atlas_plan import CONTESTS
from spaql.experiments.plan import GROUPS, PARTS
from spaql.experiments.rows import Run, read_rows
from spaql.experiments.spec import Spec, spec_from
from spaql.experiments.store import Store


@dataclass(frozen=True)
class Results:
    """Finished runs by part ("main-cartpole", "scaling-pendulum", ...; see `plan.PARTS`), sorted by algorithm, xi and seed."""

    parts: dict[str, list[Run]]
    plans: dict[str, dict[str, Any]] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)  # planned but not there, by part
    published: frozenset[str] = frozenset()  # parts that come from the curves published with the package

    def runs(self, part: str, algorithm: str | None = None) -> list[Run]:
        return [run for run in self.parts.get(part, []) if algorithm is None or run.algorithm == algorithm]

    def main(self, problem: str, algorithm: str | None = None) -> list[Run]:
        """The main runs of a problem: with the published xi if they are there, else with the tuned one."""
        return self.runs(f"main-{problem}", algorithm) or self.runs(f"tuned-{problem}", algorithm)

    def random(self, problem: str, low: float | None = None) -> list[Run]:
        """Random over the whole action range, or from `low` on."""
        return [run for run in self.runs(f"random-{problem}") if run.options.get("low") == low]


def load_results(store: Store) -> Results:
    """Everything planned that is there, and as published where the store has none of their own: TRPO, and Atlas' rivals beside it."""
    plans = {part: plan for part, plan in store.read_plans().items() if part in PARTS}
    parts: dict[str, list[Run]] = {}
    missing: dict[str, int] = {}
    for part in sorted(plans, key=PARTS.index):
        codes = plans[part]["code"]
        found = [store.read(spec, codes[spec.algorithm]) for spec in specs_in(plans[part])]
        parts[part] = [run for run in found if run is not None]
        missing[part] = sum(run is None for run in found)
    borrowed = [part for part in GROUPS["trpo"] if not parts.get(part)]
    with_atlas = [problem for problem in CONTESTS if parts.get(f"atlas-{problem}") or parts.get(f"results-{problem}")]
    borrowed += [f"rivals-{problem}" for problem in with_atlas if not parts.get(f"rivals-{problem}")]
    for part in borrowed:
        group, problem = part.split("-", 1)
        parts[part] = [run for run in published_runs(group) if run.problem == problem]
        missing.pop(part, None)
    return Results(
        parts, plans, {part: count for part, count in missing.items() if count}, frozenset(part for part in borrowed if parts[part])
    )


def specs_in(plan: dict[str, Any]) -> list[Spec]:
    return [spec_from(data) for data in plan["runs"]]


def plan_of(specs: Iterable[Spec], **remarks: Any) -> dict[str, Any]:
    """A plan as it is written into the store."""
    from dataclasses import asdict

    specs = list(specs)
    return remarks | {"code": {spec.algorithm: spec.code for spec in specs}, "runs": [asdict(spec) for spec in specs]}


def published_file(group: str = "trpo") -> Any:
    """Runs that need Torch, computed once by `make trpo` or `make rivals` and shipped with the package."""
    return files("spaql.experiments").joinpath("published", f"{group}.parquet")


@functools.cache
def published_runs(group: str = "trpo") -> tuple[Run, ...]:
    if not published_file(group).is_file():
        return ()
    with as_file(published_file(group)) as path:
        return tuple(read_rows(Path(path)))
