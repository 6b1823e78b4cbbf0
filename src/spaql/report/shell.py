"""What all pages share: one file each, with style, scripts and data inside, that needs no network."""

import base64
import json
import math
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from spaql.ground.errors import SpaqlError
from spaql.ground.writing import write_whole

if TYPE_CHECKING:
    from markupsafe import Markup

SHELL = "spaql.report"  # the package of what all pages share
DIGITS = 6  # of embedded numbers: more digits cannot be seen


def render(template: str, package: str = SHELL, **context: Any) -> str:
    """A page from a template of a package. Everything that is not marked as safe is escaped.

    Templates, style sheets and scripts that the package does not have are those of this folder.
    """
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    def source(name: str) -> str:
        own = files(package).joinpath(name)
        return (own if own.is_file() else files(SHELL).joinpath(name)).read_text("utf-8")

    pages = Environment(
        loader=FunctionLoader(source), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    pages.filters |= {"coded": coded, "minus": minus, "pythonic": repr}
    pages.globals |= {"asset": lambda name: Markup(source(name))}
    return pages.get_template(template).render(context)


def write_html(path: Path, text: str) -> None:
    write_whole(path, lambda file: file.write(text.encode()))


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


# -- figures inside a page: vector graphics that take on the colours of the page ---------------------------------------

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
DROPPED = ("metadata", "title", "desc", "script", "foreignObject")
WHOLE = 518.4  # width in points of a figure that takes the whole width
MOST_BYTES = 2_200_000  # of all vector graphics of a page; the largest beyond that become PNG


def inlined(figures: Sequence[tuple[Path, Path, str]]) -> list["Markup"]:
    """An element for each (svg, png, title): the SVG, or the PNG where all vector graphics together are too large."""
    left, drawn = MOST_BYTES, {}
    for place, (svg, png, title) in sorted(enumerate(figures), key=lambda item: _size(item[1][0])):
        size = _size(svg)
        if size <= left:
            drawn[place] = inline_svg(_read(svg).decode(), f"g{place + 1}", title)
        else:
            drawn[place] = inline_png(_read(png), title)
        left -= min(size, left)
    return [drawn[place] for place in range(len(figures))]


def inline_svg(text: str, prefix: str, title: str) -> "Markup":
    """The <svg> element alone, with a name, in the text colour of the page, and with ids that no other figure uses."""
    from markupsafe import Markup

    from spaql.analysis.style import INK

    text = re.sub(re.escape(INK), "currentColor", text, flags=re.IGNORECASE)
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise SpaqlError(f"the figure {title!r} is no SVG ({error}): make the report again") from error
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in {f"{{{SVG}}}{name}" for name in DROPPED}:
                parent.remove(child)
    for element in root.iter():
        if element.tag == f"{{{SVG}}}style":  # a style sheet holds for the whole page
            element.text = re.sub(r"(^|})\s*([^{}]+)\{", rf"\1#{prefix} \2{{", element.text or "")
        for name, value in list(element.attrib.items()):
            if name.lower().startswith("on"):
                del element.attrib[name]
            elif name == "id":
                element.set(name, f"{prefix}-{value}")
            elif name in (f"{{{XLINK}}}href", "href"):
                element.set(name, re.sub("^#", f"#{prefix}-", value))
            elif "url(#" in value:
                element.set(name, value.replace("url(#", f"url(#{prefix}-"))
    for name in ("width", "height", "aria-label", "version"):
        root.attrib.pop(name, None)
    heading = ElementTree.Element(f"{{{SVG}}}title", {"id": f"{prefix}-title"})
    heading.text = title
    root.insert(0, heading)
    # figures keep their sizes relative to each other, or the letters of a narrow figure would be larger
    size = float(root.get("viewBox", f"0 0 {WHOLE} 0").split()[2]) / WHOLE
    root.set("style", f"--size: {size:.3g}; {root.get('style', '')}".strip())
    root.attrib |= {"id": prefix, "role": "img", "aria-labelledby": f"{prefix}-title"}
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def inline_png(data: bytes, title: str) -> "Markup":
    from markupsafe import Markup

    return Markup('<img alt="{}" src="data:image/png;base64,{}">').format(title, base64.b64encode(data).decode())


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SpaqlError(f"cannot read the figure {path}: {error.strerror or error}") from error


def _size(path: Path) -> int:
    return len(_read(path))
