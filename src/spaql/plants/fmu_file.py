"""FMU files: what is in them, and whether this machine can run them.

FMI 3 names platforms by tuples such as aarch64-linux. FMI 2 named only those of Intel (linux64, win64, darwin64) until
version 2.0.4 took over the tuples; on ARM, OpenModelica writes ARM code into the folder linux64 and FMPy looks for it
there. So there the folder does not tell the machine, but the header of the library does.
"""

import contextlib
import difflib
import functools
import io
import math
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

from spaql.ground.checks import checked_path
from spaql.ground.errors import SpaqlError

MACHINES = {3: "x86", 40: "aarch32", 62: "x86_64", 183: "aarch64"}  # e_machine in the header of an ELF file
MODEL = "modelDescription.xml"
NUMBERS = ("Real", "Float32", "Float64")
COUNTS = ("Integer", "Enumeration", "Boolean", *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)))
MOST_NAMES = 12  # that a message lists


class FMU(NamedTuple):
    """A co-simulation FMU that this machine can run."""

    path: Path
    description: Any  # FMPy's ModelDescription
    variables: dict[str, Any]  # FMPy's ModelVariable by name
    library: str  # its shared library, inside the file

    @property
    def major(self) -> int:
        """2 or 3: the version of FMI."""
        return int(self.description.fmiMajorVersion)

    def variable(self, name: Any, what: str) -> Any:
        """One number of the FMU by its name."""
        found = self.variables.get(name) if isinstance(name, str) else None
        if found is None:
            near = difflib.get_close_matches(str(name), self.variables, MOST_NAMES, 0.5)
            names = near or list(self.variables)[:MOST_NAMES]
            more = "" if near or len(names) == len(self.variables) else ", ..."
            raise SpaqlError(f"{what}: {self.path.name} has no variable {name!r}: it has {', '.join(names)}{more}")
        if found.dimensions or found.type not in (*NUMBERS, *COUNTS):
            kind = "an array" if found.dimensions else f"of type {found.type}"
            raise SpaqlError(f"{what}: {name} of {self.path.name} is {kind}, only single numbers can be used")
        return found


@functools.cache
def fmpy() -> Any:
    """FMPy, which says on standard output what it lacks on ARM when it is imported; we do not need that part."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            import fmpy
            import fmpy.fmi2
            import fmpy.fmi3
    except ImportError as error:
        raise SpaqlError('FMUs need FMPy: pip install "spaql[fmi]"') from error
    return fmpy


def read_fmu(path: Any) -> FMU:
    """An FMU, checked: a zip file with a description, of FMI 2 or 3, for co-simulation, with a library we can load."""
    library = fmpy()
    file = checked_path(path).resolve()
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.namelist()
    except OSError as error:
        raise SpaqlError(f"cannot read {file}: {error.strerror or error}") from error
    except zipfile.BadZipFile as error:
        raise SpaqlError(f"{file} is not an FMU: it is not a zip file") from error
    if MODEL not in members:
        raise SpaqlError(f"{file} is not an FMU: there is no {MODEL} in it")
    try:
        description = library.read_model_description(file, validate=False)
        major = description.fmiMajorVersion
    except Exception as error:  # FMPy raises whatever its parsers raise
        raise SpaqlError(f"the {MODEL} of {file.name} cannot be read: {' '.join(str(error).split())}") from error
    if major not in (2, 3):
        raise SpaqlError(f"{file.name} is of FMI {description.fmiVersion}: export it for FMI 2 or 3, co-simulation")
    if description.coSimulation is None:
        kinds = {"model exchange": description.modelExchange, "scheduled execution": description.scheduledExecution}
        only = " and ".join(kind for kind, there in kinds.items() if there is not None) or "nothing"
        raise SpaqlError(f"{file.name} is for {only} only, it has no solver of its own: export it for co-simulation")
    found = _library(file, members, description)
    return FMU(file, description, {one.name: one for one in description.modelVariables}, found)


def _library(file: Path, members: list[str], description: Any) -> str:
    """The shared library for this machine, as a member of the file."""
    library, identifier = fmpy(), description.coSimulation.modelIdentifier
    folders = [library.platform_tuple] + ([library.platform] if description.fmiMajorVersion == 2 else [])
    for folder in folders:
        member = f"binaries/{folder}/{identifier}{library.sharedLibraryExtension}"
        if member in members and _machine(file, member) in (library.architecture, None):
            return member
    raise SpaqlError(
        f"{file.name} has no binary for this machine ({' or '.join(folders)}): "
        f"it has {_platforms(file, members)}; export it for this machine, or learn where it runs"
    )


def _machine(file: Path, member: str) -> str | None:
    """For which processor a library is made; None if its header is none that we read."""
    with zipfile.ZipFile(file) as archive, archive.open(member) as opened:
        header = opened.read(20)
    if len(header) < 20 or header[:4] != b"\x7fELF":
        return None
    order: Any = "little" if header[5] == 1 else "big"
    return MACHINES.get(int.from_bytes(header[18:20], order), "another processor")


def _platforms(file: Path, members: list[str]) -> str:
    """The folders of libraries in a file, with the processor where the header tells it."""
    told = {}
    for member in members:
        head, _, name = member.removeprefix("binaries/").partition("/")
        if member.startswith("binaries/") and name.endswith((".so", ".dll", ".dylib")):
            machine = _machine(file, member)
            told[head] = head if machine is None or head.startswith(machine) else f"{head} (made for {machine})"
    if any(member.startswith("sources/") and member.endswith(".c") for member in members):
        told["sources"] = "C sources"
    return ", ".join(told.values()) or "none at all"


def attribute(variable: Any, what: str) -> Any:
    """An attribute of a variable, which may stand with its declared type."""
    own = getattr(variable, what)
    return own if own is not None or variable.declaredType is None else getattr(variable.declaredType, what)


def declared(variable: Any) -> tuple[float | None, float | None]:
    """What a variable declares; None where it declares nothing."""
    if variable.type == "Boolean":
        return 0.0, 1.0
    ends = (attribute(variable, "min"), attribute(variable, "max"))
    low, high = (None if end is None or not math.isfinite(float(end)) else float(end) for end in ends)
    return low, high
