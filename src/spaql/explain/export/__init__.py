"""A policy in other forms: programs, data, drawings, words. See docs/exports.md."""

import inspect
from collections.abc import Callable
from typing import Any

from spaql.checks import choice
from spaql.errors import SpaqlError
from spaql.explain.export.c import to_c
from spaql.explain.export.csv_form import to_csv, to_dtcontrol
from spaql.explain.export.dot import to_dot
from spaql.explain.export.json_form import policy_from_json, to_json
from spaql.explain.export.latex import to_latex
from spaql.explain.export.python import to_python
from spaql.explain.export.structured_text import to_st
from spaql.explain.export.svg import to_svg
from spaql.explain.export.text import to_markdown, to_text
from spaql.explain.policy import Policy

__all__ = ["FORMATS", "export", "policy_from_json"]

FORMATS: dict[str, Callable[..., str]] = {
    "c": to_c,
    "python": to_python,
    "st": to_st,
    "json": to_json,
    "dot": to_dot,
    "svg": to_svg,
    "md": to_markdown,
    "txt": to_text,
    "tex": to_latex,
    "csv": to_csv,
    "dtcontrol": to_dtcontrol,
}


def export(policy: Policy, to: str, **options: Any) -> str:
    """The text of a policy in one of the FORMATS; `options` are those of the format."""
    form = FORMATS[choice("to", to, FORMATS)]
    known = list(inspect.signature(form).parameters)[1:]
    for name in options:
        if name not in known:
            raise SpaqlError(f"{to} has no option {name!r}: {', '.join(known) if known else 'it has none'}")
    return form(policy, **options)
