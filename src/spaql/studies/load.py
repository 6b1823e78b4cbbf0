"""What a store holds, sorted by part, and the runs that come with the package."""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from spaql.runs.rows import Run, read_rows
from spaql.runs.spec import Spec, spec_from
from spaql.runs.store import Store
from spaql.studies import all_parts, experiments
from spaql.studies.parts import Part, Results, part_of
from spaql.studies.plan import in_order
from spaql.studies.study import Experiment


def load_results(store: Store) -> Results:
    """All planned runs that are there; and published runs, where the store has none of their part."""
    plans = {part_of(name): plan for name, plan in store.read_plans().items() if part_of(name) in all_parts()}
    parts: dict[Part, list[Run]] = {}
    missing: dict[Part, int] = {}
    for part in in_order(plans):
        codes = plans[part]["code"]
        found = [store.read(spec, codes[spec.algorithm]) for spec in specs_in(plans[part])]
        parts[part] = [run for run in found if run is not None]
        missing[part] = sum(run is None for run in found)
    published = {part: runs for part in _borrowed(parts) if (runs := _published(part))}
    missing = {part: count for part, count in missing.items() if count and part not in published}
    return Results(parts | published, plans, missing, frozenset(published))


def _borrowed(there: Mapping[Part, list[Run]]) -> list[Part]:
    """Parts without runs of their own that published runs stand in for."""
    return [
        part
        for experiment in experiments().values()
        if experiment.published is not None
        for part in experiment.parts
        if not there.get(part) and _beside(experiment, part, there)
    ]


def _beside(experiment: Experiment, part: Part, there: Mapping[Part, list[Run]]) -> bool:
    """Whether there are runs beside which published ones are shown: of the same problem, if it is of the catalog."""
    assert experiment.published is not None
    words = experiment.published.beside
    if part.problem in experiment.other_parts:
        return any(runs for one, runs in there.items() if one.experiment in words)
    return not words or any(there.get(Part(word, part.problem)) for word in words)


def _published(part: Part) -> list[Run]:
    return [run for run in published_runs(part.experiment) if run.problem == part.problem]


def specs_in(plan: dict[str, Any]) -> list[Spec]:
    return [spec_from(data) for data in plan["runs"]]


def plan_of(specs: Iterable[Spec], **remarks: Any) -> dict[str, Any]:
    """A plan as it is written into the store."""
    specs = list(specs)
    code = {spec.algorithm: spec.code for spec in specs}
    return remarks | {"code": code, "runs": [asdict(spec) for spec in specs]}


def published_file(experiment: str = "trpo") -> Any:
    """The file of the package with the runs of an experiment that needs an extra (`make trpo`, `make rivals`)."""
    return files("spaql.studies").joinpath("published", f"{experiment}.parquet")


@functools.cache
def published_runs(experiment: str = "trpo") -> tuple[Run, ...]:
    if not published_file(experiment).is_file():
        return ()
    with as_file(published_file(experiment)) as path:
        return tuple(read_rows(Path(path)))
