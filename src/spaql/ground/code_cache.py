"""The folder of compiled code: a disk cache that cannot go stale.

Numba's own cache looks only at the file a function stands in, not at the functions it calls. Here the folder has a
fingerprint of all compiled sources of the package, so that an edit anywhere recompiles what depends on it.
"""

import functools
import hashlib
import multiprocessing
import os
import re
import shutil
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from spaql.ground.errors import SpaqlError, SpaqlWarning
from spaql.ground.numba_version import numba
from spaql.ground.writing import make_folder


@functools.cache
def fingerprint() -> str:
    """Hash of the compiled sources, and of what compiles them."""
    digest = hashlib.sha256(f"{numba.__version__} {np.__version__} {sys.version}".encode())
    for name, text in compiled_sources().items():
        digest.update(name.encode() + b"\0" + text)
    return digest.hexdigest()[:16]


def compiled_sources() -> dict[str, bytes]:
    """Every source file that compiles something, or defines records: kernels read their fields by position."""
    package = Path(__file__).parent.parent
    texts = {str(path.relative_to(package)): path.read_bytes() for path in sorted(package.rglob("*.py"))}
    marks = (b"spaql.ground.compiling", b"numba", b"(NamedTuple)")
    return {name: text for name, text in texts.items() if any(mark in text for mark in marks)}


@functools.cache
def cache_folder() -> Path:
    """`$SPAQL_CACHE_DIR`, else the user's cache; one folder per version of the code; old folders are removed."""
    named = os.environ.get("SPAQL_CACHE_DIR")
    root = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "spaql"
    folder = root / f"code-{fingerprint()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        month_ago = time.time() - 30 * 86400
        for old in root.iterdir():
            if re.fullmatch(r"code-[0-9a-f]{16}", old.name) and old.stat().st_mtime < month_ago:
                shutil.rmtree(old, ignore_errors=True)
    except OSError:
        pass  # a read-only home: see `keeps`
    return folder


def nothing_there() -> bool:
    """Whether this is the first program on this machine."""
    return not any(cache_folder().rglob("*.nbi"))


@functools.cache
def keeps() -> bool:
    """Whether what is compiled now can be kept. If not, the process that the user has started says so, once."""
    try:
        make_folder(cache_folder())
    except SpaqlError as error:
        if multiprocessing.parent_process() is None:
            remedy = "set SPAQL_CACHE_DIR to a folder that can be written"
            text = f"{error}: compiled code is not kept, and every program compiles anew; {remedy}"
            warnings.warn(text, SpaqlWarning, stacklevel=2)
        return False
    return True
