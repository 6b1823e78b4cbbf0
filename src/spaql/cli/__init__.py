"""The command line: thin. `spaql COMMAND --help` shows an example each."""

import sys

from spaql.cli import bench, data, explain, reproduce, sweep, train  # noqa: F401  (each adds its commands)
from spaql.cli.app import app
from spaql.errors import SpaqlError


def main() -> None:
    """Bad input is one line and exit code 2."""
    try:
        app()
    except SpaqlError as error:
        print(f"spaql: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        sys.exit(1)
