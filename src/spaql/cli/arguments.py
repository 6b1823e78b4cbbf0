"""Problems and agents from what was typed."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from spaql.cli.loop_options import NOTHING_AROUND, Around, in_loop
from spaql.cli.plant_files import NOTHING, Given, fmu_problem, function_of, is_python, python_problem
from spaql.ground.errors import SpaqlError
from spaql.learners.options import options_of, typed
from spaql.learners.registry import Card, card_of, learner_class, learners

if TYPE_CHECKING:
    from spaql.learners.agent import Agent
    from spaql.plants.problem import Problem

PROBLEM_HELP = "A name from `spaql problems`, a Gymnasium id, motor.py:problem, or motor.fmu (see its options)."
HORIZON_HELP = "Gymnasium ids and FMUs: steps per episode."
OPTION_HELP = (
    "An option of the learner: xi=10, bootstrap=terminate, cells=4000, reference=0,0,0,0. Repeat for several. "
    "`spaql learners` lists them."
)


def learner_help(suits: Callable[[Card], bool] = lambda card: True) -> str:
    """The names of the learners that suit a command, for the help of its argument."""
    names = [card.name.lower() for card in learners() if suits(card)]
    return f"{', '.join(names[:-1])} or {names[-1]}."


def counting(unit: str) -> str:
    """The learners whose training is counted in iterations or samples."""
    return ", ".join(card.name.lower() for card in learners() if card.learns_by == unit)


def problem_of(
    problem: str, horizon: int | None, parameters: dict[str, Any], given: Given = NOTHING,
    around: Around = NOTHING_AROUND,
) -> "Problem":  # fmt: skip
    """The problem with this name, of this Gymnasium id, in this Python file, or of this FMU, in the loop given."""
    if problem.endswith(".fmu"):
        return fmu_problem(problem, horizon, given, parameters, around)
    looped = around.any or given.observe is not None or given.reward is not None
    alone = {"action": given.action, "terminated": given.terminated, "dt": None if looped else given.dt}
    for option, value in (alone | {"measure": around.measure}).items():
        if value is not None:
            raise SpaqlError(f"--{option} goes with a .fmu file, not with {problem}")
    reward = None if given.reward is None else function_of("--reward", given.reward)
    return in_loop(_named(problem, horizon, parameters), around, given.observe, reward, given.dt)


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


def plant_of(
    problem: str | None, parameters: dict[str, Any], given: Given = NOTHING, around: Around = NOTHING_AROUND,
    horizon: int | None = None,
) -> "Problem | None":  # fmt: skip
    """`--problem` of the commands that read a file: the plant that the file cannot hold, with the options of train."""
    if problem is None:
        if around != NOTHING_AROUND or given != NOTHING or horizon is not None:
            raise SpaqlError("a loop needs its plant: give it with --problem motor.py:motor, or --problem motor.fmu")
        return None
    return problem_of(problem, horizon, parameters, given, around)


def agents_of(
    problem: str, algorithm: str, horizon: int | None, parameters: dict[str, Any], seeds: range,
    options: dict[str, Any], given: Given = NOTHING, around: Around = NOTHING_AROUND,
) -> "list[Agent]":  # fmt: skip
    learner: Any = learner_class(card_of(algorithm))
    if len(seeds) == 0:
        raise SpaqlError("--seeds must be at least 1")
    known = [one.name for one in options_of(learner)]
    for name in options:
        if name not in known:
            raise SpaqlError(f"{algorithm} has no option {name!r}: it has {', '.join(known)}")
    made = problem_of(problem, horizon, parameters, given, around)
    return [learner(made, seed=seed, **options) for seed in seeds]


def options_given(given: list[str] | None, others: dict[str, Any] | None = None) -> dict[str, Any]:
    """`--option NAME=VALUE`: whole numbers, numbers, true and false, words, and lists of these with commas.

    `others` are options that have flags of their own and were given by these.
    """
    made: dict[str, Any] = dict(others or {})
    for text in given or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or not value:
            raise SpaqlError(f"--option takes NAME=VALUE, such as xi=10, not {text!r}")
        if name in made:
            raise SpaqlError(f"--option {text}: {name} is given twice")
        made[name] = [typed(part.strip()) for part in value.split(",")] if "," in value else typed(value)
    return made
