"""The command line: thin. `spaql COMMAND --help` shows an example each."""

import sys
import warnings
from typing import Any

from spaql.cli import bench, data, explain, reproduce, sweep, train  # noqa: F401  (each adds its commands)
from spaql.cli.app import INTERRUPTED, app
from spaql.errors import SpaqlError
from spaql.interrupts import signals_of_command


def _told(message: Warning | str, *where: Any, **more: Any) -> None:
    print(f"spaql: warning: {message}", file=sys.stderr)


def main() -> None:
    """Bad input is one line and exit code 2; Ctrl-C is one line and 130, SIGTERM one line and 143."""
    try:
        with signals_of_command() as came, warnings.catch_warnings():
            warnings.showwarning = _told
            app()
    except SystemExit as end:
        sys.exit(128 + came[-1] if end.code == INTERRUPTED and came else end.code)
    except SpaqlError as error:
        print(f"spaql: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        sys.exit(1)
