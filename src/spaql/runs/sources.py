"""Which sources decide about the bits of a run: all that the module which computes runs imports, directly or not.

Import statements are read, not executed. Imports inside functions count too, because learners load their loops when
they are called, and so does a text such as "spaql.training.loop:Loop"; imports under `if TYPE_CHECKING` do not. Two
lists are written by hand, and tests/runs/test_sources.py compares them with the modules that real runs load:

- `UNUSED`: folders that are imported only inside functions which no run calls, such as `Agent.replay`.
- `NAMED`: folders whose catalogs find modules by name. All of their modules count.
"""

import functools
import re
from collections.abc import Sequence
from pathlib import Path

PACKAGE = Path(__file__).parent.parent
START = "runs/compute.py"
UNUSED = ("analysis", "cli", "data", "export", "report", "studies")
NAMED = ("learners", "plants")

_TYPES_ONLY = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t]+.*\n|\n)+", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]*import (spaql[\w.]*)", re.MULTILINE)
_FROM = re.compile(r"^[ \t]*from (spaql[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
_TEXT = re.compile(r'"(spaql\.[\w.]+):\w+"')


def sources_of(package: Path = PACKAGE, left_out: Sequence[str] = ()) -> list[str]:
    """The files of the package that decide about a run; without the folders and files in `left_out`."""
    skipped = (*UNUSED, *left_out)
    there = {path.relative_to(package).as_posix() for path in package.rglob("*.py")}
    there = {name for name in there if name not in skipped and not name.startswith(tuple(f"{one}/" for one in skipped))}
    ahead = [START, *(name for name in there if name.split("/")[0] in NAMED)]
    found: set[str] = set()
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            ahead += [file for module in imported_by(package / name) for file in files_of(module) if file in there]
    return sorted(found)


@functools.cache
def imported_by(path: Path) -> frozenset[str]:
    """The names in the import statements of a file: modules of the package, or something in them."""
    text = _TYPES_ONLY.sub("", path.read_text("utf-8"))
    names = {*_IMPORT.findall(text), *_TEXT.findall(text)}
    for module, imported in _FROM.findall(text):
        names |= {module, *(f"{module}.{name}" for name in re.findall(r"\w+", re.sub(r"#.*| as \w+", "", imported)))}
    return frozenset(names)


@functools.cache
def files_of(module: str) -> tuple[str, ...]:
    """The files that are run when a module is imported: its own, and the `__init__.py` of the packages around it."""
    words = module.split(".")[1:]
    folders = ["/".join(words[:depth]) for depth in range(len(words) + 1)]
    return (*(f"{folder}/__init__.py".lstrip("/") for folder in folders), f"{'/'.join(words)}.py")
