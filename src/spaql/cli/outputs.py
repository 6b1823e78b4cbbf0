"""Find out before the work whether its result can be written. Nothing is left behind."""

import tempfile
from pathlib import Path

from spaql.errors import SpaqlError


def check_file(path: Path | None) -> None:
    """A file can be written if its folder takes a new one: files are written beside their name, then renamed."""
    if path is None or (path.exists() and not path.is_file() and not path.is_dir()):  # a device or a pipe: written to, not replaced
        return
    if path.is_dir():
        raise SpaqlError(f"cannot write {path}: it is a folder, give a file name")
    if not path.parent.is_dir():
        raise SpaqlError(f"cannot write {path}: there is no folder {path.parent}")
    try:
        with tempfile.TemporaryFile(dir=path.resolve().parent):
            pass
    except OSError as error:
        raise SpaqlError(f"cannot write {path}: {error.strerror or error}") from error


def check_folder(path: Path) -> None:
    """A folder can be made, and written to, if what there is of its path takes a new folder."""
    there = next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())
    try:
        with tempfile.TemporaryDirectory(dir=there):
            pass
    except OSError as error:
        raise SpaqlError(f"cannot write to {path}: {error.strerror or error}") from error
