"""`spaql ...` as a user types it, run in this process: starting Python and loading the library anew takes longer than most commands."""

import io
import os
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple
from unittest import mock

from spaql.cli import main


class Told(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def run(*arguments, columns=80):
    """What the command says, and its exit code."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    settings = mock.patch.dict(os.environ, {"COLUMNS": str(columns)})
    with mock.patch("sys.argv", ["spaql", *map(str, arguments)]), settings, redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    return Told(code, out.getvalue(), err.getvalue())
