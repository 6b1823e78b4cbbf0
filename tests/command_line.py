"""`spaql ...` as a user types it, run in this process: starting Python and loading the library anew takes longer than most commands."""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

import pytest

from spaql.cli import main


class Told(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def run(*arguments, columns=80):
    """What the command says, and its exit code."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["spaql", *map(str, arguments)])
        patch.setenv("COLUMNS", str(columns))
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    return Told(code, out.getvalue(), err.getvalue())


def told(*words):
    """The JSON of a command that works."""
    code, out, complaint = run(*words)
    assert code == 0, complaint
    return json.loads(out)


def refused(*words):
    """The one line of a command that is refused."""
    code, out, complaint = run(*words)
    assert code == 2, complaint
    assert out == ""
    assert len(complaint.splitlines()) == 1
    return complaint
