"""A Numba that lacks something of its private interfaces, as `spaql.ground.numba_internals` sees it. Numba itself keeps it."""

import ast
import builtins
import contextlib
from pathlib import Path
from types import SimpleNamespace

import spaql

INTERNALS = Path(spaql.__file__).parent / "ground" / "numba_internals.py"


def private_names():
    """What the module imports from Numba, and what it needs of that: "CFunc", "CFunc.compile"."""
    tree = ast.parse(INTERNALS.read_text("utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "numba"]
    from spaql.ground.numba_internals import NEEDED

    return [name.name for node in imports for name in node.names] + NEEDED


class Lacking:
    """An object without one attribute, or whose attribute is an object without one."""

    def __init__(self, real, path):
        self._real, self._path = real, path

    def __getattr__(self, name):
        if self._path == [name]:
            raise AttributeError(f"{self._real!r} has no attribute {name!r}")
        found = getattr(self._real, name)
        return Lacking(found, self._path[1:]) if self._path[0] == name else found


@contextlib.contextmanager
def taken_away(dotted):
    owner, *path = dotted.split(".")
    real = builtins.__import__

    def found(module, scope=None, local=None, names=(), level=0):
        result = real(module, scope, local, names, level)
        if (scope or {}).get("__name__") != "spaql.ground.numba_internals" or owner not in (names or ()):
            return result
        if not path:
            raise ImportError(f"cannot import name {owner!r} from {module!r}")
        return SimpleNamespace(**{name: getattr(result, name) for name in names} | {owner: Lacking(getattr(result, owner), path)})

    builtins.__import__ = found
    try:
        yield
    finally:
        builtins.__import__ = real
