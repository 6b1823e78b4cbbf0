"""What the site shows beside the pages of this folder: the README, the changelog, and every source file that a page names.

A link such as `[update](../src/spaql/learners/update.py#update)` works where the repository is browsed. On the site it leads to a page with
that file, at that function; no server of ours or others is needed.
"""

import ast
import json
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.utils import get_relative_url

ROOT = Path(__file__).parent.parent
PAGES = {"README.md": "readme.md", "CHANGELOG.md": "changelog.md"}
LINK = re.compile(r"\[([^\]\n]*)\]\(([\w./-]+)(?:#([\w.-]+))?\)")
FETCHED = "https://unpkg.com/iframe-worker/shim"
SHOWN = (".py", ".cff", ".ipynb")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made."""
    for name, page in PAGES.items():
        files.append(File.generated(config, page, content=_as_if_in_docs((ROOT / name).read_text())))
    texts = [(ROOT / name).read_text() for name in PAGES] + [page.read_text() for page in (ROOT / "docs").glob("*.md")]
    for name in sorted({path for text in texts for path in _sources(text)}):
        files.append(File.generated(config, f"source/{name}.md", content=source_page(name), inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links that leave the folder to the pages made above."""
    return markdown if page.file.src_path.startswith("source/") else LINK.sub(_moved, markdown)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """The theme would fetch a script for the search from a server; ours is here."""
    return output.replace(FETCHED, get_relative_url("search_from_disk.js", page.url))


def on_post_template(output_content: str, **_: Any) -> str:
    """The same for the page that says that there is no such page."""
    return output_content.replace(FETCHED, "/search_from_disk.js")


def source_page(name: str) -> str:
    """A file of the repository as a page: functions and classes of a program have headings of their own, cells of a notebook stay cells."""
    text = (ROOT / name).read_text()
    head = f"---\nsearch:\n  exclude: true\n---\n\n# {name}\n\n"
    if name.endswith(".ipynb"):
        cells = [("".join(cell["source"]), cell["cell_type"] == "code") for cell in json.loads(text)["cells"]]
        return head + "\n\n".join(_code(source) if code else re.sub("^#", "##", source) for source, code in cells)
    if not name.endswith(".py"):
        return head + _code(text, "yaml")
    lines = text.splitlines()
    nodes = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    begins = [min([node.lineno, *(mark.lineno for mark in node.decorator_list)]) for node in nodes]
    ends = [*begins, len(lines) + 1][1:]  # none in a file of data alone
    pages = [_code("\n".join(lines[: begins[0] - 1] if nodes else lines), first=1)]
    for node, begin, end in zip(nodes, begins, ends, strict=True):
        pages.append(f"## `{node.name}` {{ #{node.name} }}\n\n" + _code("\n".join(lines[begin - 1 : end - 1]), first=begin))
    return head + "\n\n".join(pages)


def _code(text: str, language: str = "python", first: int | None = None) -> str:
    numbers = "" if first is None else f' linenums="{first}"'
    return f"``` {{.{language}{numbers}}}\n{text.rstrip()}\n```"


def _as_if_in_docs(text: str) -> str:
    """Links of a file at the root, as a page of this folder would write them."""
    text = re.sub(r"(\]\()docs/", r"\1", text)
    return re.sub(r"(\]\()((?:src|examples|benchmarks)/|[A-Z]+\.(?:cff|md))", r"\1../\2", text)


def _sources(text: str) -> set[str]:
    links = (match[2].removeprefix("../") for match in LINK.finditer(text))
    return {path for path in links if Path(path).suffix in SHOWN and (ROOT / path).is_file()}


def _moved(match: re.Match[str]) -> str:
    words, path, symbol = match.groups()
    name = path.removeprefix("../")
    if name == path or not (ROOT / name).is_file():
        return match[0]  # inside the folder, or broken: that is for MkDocs to say
    if name in PAGES:
        return f"[{words}]({PAGES[name]}{f'#{symbol}' if symbol else ''})"
    if Path(name).suffix in SHOWN:
        return f"[{words}](source/{name}.md{'#' + symbol.partition('.')[0] if symbol else ''})"
    return words  # a data file: named, not shown
