"""Collects TRPO's runs from a store into the file that ships with the package: `python -m spaql.experiments.publish STORE`."""

import sys
from pathlib import Path

from spaql.errors import SpaqlError
from spaql.experiments.plan import GROUPS
from spaql.experiments.results import load_results, published_file
from spaql.experiments.rows import write_rows
from spaql.experiments.store import Store


def publish(folder: Path, target: Path) -> int:
    """Write the runs to `target`; returns how many."""
    results = load_results(Store(folder, create=False))
    runs = [run for part in GROUPS["trpo"] if part not in results.published for run in results.parts[part]]
    if not runs or results.missing:
        raise SpaqlError(f"{folder} does not hold all TRPO runs: compute them with spaql reproduce --only trpo --store {folder}")
    write_rows(target, runs)
    return len(runs)


if __name__ == "__main__":
    try:
        print(f"{publish(Path(sys.argv[1]), Path(published_file()))} runs written to {published_file()}")
    except SpaqlError as error:
        sys.exit(f"spaql: {error}")
