"""Files that appear whole or not at all, and checks before the work whether they can be written."""

import contextlib
import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from pathlib import Path

from spaql.ground.checks import checked_path
from spaql.ground.errors import SpaqlError

try:
    import fcntl
except ImportError:  # not on Windows: there, processes that save at the same moment do not wait for each other
    fcntl = None  # type: ignore[assignment]

CURVE = "learning_curve.png"  # beside the agents of `spaql train --out`
PICTURES = ("png", "svg", "pdf")  # that a user can ask for
NO_ROOM = tuple(getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG") if hasattr(errno, name))
NO_RIGHT = (errno.EROFS, errno.EACCES, errno.EPERM)
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # with which a formula begins in a spreadsheet


def refusal(what: str, error: OSError) -> SpaqlError:
    """What could not be done, why, and what to do about it."""
    cause = error.strerror or str(error)
    remedy = "make room there, or choose another place" if error.errno in NO_ROOM else ""
    remedy = "choose a place that can be written to" if error.errno in NO_RIGHT else remedy
    return SpaqlError(f"{what}: {cause}{remedy and f'; {remedy}'}")


def write_whole(path: Path, write: Callable[..., object], *, lasting: bool = False) -> None:
    """`write(file)` into a temporary file beside `path` (a name that pandas and polars skip), then rename.

    A full disk or a kill never leaves half a file. `lasting`: the data are on the disk, not only in a buffer, before
    the file is renamed; for data that cannot be computed again.
    """
    part = None
    path = Path(os.path.realpath(path))  # through links, not over them
    try:
        if path.exists() and not path.is_file():  # a device or a pipe: not to be replaced by a file
            with open(path, "wb") as file:
                write(file)
            return
        part = path.parent / f".{os.urandom(8).hex()}.part"  # known before it is there: nothing can leave it behind
        with open(part, "xb") as file:
            write(file)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        os.chmod(part, 0o644)
        os.replace(part, path)
    except OSError as error:
        raise refusal(f"cannot write {path}", error) from error
    finally:
        if part is not None:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)


def cell(text: str) -> str:
    """A text for a cell of CSV: one that a spreadsheet would take for a formula begins with an apostrophe, as there."""
    return f"'{text}" if text.startswith(FORMULA) else text


def cell_text(cell: str) -> str:
    """What `cell` was made of."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA) else cell


def form_of(path: str | PathLike[str]) -> str:
    """The format that the name of a picture asks for."""
    form = checked_path(path).suffix.removeprefix(".").lower()
    if form not in PICTURES:
        raise SpaqlError(f"cannot draw {path}: choose a name that ends with {', '.join(PICTURES)}")
    return form


def make_folder(folder: Path) -> None:
    """Make a folder for later results, and check that files can be written to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise refusal(f"cannot write to {folder}", error) from error


def kept(folder: Path, save: Callable[[Path], object]) -> SpaqlError | None:
    """`save(folder)` at the end of long work. What cannot be written there is kept among the temporary files.

    That is an error all the same, which says where: the caller first tells what else it has found, then raises it.
    """
    try:
        save(folder)
    except SpaqlError as error:
        try:
            other = Path(tempfile.mkdtemp(prefix="spaql-"))
        except OSError:
            return error
        try:
            save(other)
        except SpaqlError:
            shutil.rmtree(other, ignore_errors=True)
            return error
        return SpaqlError(f"{error}; it is kept in {other} instead: move it from there")
    return None


def check_file(path: Path | None) -> None:
    """A file can be written if its folder takes a new file: files are written beside their name, then renamed."""
    if path is None:
        return
    if path.exists() and not path.is_file() and not path.is_dir():  # a device or a pipe: written to, not replaced
        return
    if path.is_dir():
        raise SpaqlError(f"cannot write {path}: it is a folder, give a file name")
    if not path.parent.is_dir():
        raise SpaqlError(f"cannot write {path}: there is no folder {path.parent}")
    try:
        with tempfile.TemporaryFile(dir=path.resolve().parent):
            pass
    except OSError as error:
        raise refusal(f"cannot write {path}", error) from error


def check_folder(path: Path) -> None:
    """A folder can be made, and written to, if the part of its path that exists takes a new folder. Nothing is left."""
    there = next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())
    try:
        with tempfile.TemporaryDirectory(dir=there):
            pass
    except OSError as error:
        raise refusal(f"cannot write to {path}", error) from error


# -- the folder of `--out`: an agent that is saved there replaces none that would then be nowhere ----------------------


def put(folder: Path, agents: Mapping[str, Callable[[Path], object]]) -> list[Path]:
    """`save(folder / name)` for every name. An agent of such a name that is nowhere else in the folder is first copied.

    Returns the copies. So nothing is lost if a command is repeated with other options, or several processes write to
    one folder at once; to refuse would end scripts that train into the same folder again and again. The same agent,
    learned once more, is no loss.
    """
    with _alone(folder):
        copies = [_put_one(folder / name, save) for name, save in agents.items()]
    return [copy for copy in copies if copy is not None]


def _put_one(path: Path, save: Callable[[Path], object]) -> Path | None:
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
