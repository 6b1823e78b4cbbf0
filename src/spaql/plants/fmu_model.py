"""FMU files: what is in them, whether this machine can run them, and one instance that runs.

FMI 3 names platforms by tuples such as aarch64-linux. FMI 2 named only those of Intel (linux64, win64, darwin64) until
version 2.0.4 took over the tuples; on ARM, OpenModelica writes ARM code into the folder linux64 and FMPy looks for it
there. So there the folder does not tell the machine, but the header of the library does.
"""

import contextlib
import difflib
import functools
import io
import shutil
import tempfile
import weakref
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from spaql.ground.checks import checked_path
from spaql.ground.errors import SpaqlError

MACHINES = {3: "x86", 40: "aarch32", 62: "x86_64", 183: "aarch64"}  # e_machine in the header of an ELF file
MODEL = "modelDescription.xml"
NUMBERS = ("Real", "Float32", "Float64")
COUNTS = ("Integer", "Enumeration", "Boolean", *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)))
MOST_NAMES = 12  # that a message lists
STATES = ("ok", "warning", "discard", "error", "fatal", "pending")
FATAL = 4


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
        variable = self.variables.get(name) if isinstance(name, str) else None
        if variable is None:
            near = difflib.get_close_matches(str(name), self.variables, MOST_NAMES, 0.5)
            names = near or list(self.variables)[:MOST_NAMES]
            more = "" if near or len(names) == len(self.variables) else ", ..."
            raise SpaqlError(f"{what}: {self.path.name} has no variable {name!r}: it has {', '.join(names)}{more}")
        if variable.dimensions or variable.type not in (*NUMBERS, *COUNTS):
            kind = "an array" if variable.dimensions else f"of type {variable.type}"
            raise SpaqlError(f"{what}: {name} of {self.path.name} is {kind}, only single numbers can be used")
        return variable


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
        raise SpaqlError(f"the {MODEL} of {file.name} cannot be read: {error}") from error
    if major not in (2, 3):
        raise SpaqlError(f"{file.name} is of FMI {description.fmiVersion}: export it for FMI 2 or 3, co-simulation")
    if description.coSimulation is None:
        kinds = {"model exchange": description.modelExchange, "scheduled execution": description.scheduledExecution}
        only = " and ".join(kind for kind, there in kinds.items() if there is not None) or "nothing"
        raise SpaqlError(f"{file.name} is for {only} only, it has no solver of its own: export it for co-simulation")
    binary = _library(file, members, description)
    return FMU(file, description, {variable.name: variable for variable in description.modelVariables}, binary)


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
    folders = {}
    for member in members:
        head, _, name = member.removeprefix("binaries/").partition("/")
        if member.startswith("binaries/") and name.endswith((".so", ".dll", ".dylib")):
            machine = _machine(file, member)
            folders[head] = head if machine is None or head.startswith(machine) else f"{head} (made for {machine})"
    if any(member.startswith("sources/") and member.endswith(".c") for member in members):
        folders["sources"] = "C sources"
    return ", ".join(folders.values()) or "none at all"


# -- an instance -------------------------------------------------------------------------------------------------------

# Variables of one type, which FMI reads and writes together: type, value references, places in the list of names.
Group = list[tuple[str, list[int], list[int]]]


class FmuModel:
    """One instance of an FMU, unpacked into a folder of its own, which goes with it."""

    def __init__(self, fmu: FMU, beyond: str) -> None:
        self.fmu, self.name, self.beyond = fmu, fmu.path.name, beyond
        self.folder = Path(tempfile.mkdtemp(prefix="spaql-fmu-"))
        self.instance: list[Any] = []  # one, or none yet; a list, because the finalizer must see it too
        self.log: list[str] = []  # what the FMU says, newest last
        self.close = weakref.finalize(self, _close, self.instance, self.folder)

    def group(self, names: Sequence[str]) -> Group:
        kinds: dict[str, tuple[list[int], list[int]]] = {}
        for place, name in enumerate(names):
            variable = self.fmu.variables[name]
            whole = "Integer" if self.fmu.major == 2 else "Int64"
            kind = whole if variable.type == "Enumeration" else variable.type
            references, places = kinds.setdefault(kind, ([], []))
            references.append(variable.valueReference)
            places.append(place)
        return [(kind, references, places) for kind, (references, places) in kinds.items()]

    def get(self, group: Group) -> list[float]:
        values = [0.0] * sum(len(places) for _, _, places in group)
        with self._failing("cannot be read"):
            for kind, references, places in group:
                for place, value in zip(places, getattr(self.instance[0], f"get{kind}")(references), strict=True):
                    values[place] = float(value)
        return values

    def put(self, group: Group, values: Sequence[float]) -> None:
        with self._failing("does not take these values: " + ", ".join(f"{value:g}" for value in values)):
            for kind, references, places in group:
                chosen = [values[place] if kind in NUMBERS else round(values[place]) for place in places]
                getattr(self.instance[0], f"set{kind}")(references, chosen)

    def begin(self, group: Group, values: Sequence[float]) -> None:
        """Time 0 of a new episode."""
        self._renew()
        fmu = self.instance[0]
        self.log.clear()
        with self._failing("cannot be initialised" + (" with these start values" if values else "")):
            if self.fmu.major == 2:
                fmu.setupExperiment(startTime=0.0)
            self.put(group, values)
            fmu.enterInitializationMode(**({} if self.fmu.major == 2 else {"startTime": 0.0}))
            fmu.exitInitializationMode()

    def step(self, time: float, dt: float) -> None:
        usual = getattr(self.fmu.description.defaultExperiment, "stepSize", None)
        hint = "" if time > 0 else f"; it may want another dt ({f'its own is {usual}' if usual else 'it names none'})"
        with self._failing(f"failed at {time:g} s in a step of dt = {dt:g} s", self.beyond or hint):
            flags = self.instance[0].doStep(currentCommunicationPoint=time, communicationStepSize=dt)
        if flags is not None and (flags[1] or flags[2]):  # FMI 3: terminateSimulation, earlyReturn
            self._forget(False)
            asked = "end the episode before that: terminated=..., or a shorter horizon"
            raise SpaqlError(f"{self.name} stopped its simulation at {flags[3]:g} s: {asked}")

    def _renew(self) -> None:
        """An instance in the state after instantiation: reset, or where the FMU cannot do that, a new one."""
        if self.instance:
            try:
                self.instance[0].reset()
            except fmpy().fmi1.FMICallException as error:
                self._forget(error.status >= FATAL)
        if not self.instance:
            self._instantiate()

    def _instantiate(self) -> None:
        if not self.close.alive:
            raise SpaqlError(f"{self.name} is closed: make the problem again")
        library, description = fmpy(), self.fmu.description
        kind = library.fmi2.FMU2Slave if self.fmu.major == 2 else library.fmi3.FMU3Slave
        try:
            if not any(self.folder.iterdir()):
                library.extract(self.fmu.path, self.folder)
            with contextlib.chdir("."):  # FMPy works in the folder of the library, and stays there if that fails
                instance = kind(
                    guid=description.guid, modelIdentifier=description.coSimulation.modelIdentifier,
                    unzipDirectory=str(self.folder), libraryPath=str(self.folder / self.fmu.library),
                )  # fmt: skip
            heard = _heard(self.log)  # not self: the FMU must not keep alive what closes it
            instance.instantiate(**({"callbacks": _callbacks(heard)} if self.fmu.major == 2 else {"logMessage": heard}))
        except Exception as error:  # a missing library of the system, a license, a token that does not fit
            why = " ".join(str(error).replace(str(self.folder), "").split())
            raise SpaqlError(f"{self.name} cannot be loaded: {why}{self._last()}") from error
        self.instance.append(instance)

    @contextlib.contextmanager
    def _failing(self, what: str, hint: str = "") -> Any:
        """A failing call becomes one line, and the instance is given up: FMI allows nothing else after an error."""
        try:
            yield
        except fmpy().fmi1.FMICallException as error:
            status = STATES[error.status] if 0 <= error.status < len(STATES) else "unknown"
            self._forget(error.status >= FATAL)
            called = f"{error.function} gave status {error.status}, {status}"
            raise SpaqlError(f"{self.name} {what} ({called}){self._last()}{hint}") from error

    def _forget(self, fatal: bool) -> None:
        """After a fatal error not even freeing is allowed."""
        for instance in self.instance:
            if not fatal:
                instance.freeInstance()
        self.instance.clear()

    def _last(self) -> str:
        return f": {self.log[-1]}" if self.log else ""


def _heard(log: list[str]) -> Callable[..., None]:
    """Keeps the last message; both versions of FMI end their arguments with status, category and message."""

    def keep(*arguments: Any) -> None:
        status, _, message = arguments[-3:]
        if status > 0 and message:
            log[:] = [" ".join(message.decode("utf-8", "replace").split())[:200]]

    return keep


def _callbacks(heard: Callable[..., None]) -> Any:
    """What an FMU of FMI 2 is given: memory, and who listens."""
    fmi2 = fmpy().fmi2
    callbacks = fmi2.fmi2CallbackFunctions()
    callbacks.logger = fmi2.fmi2CallbackLoggerTYPE(heard)
    callbacks.allocateMemory = fmi2.fmi2CallbackAllocateMemoryTYPE(fmi2.calloc)
    callbacks.freeMemory = fmi2.fmi2CallbackFreeMemoryTYPE(fmi2.free)
    return callbacks


def _close(instance: list[Any], folder: Path) -> None:
    while instance:
        last = instance.pop()
        with contextlib.suppress(fmpy().fmi1.FMICallException):  # not allowed before the first episode
            last.terminate()
        last.freeInstance()
    shutil.rmtree(folder, ignore_errors=True)
