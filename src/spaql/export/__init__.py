"""A policy in other forms: programs, data, drawings, words. See docs/exports.md.

A function per form, and one line here: `Policy.export`, the command line with its help, and the tests that all exports
pass follow.
"""

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from spaql.ground.checks import choice
from spaql.ground.errors import SpaqlError, echoed

if TYPE_CHECKING:
    from spaql.policy.policy import Policy

__all__ = ["FORMATS", "export", "form"]

# By name: the module of this folder, and its function from a policy and options to text. They are loaded when they are
# used.
FORMATS = {
    "c": "c:to_c",
    "python": "monitor_runs:to_python",
    "st": "monitored_st:to_st",
    "plcopen": "structured_text:to_plcopen",
    "json": "json_form:to_json",
    "dot": "drawing:to_dot",
    "svg": "drawing:to_svg",
    "md": "listings:to_markdown",
    "txt": "listings:to_text",
    "tex": "latex:to_latex",
    "csv": "listings:to_csv",
    "dtcontrol": "listings:to_dtcontrol",
}
KINDS = ("fmu2", "fmu3", "arduino")  # of packages of several files: see packages.py
MONITORED = ("c", "python", "st", "plcopen")


def form(to: str) -> Callable[..., str]:
    """The function that writes one of the FORMATS."""
    module, name = FORMATS[choice("to", to, FORMATS)].split(":")
    writer: Callable[..., str] = getattr(import_module(f"spaql.export.{module}"), name)
    return writer


def export(policy: "Policy", to: str, **options: Any) -> str:
    """The text of a policy in one of the FORMATS; `options` are those of the format."""
    if options.get("monitor", True) is None:
        del options["monitor"]
    write = form(to)
    if "monitor" in options and to not in MONITORED:
        raise SpaqlError(f"{to} has no monitor: {', '.join(MONITORED)} have")
    known = list(inspect.signature(write).parameters)[1:]
    for name in options:
        if name not in known:
            raise SpaqlError(f"{to} has no option {echoed(name)}: {', '.join(known) if known else 'it has none'}")
    return write(policy, **options)
