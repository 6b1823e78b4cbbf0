"""The command line: thin. `spaql COMMAND --help` shows an example each."""

import contextlib
import os
import sys
import warnings
from typing import Any

from spaql.cli import bench, data, explain, exporting, train  # noqa: F401  (each adds its commands)
from spaql.cli.app import INTERRUPTED, app
from spaql.ground.errors import SpaqlError
from spaql.ground.interrupts import signals_of_command
from spaql.ground.writing import NO_RIGHT, NO_ROOM, refusal


def _told(message: Warning | str, *where: Any, **more: Any) -> None:
    print(f"spaql: warning: {message}", file=sys.stderr)


def main() -> None:
    """Bad input and full disks are one line and exit code 2; Ctrl-C is one line and 130, SIGTERM one line and 143."""
    try:
        try:
            with signals_of_command() as came, warnings.catch_warnings():
                from spaql_studies import commands  # noqa: F401  (adds its commands)

                warnings.showwarning = _told
                app()
        except SystemExit as end:
            sys.stdout.flush()  # a full disk is better known here than after the end
            sys.exit(128 + came[-1] if end.code == INTERRUPTED and came else end.code)
    except SpaqlError as error:
        print(f"spaql: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        _forget_output()
        sys.exit(1)
    except OSError as error:
        if error.errno not in (*NO_ROOM, *NO_RIGHT):
            raise
        _forget_output()
        what = error.filename or "what was to be printed"
        print(f"spaql: {refusal(f'cannot write {what}', error)}", file=sys.stderr)
        sys.exit(2)


def _forget_output() -> None:
    """What could not be printed: Python would try it again when it ends, and complain."""
    with contextlib.suppress(OSError, ValueError):  # of a terminal that is none
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
