"""An FMU as a Gymnasium environment: one step is one communication step of co-simulation."""

import contextlib
import math
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.plants.fmu_file import FMU, declared, fmpy, read_fmu
from spaql.plants.known import said
from spaql.plants.parameters import Between, Value, drawn

STATES = ("ok", "warning", "discard", "error", "fatal", "pending")
FATAL = 4


class FMUEnv(gymnasium.Env[Array, Array]):
    """Made by `spaql.from_fmu`, which checks the arguments. Pickled by its arguments: a copy opens the file again.

    - `observe`: observed variables, `low` and `high` their bounds
    - `inputs`: those that actions set, with their lowest and highest value; all others keep their start value
    - `start`: values set at every reset, numbers or ranges to draw from
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  (Gymnasium's own declaration)

    def __init__(
        self, path: str, observe: Sequence[str], low: Sequence[float], high: Sequence[float],
        inputs: Mapping[str, tuple[float, float]], reward: Callable[..., float] | None,
        terminated: Callable[..., bool] | None, dt: float, start: Mapping[str, Value],
    ) -> None:  # fmt: skip
        self.arguments = (path, observe, low, high, inputs, reward, terminated, dt, start)
        self.reward, self.terminated, self.dt, self.start = reward, terminated, dt, dict(start)
        self.observation_space = gymnasium.spaces.Box(np.array(low, float), np.array(high, float), dtype=np.float64)
        bounds = np.array(list(inputs.values()), float)
        self.action_space: Any = gymnasium.spaces.Box(bounds[:, 0], bounds[:, 1], dtype=np.float64)
        self.model = FmuModel(read_fmu(path), inputs)
        self.seen, self.driven = self.model.group(observe), self.model.group(list(inputs))
        self.values, self.before, self.steps = self.model.group(list(start)), np.zeros(len(observe)), -1

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        values = [
            drawn(value.low, value.high, self.np_random.random()) if isinstance(value, Between) else value
            for value in self.start.values()
        ]
        self.model.begin(self.values, values)
        self.steps = 0
        self.before = self._observation()
        return self.before.copy(), {}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        if self.steps < 0:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        applied = np.clip(np.asarray(action, float), self.action_space.low, self.action_space.high)
        self.model.put(self.driven, applied.tolist())
        self.model.step(self.steps * self.dt, self.dt)
        self.steps += 1
        after = self._observation()
        numbers = [*self.before.tolist(), *applied.tolist(), *after.tolist()]
        reward = 0.0 if self.reward is None else said("reward", self.reward, numbers)
        ended = self.terminated is not None and bool(said("terminated", self.terminated, numbers))
        self.before = after
        return after.copy(), reward, ended, False, {}

    def _observation(self) -> Array:
        values = self.model.get(self.seen)
        for name, value in zip(self.arguments[1], values, strict=True):
            if not math.isfinite(value):
                when = f"{self.steps * self.dt:g} s"
                raise SpaqlError(f"{self.model.name}: {name} is {value} at {when}, in step {self.steps} of an episode")
        return np.array(values)

    def close(self) -> None:
        self.steps = -1
        self.model.close()

    def __reduce__(self) -> Any:
        return FMUEnv, self.arguments


# Variables of one type, which FMI reads and writes together: type, value references, places in the list of names.
Group = list[tuple[str, list[int], list[int]]]


class FmuModel:
    """One instance of an FMU, unpacked into a folder of its own, which goes with it."""

    def __init__(self, fmu: FMU, inputs: Mapping[str, tuple[float, float]]) -> None:
        self.fmu, self.name, self.beyond = fmu, fmu.path.name, _beyond(fmu, inputs)
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
        with self._told("cannot be read"):
            for kind, references, places in group:
                for place, value in zip(places, getattr(self.instance[0], f"get{kind}")(references), strict=True):
                    values[place] = float(value)
        return values

    def put(self, group: Group, values: Sequence[float]) -> None:
        with self._told("does not take these values: " + ", ".join(f"{value:g}" for value in values)):
            for kind, references, places in group:
                chosen = [values[place] for place in places]
                whole = chosen if kind in ("Real", "Float32", "Float64") else [round(value) for value in chosen]
                getattr(self.instance[0], f"set{kind}")(references, whole)

    def begin(self, group: Group, values: Sequence[float]) -> None:
        """Time 0 of a new episode."""
        self._renew()
        fmu = self.instance[0]
        self.log.clear()
        with self._told("cannot be initialised" + (" with these start values" if values else "")):
            if self.fmu.major == 2:
                fmu.setupExperiment(startTime=0.0)
            self.put(group, values)
            if self.fmu.major == 2:
                fmu.enterInitializationMode()
            else:
                fmu.enterInitializationMode(startTime=0.0)
            fmu.exitInitializationMode()

    def step(self, time: float, dt: float) -> None:
        usual = self.fmu.description.defaultExperiment
        usual = None if usual is None else usual.stepSize
        hint = "" if time > 0 else f"; it may want another dt ({f'its own is {usual}' if usual else 'it names none'})"
        hint = self.beyond or hint
        with self._told(f"failed at {time:g} s in a step of dt = {dt:g} s", hint):
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
        made = library.fmi2.FMU2Slave if self.fmu.major == 2 else library.fmi3.FMU3Slave
        try:
            if not any(self.folder.iterdir()):
                library.extract(self.fmu.path, self.folder)
            with contextlib.chdir("."):  # FMPy works in the folder of the library, and stays there if that fails
                instance = made(
                    guid=description.guid, modelIdentifier=description.coSimulation.modelIdentifier,
                    unzipDirectory=str(self.folder), libraryPath=str(self.folder / self.fmu.library),
                )  # fmt: skip
            if self.fmu.major == 2:
                instance.instantiate(callbacks=self._callbacks())
            else:
                instance.instantiate(logMessage=self._say3)
        except Exception as error:  # a missing library of the system, a license, a token that does not fit
            why = " ".join(str(error).replace(str(self.folder), "").split())
            raise SpaqlError(f"{self.name} cannot be loaded: {why}{self._last()}") from error
        self.instance.append(instance)

    def _callbacks(self) -> Any:
        """What an FMU of FMI 2 is given: memory, and who listens."""
        fmi2 = fmpy().fmi2
        made = fmi2.fmi2CallbackFunctions()
        made.logger = fmi2.fmi2CallbackLoggerTYPE(self._say2)
        made.allocateMemory = fmi2.fmi2CallbackAllocateMemoryTYPE(fmi2.calloc)
        made.freeMemory = fmi2.fmi2CallbackFreeMemoryTYPE(fmi2.free)
        return made

    @property
    def _say2(self) -> Callable[..., None]:
        log = self.log  # not self: the FMU must not keep alive what closes it
        return lambda environment, name, status, category, message: _keep(log, status, message)

    @property
    def _say3(self) -> Callable[..., None]:
        log = self.log
        return lambda environment, status, category, message: _keep(log, status, message)

    @contextlib.contextmanager
    def _told(self, what: str, hint: str = "") -> Any:
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


def _beyond(fmu: FMU, inputs: Mapping[str, tuple[float, float]]) -> str:
    """Inputs that are given more range than the FMU declares: the first thing to suspect if it fails."""
    for name, (low, high) in inputs.items():
        least, most = declared(fmu.variables[name])
        if (least is not None and low < least) or (most is not None and high > most):
            ends = f"{'-∞' if least is None else f'{least:g}'} to {'∞' if most is None else f'{most:g}'}"
            return f"; it declares {name} from {ends}, and actions go from {low:g} to {high:g}"
    return ""


def _keep(log: list[str], status: int, message: bytes | None) -> None:
    if status > 0 and message:
        log[:] = [" ".join(message.decode("utf-8", "replace").split())[:200]]


def _close(instance: list[Any], folder: Path) -> None:
    while instance:
        last = instance.pop()
        with contextlib.suppress(fmpy().fmi1.FMICallException):  # not allowed before the first episode
            last.terminate()
        last.freeInstance()
    shutil.rmtree(folder, ignore_errors=True)
