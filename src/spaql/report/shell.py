"""What all pages share: one file each, with style, scripts and data inside, that needs no network."""

import json
import math
import re
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spaql.writing import write_whole

if TYPE_CHECKING:
    from markupsafe import Markup

DIGITS = 6  # of embedded numbers: more digits cannot be seen


def render(template: str, **context: Any) -> str:
    """A page from a template of this folder. Everything that is not marked as safe is escaped."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    pages = Environment(
        loader=FunctionLoader(source), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    pages.filters |= {"coded": coded, "minus": minus, "pythonic": repr}
    pages.globals |= {"asset": asset}
    return pages.get_template(template).render(context)


def write_html(path: Path, text: str) -> None:
    write_whole(path, lambda file: file.write(text.encode()))


def source(name: str) -> str:
    return files("spaql.report").joinpath(name).read_text("utf-8")


def asset(name: str) -> "Markup":
    """A style sheet or script of this folder, to be put into the page as it is."""
    from markupsafe import Markup

    return Markup(source(name))


def embedded(data: Any) -> "Markup":
    """JSON that can stand inside <script>: nothing in it ends the element, whatever the data contain."""
    from markupsafe import Markup

    text = json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=True)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def plain(values: Iterable[float], digits: int = DIGITS) -> list[float | int | None]:
    """Numbers for JSON: rounded, whole numbers without a point, None for infinities and NaN."""
    return [one_plain(float(value), digits) for value in values]


def one_plain(value: float, digits: int = DIGITS) -> float | int | None:
    if not math.isfinite(value):
        return None
    value = float(f"{value:.{digits}g}")
    return int(value) if value.is_integer() else value


def minus(text: str) -> str:
    """Real minus signs before numbers: a hyphen is too short beside digits."""
    return re.sub(r"(?<![\w.)-])-(?=[\d.])", "−", text)


def coded(text: str) -> "Markup":
    """Words in `backticks` as code; names with a hyphen stay on one line."""
    from markupsafe import Markup, escape

    html = re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text)))
    return Markup(re.sub(r"\bSPAQL-TS\b", '<span class="one">SPAQL-TS</span>', html))
