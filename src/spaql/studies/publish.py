"""Collects runs that need an extra from a store into a file of the package: `python -m spaql.studies.publish STORE
[EXPERIMENT]`."""

import sys
from pathlib import Path

from spaql.ground.errors import SpaqlError
from spaql.runs.rows import write_rows
from spaql.runs.store import Store
from spaql.studies import experiments
from spaql.studies.load import load_results, published_file


def publish(folder: Path, target: Path, name: str = "trpo") -> int:
    """Write the runs of an experiment to `target`; returns how many."""
    known = {word: one for word, one in experiments().items() if one.published is not None}
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
