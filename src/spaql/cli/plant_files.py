"""Problems from files: `motor.py:problem`, and `motor.fmu` with what an FMU does not say."""

import importlib
import importlib.util
import inspect
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from spaql.cli.plant_options import PlantOptions, in_loop
from spaql.ground.errors import SpaqlError

if TYPE_CHECKING:
    from spaql.plants.problem import Problem

def is_python(text: str) -> bool:
    """Whether it names something in a Python file."""
    return text.endswith(".py") or text.rpartition(":")[0].endswith(".py")


def python_problem(text: str, parameters: dict[str, Any]) -> "Problem":
    """`motor.py:problem`: a problem in a Python file, or a function there that returns one and takes the parameters."""
    from spaql.plants.problem import Problem

    named, path = found_in(text)
    if inspect.isfunction(named):
        try:
            inspect.signature(named).bind(**parameters)
        except TypeError as error:
            wanted = ", ".join(map(str, inspect.signature(named).parameters.values())) or "nothing"
            raise SpaqlError(f"{text} cannot be called ({error}): it takes {wanted} (--set NAME=VALUE)") from error
        problem = run_of(path, lambda: named(**parameters))
        what = f"{text} returned {_a(problem)}"
    elif parameters:
        raise SpaqlError(f"{text} is a problem already made: --set goes with a function that makes one")
    else:
        problem, what = named, f"{text} is {_a(named)}"
    if not isinstance(problem, Problem):
        raise SpaqlError(f"{what}: give a spaql.Problem, or a function that returns one")
    return problem


def fmu_problem(path: str, plant: PlantOptions, parameters: dict[str, Any]) -> "Problem":
    """`motor.fmu`, with the options that an FMU needs; in a loop, what is paid is said there."""
    from spaql.plants.fmu import from_fmu

    measured = plant.measure or plant.observe
    paid = plant.reward or (plant.reference and "squared errors")
    if measured is None or not plant.action or paid is None or plant.horizon is None:
        needed = {"--observe": measured, "--action": plant.action, "--reward": paid, "--horizon": plant.horizon}
        missing = [name for name, value in needed.items() if not value]
        example = "--observe speed,current --action voltage=-24:24 --reward paid.py:reward --horizon 200"
        raise SpaqlError(f"{path} needs {', '.join(missing)} too, such as {example}")
    reward: Any = None if plant.reward is None else function_of("--reward", plant.reward)
    problem = from_fmu(
        path,
        observe=[name.strip() for name in measured.split(",")],
        actions=dict(_action(text) for text in plant.action),
        reward=None if plant.looped else reward,
        horizon=plant.horizon,
        dt=plant.dt,
        parameters=_with_dots(parameters),
        terminated=None if plant.terminated is None else function_of("--terminated", plant.terminated),
    )
    seen = plant.observe if plant.measure is not None else None
    return in_loop(problem, plant, seen, reward if plant.looped else None)


def _action(text: str) -> tuple[str, Any]:
    """voltage=-24:24, valve=0,0.5,1, or voltage alone for the bounds that the FMU declares."""
    from spaql.plants.axes import Finite

    name, equals, value = (part.strip() for part in text.partition("="))
    try:
        if not equals:
            return name, None
        if ":" in value:
            low, high = map(float, value.split(":"))
            return name, (low, high)
        return name, Finite(tuple(float(part) for part in value.split(",")))
    except (ValueError, TypeError) as error:
        raise SpaqlError(f"--action takes NAME=LOW:HIGH, such as voltage=-24:24, not {text!r}") from error


def _with_dots(parameters: dict[str, Any]) -> dict[str, Any]:
    """Variables of FMUs have dots in their names: motor.J=0.02 was read as a part of motor."""
    flat: dict[str, Any] = {}
    for name, value in parameters.items():
        flat |= {f"{name}.{rest}": item for rest, item in value.items()} if isinstance(value, dict) else {name: value}
    return flat


def function_of(option: str, text: str) -> Any:
    function, _ = found_in(text)
    if not inspect.isfunction(function):
        raise SpaqlError(f"{option} {text} is {_a(function)}, not a function")
    return function


def found_in(text: str) -> tuple[Any, Path]:
    """What `FILE.py:NAME` or `module:NAME` names, and the file it stands in."""
    from spaql.plants.problem import Problem

    place, _, name = ("", "", text) if text.endswith(".py") else text.rpartition(":")
    module = _file(Path(place or text)) if not place or place.endswith(".py") else _module(place)
    if place and hasattr(module, name):
        return getattr(module, name), Path(str(module.__file__))
    problems = [key for key, value in vars(module).items() if isinstance(value, Problem)]
    functions = [key for key, value in vars(module).items() if inspect.isfunction(value) and not key.startswith("_")]
    names = f"problems there: {', '.join(problems)}" if problems else "no problem there"
    names += f"; functions: {', '.join(functions)}" if functions else ""
    wrong = f"there is no {name} in {place}" if place else f"say what of {text} is meant, {text}:NAME"
    raise SpaqlError(f"{wrong}; {names}")


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except Exception as error:  # it may be missing, or raise anything itself
        raise SpaqlError(f"cannot import {name}: {_line(error)}; a file is named with its .py") from error


def _file(path: Path) -> ModuleType:
    """The module in a file. Its neighbours can be imported, and workers get what is in it by value."""
    import cloudpickle

    path = path.expanduser().resolve()
    if not path.is_file():
        raise SpaqlError(f"there is no file {path}")
    name = f"spaql_file_{path.stem}"
    there = sys.modules.get(name)
    if there is not None and there.__file__ == str(path):
        return there  # a problem and its reward may stand in one file
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # it is a file that ends in .py
    assert spec.loader is not None
    run, module = spec.loader.exec_module, importlib.util.module_from_spec(spec)
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    sys.modules[name] = module
    try:
        run_of(path, lambda: run(module))
    except SpaqlError:
        del sys.modules[name]
        raise
    cloudpickle.register_pickle_by_value(module)
    return module


def run_of(path: Path, work: Any) -> Any:
    """What the user's code returns; what it raises becomes one line with the line of the file."""
    try:
        return work()
    except (Exception, SystemExit) as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = lines[-1] if lines else getattr(error, "lineno", None)
        where = f"{path}, line {line}" if line else str(path)
        raise SpaqlError(f"{where}: {_line(error)}") from error


def _line(error: BaseException) -> str:
    said = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())
    return said if isinstance(error, SpaqlError) else f"{type(error).__name__}: {said}"


def _a(value: Any) -> str:
    kind = type(value).__name__
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"
