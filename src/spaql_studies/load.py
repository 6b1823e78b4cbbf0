"""What a store holds, sorted by part; the runs that come with the package; and what others have published.

`python -m spaql_studies.load STORE [EXPERIMENT]` collects runs that need an extra from a store into a file of the
package.
"""

import functools
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from spaql.ground.errors import SpaqlError
from spaql_studies.parts import all_parts, experiments, in_order
from spaql_studies.runs.rows import Run, read_rows, write_rows
from spaql_studies.runs.spec import Spec, spec_from
from spaql_studies.runs.store import Store
from spaql_studies.study import Experiment, Part, Results, part_of


def load_results(store: Store) -> Results:
    """All planned runs that are there; and published runs, where the store has none of their part."""
    plans = {part_of(name): plan for name, plan in store.read_plans().items() if part_of(name) in all_parts()}
    parts: dict[Part, list[Run]] = {}
    missing: dict[Part, int] = {}
    for part in in_order(plans):
        codes = plans[part]["code"]
        kept = [store.read(spec, codes[spec.algorithm]) for spec in specs_in(plans[part])]
        parts[part] = [run for run in kept if run is not None]
        missing[part] = sum(run is None for run in kept)
    published = {
        part: runs
        for experiment in experiments().values()
        for part in experiment.parts
        if not parts.get(part) and _shows_published(experiment, part, parts)
        if (runs := [run for run in published_runs(experiment.name) if run.problem == part.problem])
    }
    missing = {part: count for part, count in missing.items() if count and part not in published}
    return Results(parts | published, plans, missing, frozenset(published))


def _shows_published(experiment: Experiment, part: Part, there: Mapping[Part, list[Run]]) -> bool:
    """Whether there are runs beside which published ones are shown: of the same problem, if it is of the catalog."""
    if experiment.published is None:
        return False
    words = experiment.published.beside
    if part.problem in experiment.other_parts:
        return any(runs for other, runs in there.items() if other.experiment in words)
    return not words or any(there.get(Part(word, part.problem)) for word in words)


def specs_in(plan: dict[str, Any]) -> list[Spec]:
    return [spec_from(data) for data in plan["runs"]]


def plan_of(specs: Iterable[Spec], **remarks: Any) -> dict[str, Any]:
    """A plan as it is written into the store."""
    specs = list(specs)
    code = {spec.algorithm: spec.code for spec in specs}
    return remarks | {"code": code, "runs": [asdict(spec) for spec in specs]}


# -- what is published -------------------------------------------------------------------------------------------------


@functools.cache
def others(kind: str) -> Any:
    """By problem: who, after how many samples, with which return (a number, two ends, or none), how, and the source.

    `kind`: "laws" of controllers, "samples" of learners over samples. None for samples of what does not learn, or does
    not say.
    """
    return published_json("others")[kind]


@functools.cache
def published_json(name: str) -> Any:
    return json.loads(_published(f"{name}.json").read_text("utf-8"))


def published_file(experiment: str = "trpo") -> Any:
    """The file of the package with the runs of an experiment that needs an extra (`make trpo`, `make rivals`)."""
    return _published(f"{experiment}.parquet")


def _published(name: str) -> Any:
    return files("spaql_studies").joinpath("published", name)


@functools.cache
def published_runs(experiment: str = "trpo") -> tuple[Run, ...]:
    if not published_file(experiment).is_file():
        return ()
    with as_file(published_file(experiment)) as path:
        return tuple(read_rows(Path(path)))


def publish(folder: Path, target: Path, name: str = "trpo") -> int:
    """Write the runs of an experiment to `target`; returns how many."""
    known = {word: experiment for word, experiment in experiments().items() if experiment.published is not None}
    if name not in known:
        raise SpaqlError(f"no runs of {name!r} are published: choose one of {', '.join(known)}")
    results = load_results(Store(folder, create=False))
    own = [part for part in known[name].parts if part not in results.published]
    runs = [run for part in own for run in results.parts.get(part, [])]
    if not runs or results.missing:
        how = f"spaql reproduce --only {name} --store {folder}"
        raise SpaqlError(f"{folder} does not hold all runs of {name}: compute them with {how}")
    write_rows(target, runs)
    return len(runs)


if __name__ == "__main__":
    try:
        chosen = (sys.argv[2:] or ["trpo"])[0]
        count = publish(Path(sys.argv[1]), Path(published_file(chosen)), chosen)
        print(f"{count} runs written to {published_file(chosen)}")
    except SpaqlError as error:
        sys.exit(f"spaql: {error}")
