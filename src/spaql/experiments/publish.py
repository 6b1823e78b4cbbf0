"""Collects runs that need Torch from a store into a file of the package: `python -m spaql.experiments.publish STORE [GROUP]`."""

import sys
from pathlib import Path

from spaql.errors import SpaqlError
from spaql.experiments.plan import GROUPS
from spaql.experiments.results import load_results, published_file
from spaql.experiments.rows import write_rows
from spaql.experiments.store import Store


def publish(folder: Path, target: Path, group: str = "trpo") -> int:
    """Write the runs to `target`; returns how many."""
    results = load_results(Store(folder, create=False))
    runs = [run for part in GROUPS[group] if part not in results.published for run in results.parts.get(part, [])]
    if not runs or results.missing:
        raise SpaqlError(f"{folder} does not hold all runs of {group}: compute them with spaql reproduce --only {group} --store {folder}")
    write_rows(target, runs)
    return len(runs)


if __name__ == "__main__":
    try:
        chosen = (sys.argv[2:] or ["trpo"])[0]
        print(f"{publish(Path(sys.argv[1]), Path(published_file(chosen)), chosen)} runs written to {published_file(chosen)}")
    except SpaqlError as error:
        sys.exit(f"spaql: {error}")
