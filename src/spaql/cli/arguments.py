"""Problems, agents and controllers of one's own from what was typed."""

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spaql.cli.plant_files import fmu_problem, found_in, function_of, is_python, python_problem, run_of
from spaql.cli.plant_options import NOTHING, PlantOptions, bounds_of, in_loop, parsed
from spaql.ground.errors import SpaqlError
from spaql.learners.options import options_of, typed
from spaql.learners.registry import Card, card_of, learner_class, learners

if TYPE_CHECKING:
    from spaql.export.monitor import Monitor
    from spaql.learners.agent import Agent
    from spaql.plants.equations import Between
    from spaql.plants.problem import Problem
    from spaql.policy.policy import Policy

PROBLEM_HELP = "A name from `spaql problems`, a Gymnasium id, motor.py:problem, or motor.fmu (see its options)."
OPTION_HELP = (
    "An option of the learner: xi=10, bootstrap=terminate, cells=4000, reference=0,0,0,0. Repeat for several. "
    "`spaql learners` lists them."
)

BASELINE_HELP = "Another controller to compare with: motor.py:pi, an agent's file or a policy. Repeat for several."
Baselines = Annotated[list[str] | None, typer.Option("--baseline", metavar="FILE", help=BASELINE_HELP)]
MONITOR_HELP = (
    "Where the law may act: NAME=LOW:HIGH (repeat for several); `seen`, or a log, an agent's file or a certificate, "
    "for what was seen or proven."
)
Monitored = Annotated[list[str] | None, typer.Option("--monitor", metavar="REGION", help=MONITOR_HELP)]
FALLBACK_HELP = "What acts elsewhere, until a reset: 0, or motor.py:pi, an agent's file or a policy."
Fallback = Annotated[str | None, typer.Option("--fallback", metavar="CONTROLLER", help=FALLBACK_HELP)]
GIVEN_HELP = "The plant, if it is not in the agent's file: motor.py:problem, a name, or motor.fmu with its options."
GivenProblem = Annotated[str | None, typer.Option("--problem", help=GIVEN_HELP)]


def learner_help(suits: Callable[[Card], bool] = lambda card: True) -> str:
    """The names of the learners that suit a command, for the help of its argument."""
    names = [card.name.lower() for card in learners() if suits(card)]
    return f"{', '.join(names[:-1])} or {names[-1]}."


def counting(unit: str) -> str:
    """The learners whose training is counted in iterations or samples."""
    return ", ".join(card.name.lower() for card in learners() if card.learns_by == unit)


# -- problems ----------------------------------------------------------------------------------------------------------


def problem_of(problem: str, plant: PlantOptions) -> "Problem":
    """The problem with this name, of this Gymnasium id, in this Python file, or of this FMU, in the loop given."""
    parameters = settings(plant.changes)
    if problem.endswith(".fmu"):
        return fmu_problem(problem, plant, parameters)
    looped = plant.looped or plant.observe is not None or plant.reward is not None
    alone = {"action": plant.action, "terminated": plant.terminated, "dt": None if looped else plant.dt}
    for option, value in (alone | {"measure": plant.measure}).items():
        if value is not None:
            raise SpaqlError(f"--{option} goes with a .fmu file, not with {problem}")
    reward = None if plant.reward is None else function_of("--reward", plant.reward)
    return in_loop(_named(problem, plant.horizon, parameters), plant, plant.observe, reward)


def _named(problem: str, horizon: int | None, parameters: dict[str, Any]) -> "Problem":
    from spaql.plants.catalog import CATALOG
    from spaql.plants.make import make_from_catalog

    if problem in CATALOG or is_python(problem):
        if horizon is not None:
            has = f"{problem} has {CATALOG[problem].horizon if problem in CATALOG else 'its own'} steps"
            raise SpaqlError(f"--horizon goes with Gymnasium ids and FMUs; {has} (--set horizon={horizon})")
        return make_from_catalog(problem, parameters) if problem in CATALOG else python_problem(problem, parameters)
    if parameters:
        where = f"the problems by name ({', '.join(CATALOG)}) and those of files"
        raise SpaqlError(f"--set goes with {where}, not with {problem!r}")
    import gymnasium

    if problem not in gymnasium.registry and ":" not in problem:
        names = f"{', '.join(CATALOG)}, a Gymnasium id, FILE.py:NAME or FILE.fmu"
        raise SpaqlError(f"unknown problem {problem!r}: choose one of {names}")
    from spaql.plants.gym import from_gym

    return from_gym(problem, horizon)


def plant_of(problem: str | None, plant: PlantOptions) -> "Problem | None":
    """`--problem` of the commands that read a file: the plant that the file cannot hold, with the options of train."""
    if problem is not None:
        return problem_of(problem, plant)
    if plant._replace(changes=None) != NOTHING:
        raise SpaqlError("a loop needs its plant: give it with --problem motor.py:motor, or --problem motor.fmu")
    settings(plant.changes)
    return None


def settings(texts: list[str] | None) -> dict[str, Any]:
    """`--set NAME=VALUE`, or NAME.VARIABLE=VALUE for the noise of one variable, as `spaql.make` takes them."""
    parameters: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        name, dot, variable = name.strip().partition(".")
        if not equals or not name or (dot and not variable):
            raise SpaqlError(f"--set takes NAME=VALUE, such as m=2 or process_noise.velocity=0.1, not {text!r}")
        level = parameters.setdefault(name, {}) if dot else parameters
        if not isinstance(level, dict) or (variable or name) in level:
            raise SpaqlError(f"--set {text}: {name} is given twice")
        level[variable or name] = _number(text, value)
    return parameters


def _number(text: str, value: str) -> "int | float | Between":
    low, dots, high = value.partition("..")
    if dots:
        from spaql.plants.equations import Between

        if ".." in high:
            raise SpaqlError(f"--set {text}: a range is LOW..HIGH, such as m=0.8..1.2")
        return Between(float(_number(text, low)), float(_number(text, high)))  # type: ignore[arg-type]
    number = typed(value)
    if isinstance(number, bool | str):
        raise SpaqlError(f"--set {text}: {value!r} is not a number")
    return number


# -- agents ------------------------------------------------------------------------------------------------------------


def agents_of(
    problem: str, algorithm: str, plant: PlantOptions, seeds: range, options: dict[str, Any]
) -> "list[Agent]":
    learner: Any = learner_class(card_of(algorithm))
    if len(seeds) == 0:
        raise SpaqlError("--seeds must be at least 1")
    known = [option.name for option in options_of(learner)]
    for name in options:
        if name not in known:
            raise SpaqlError(f"{algorithm} has no option {name!r}: it has {', '.join(known)}")
    stated = problem_of(problem, plant)
    return [learner(stated, seed=seed, **options) for seed in seeds]


def options_given(texts: list[str] | None, others: dict[str, Any] | None = None) -> dict[str, Any]:
    """`--option NAME=VALUE`: whole numbers, numbers, true and false, words, and lists of these with commas.

    `others` are options that have flags of their own and were given by these.
    """
    options: dict[str, Any] = dict(others or {})
    for text in texts or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or not value:
            raise SpaqlError(f"--option takes NAME=VALUE, such as xi=10, not {text!r}")
        if name in options:
            raise SpaqlError(f"--option {text}: {name} is given twice")
        options[name] = [typed(part.strip()) for part in value.split(",")] if "," in value else typed(value)
    return options


# -- controllers beside a learned one: `--baseline` of `train`, `evaluate` and `explain` -------------------------------


def baselines_of(texts: Iterable[str] | None, problem: "Problem | None") -> dict[str, Any]:
    """Controllers by name: of a Python file what has this name there, else an agent or policy from its file."""
    controllers: dict[str, Any] = {}
    for text in texts or ():
        name, controller = _baseline(text, problem)
        if name in controllers:
            raise SpaqlError(f"--baseline {text}: there is another {name!r} already: rename one of the two")
        controllers[name] = controller
    return controllers


def _baseline(text: str, problem: "Problem | None", flag: str = "--baseline") -> tuple[str, Any]:
    if not is_python(text):
        return Path(text).stem, policy_in(Path(text), problem)
    controller, path = found_in(text)
    if inspect.isfunction(controller) and _takes_nothing(controller):  # problems may be functions too
        controller = run_of(path, controller)
    if not callable(getattr(controller, "evaluate", None)):
        wanted = "a policy, an agent or a spaql.Controller, such as pi = spaql.pid(problem, ...)"
        raise SpaqlError(f"{flag} {text} is no controller: give {wanted}, or a function () that returns one")
    return text.rpartition(":")[2], controller


def monitor_of(regions: list[str] | None, fallback: str | None, problem: "Problem | None") -> "Monitor | None":
    """`--monitor` and `--fallback` of `explain` and `export`."""
    if (regions is None or not regions) != (fallback is None):
        raise SpaqlError("--monitor and --fallback go together: where the law may act, and what acts elsewhere")
    if not regions or fallback is None:
        return None
    from spaql.export.monitor import Monitor
    from spaql.learners.files import load

    bounds = [parsed("monitor", text, bounds_of) for text in regions if "=" in text]
    given: Any = {name: (low, high) for name, low, high in bounds}
    if len(bounds) < len(regions):
        if len(regions) > 1:
            raise SpaqlError(f"--monitor {regions[0]}: give bounds for several variables, or one source alone")
        given = None if regions[0] == "seen" else regions[0]
        given = load(given, problem) if given is not None and given.endswith(".spaql") else given
    try:
        return Monitor(given, [float(part) for part in fallback.split(",")])
    except ValueError as error:
        if isinstance(error, SpaqlError):
            raise
    return Monitor(given, _baseline(fallback, problem, "--fallback")[1])


def _takes_nothing(function: Callable[..., Any]) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return all(parameter.default is not parameter.empty for parameter in parameters)


def policy_in(file: Path, plant: "Problem | None") -> "Policy":
    """The policy of an agent's file, or one that `spaql export --to json` has written."""
    if file.suffix == ".json":
        from spaql.policy.policy import Policy

        try:
            return Policy.from_json(file.read_text("utf-8"), problem=plant)
        except (OSError, UnicodeDecodeError) as error:
            raise SpaqlError(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from error
    from spaql.learners.files import load

    return load(file, plant).policy()
