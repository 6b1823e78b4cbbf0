"""What the site shows beside the pages of this folder: the README, the changelog, and every source file that a page names.

A link such as `[update](../src/spaql/learners/update.py#update)` works where the repository is browsed. On the site it leads to a page with
that file, at the line where the function begins; no server of ours or others is needed.
"""

import ast
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.utils import get_relative_url

ROOT = Path(__file__).parent.parent
PAGES = {"README.md": "readme.md", "CHANGELOG.md": "changelog.md"}
LINK = re.compile(r"\[([^\]\n]*)\]\(([\w./-]+)(?:#([\w.-]+))?\)")
SHOWN = (".py", ".cff", ".ipynb")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made."""
    for name, page in PAGES.items():
        files.append(File.generated(config, page, content=_as_if_in_docs((ROOT / name).read_text())))
    texts = [(ROOT / name).read_text() for name in PAGES] + [page.read_text() for page in (ROOT / "docs").glob("*.md")]
    for name in sorted({path for text in texts for path in _sources(text)}):
        content = f'---\nsearch:\n  exclude: true\n---\n\n# {name}\n\n``` {{.python linenums="1"}}\n{(ROOT / name).read_text()}\n```\n'
        files.append(File.generated(config, f"source/{name}.md", content=content, inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links that leave the folder to the pages made above."""
    return markdown if page.file.src_path.startswith("source/") else LINK.sub(_moved, markdown)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """The theme would fetch a script for the search from a server; ours is here."""
    return output.replace("https://unpkg.com/iframe-worker/shim", get_relative_url("search_from_disk.js", page.url))


def line_of(name: str, symbol: str) -> int:
    """The line where a function, class or method (`Class.method`) of a file of the repository begins."""
    body: list[Any] = ast.parse((ROOT / name).read_text()).body
    line = 0
    for part in symbol.split("."):
        found = [node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == part]
        if not found:
            raise KeyError(f"{name} has no {symbol}")
        body, line = found[0].body, found[0].lineno
    return line


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
        return f"[{words}](source/{name}.md{f'#__codelineno-0-{line_of(name, symbol)}' if symbol else ''})"
    return words  # a data file: named, not shown
