"""The folder of `--out`: an agent that is saved there replaces none that would then be nowhere."""

import contextlib
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from spaql.ground.writing import refusal, write_whole

try:
    import fcntl
except ImportError:  # not on Windows: there, processes that save at the same moment do not wait for each other
    fcntl = None  # type: ignore[assignment]


def put(folder: Path, agents: Mapping[str, Callable[[Path], object]]) -> list[Path]:
    """`save(folder / name)` for every name. An agent of such a name that is nowhere else in the folder is first copied.

    Returns the copies. So nothing is lost if a command is repeated with other options, or several processes write to
    one folder at once; to refuse would end scripts that train into the same folder again and again. The same agent,
    learned once more, is no loss.
    """
    with _alone(folder):
        copies = [_put(folder / name, save) for name, save in agents.items()]
    return [copy for copy in copies if copy is not None]


def _put(path: Path, save: Callable[[Path], object]) -> Path | None:
    before, copy = _content(path), None
    elsewhere = {_content(other) for other in path.parent.glob("*.spaql") if other.name != path.name}
    if before is not None and before not in elsewhere:
        copy = _free(path)
        with open(path, "rb") as file:
            write_whole(copy, lambda target: shutil.copyfileobj(file, target), lasting=True)
    try:
        save(path)
    finally:
        if copy is not None and _content(path) == before:
            copy.unlink()
            copy = None
    return copy


def _free(path: Path) -> Path:
    """earlier-1-agent.spaql, earlier-2-agent.spaql, ...: patterns such as agent-seed*.spaql do not find it."""
    number = 1
    while (free := path.with_name(f"earlier-{number}-{path.name}")).exists():
        number += 1
    return free


def _content(path: Path) -> bytes | None:
    """What tells agents apart: the same training gives the same bytes. None: there is no file."""
    if not path.is_file():
        return None
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Other processes that save there wait. A process that is killed leaves no lock behind."""
    try:
        handle = None if fcntl is None else os.open(folder, os.O_RDONLY)
        try:
            if handle is not None:
                with contextlib.suppress(OSError):  # some file systems have no locks
                    fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            if handle is not None:
                os.close(handle)
    except OSError as error:
        raise refusal(f"cannot write to {folder}", error) from error
