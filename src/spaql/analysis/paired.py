"""Controllers side by side on the same fresh episodes: agents, policies and functions of one's own."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from spaql.analysis.statistics import adjusted
from spaql.ground.arrays import Array
from spaql.ground.checks import whole
from spaql.ground.errors import SpaqlError
from spaql.learners.agent import Agent
from spaql.plants.loop import can_restate, stated
from spaql.plants.loop_plant import Surroundings
from spaql.plants.problem import Problem
from spaql.policy.evaluation import Evaluation
from spaql.policy.policy import Policy
from spaql.policy.words import number, percent


def compare(controllers: Mapping[str, Any], episodes: int = 1000, seed: int = 0) -> Any:
    """A pandas DataFrame with one row per controller, the best first: the return of each in the same fresh episodes.

    `controllers`: by name, whatever has `evaluate` and a `problem`, the same for all: agents, policies,
    `spaql.Controller`. Columns:

    - `mean`, `low`, `high`: the mean return with its 95 % confidence interval;
    - `worst 5 %`: the mean return of the worst 5 % of the episodes;
    - `failures`, where the problem has limits: the share of episodes that violate one;
    - `numbers`: how many numbers the printed controller contains; missing where that is not known;
    - `behind`, `p`: how much less than the best it earns, episode by episode, and p of the paired t-test that this is
      chance, corrected for the number of controllers (Holm).

    `attrs` has the episodes, the seed, and the steps of each controller. (`spaql.analysis.compare` compares learners
    over several seeds.)
    """
    count, first = whole("episodes", episodes, 2, 10**8), whole("seed", seed, 0)
    if not isinstance(controllers, Mapping) or not controllers:
        raise SpaqlError("give controllers by name, such as {'PI': pi, 'laws': agent}")
    check_same_problem(controllers)
    known = {str(name): controller.evaluate(count, first) for name, controller in controllers.items()}
    return compared(controllers, known)


def compared(controllers: Mapping[str, Any], found: Mapping[str, Evaluation]) -> Any:
    """The table of `compare`, of controllers that have been evaluated in the same episodes."""
    import pandas

    sizes = {str(name): _numbers(controller) for name, controller in controllers.items()}
    order = sorted(found, key=lambda name: -found[name].mean)
    best = found[order[0]].returns
    chances = adjusted([_chance(best - found[name].returns) for name in order[1:]], "holm") if len(order) > 1 else []
    limited = all(controller.problem.limits for controller in controllers.values())
    table = pandas.DataFrame(
        {
            "mean": [found[name].mean for name in order],
            "low": [found[name].ci95[0] for name in order],
            "high": [found[name].ci95[1] for name in order],
            "worst 5 %": [found[name].worst5 for name in order],
            **({"failures": [found[name].failures.share for name in order]} if limited else {}),
            "numbers": pandas.array([sizes[name] for name in order], "Int64"),
            "behind": [float((best - found[name].returns).mean()) for name in order],
            "p": [np.nan, *chances],
        },
        index=pandas.Index(order, name="controller"),
    )
    steps = {name: int(evaluation.samples) for name, evaluation in found.items()}
    table.attrs |= {"episodes": len(best), "seed": found[order[0]].seed, "samples": steps}
    return table


def check_same_problem(controllers: Mapping[str, Any]) -> None:
    """Refuses what is no controller, or one of another problem."""
    problems = {}
    for name, controller in controllers.items():
        problem = getattr(controller, "problem", None)
        if not isinstance(problem, Problem) or not callable(getattr(controller, "evaluate", None)):
            kind = type(controller).__name__
            raise SpaqlError(f"{name} is not a controller but a {kind}: make one with spaql.Controller")
        problems[name] = _told(problem)
    first = next(iter(problems))
    for name, known in problems.items():
        if known != problems[first]:
            raise SpaqlError(f"{name} is for another problem than {first}: episodes of the two cannot be compared")


def _told(problem: Problem) -> tuple[Any, ...]:
    """What makes episodes the same. In a loop controllers may see different variables of the same plant."""
    signals = problem.signals
    shown, taken = (problem.state, problem.actions) if signals is None else (signals.measured, signals.actuator)
    followed = () if signals is None else signals.references
    moving = tuple(reference for reference in followed if reference.changes or not reference.values)
    around = stated(problem)[2] if signals is not None and can_restate(problem) else Surroundings()
    return problem.name, shown, taken, moving, around, problem.horizon, dict(problem.parameters)


def _chance(lost: Array) -> float:
    """p of the two-sided paired t-test."""
    from scipy.stats import ttest_1samp

    return float(ttest_1samp(lost, 0.0).pvalue) if np.ptp(lost) > 0 else float(lost[0] == 0.0)


def _numbers(controller: Any) -> int | None:
    """Of a policy, or of an agent with one policy for all steps."""
    if isinstance(controller, Agent):
        return None if controller.card.per_step else controller.policy().numbers
    return controller.numbers if isinstance(controller, Policy) else None


OWN = "this controller"
UNKNOWN = "–"


def beside(learned: Mapping[str, Any], known: Mapping[str, Evaluation], baselines: Mapping[str, Any]) -> Any:
    """The table of `spaql.compare` of learned controllers, whose returns are known, and others; None without others."""
    if not baselines:
        return None
    together = check_together(learned, baselines)
    first = next(iter(known.values()))
    episodes, seed = len(first.returns), first.seed
    others = {name: controller.evaluate(episodes, seed) for name, controller in baselines.items()}
    return compared(together, {**known, **others})


def check_together(learned: Mapping[str, Any], baselines: Mapping[str, Any]) -> dict[str, Any]:
    """All of them, by name; refuses a name that is taken, and a controller of another problem."""
    for name in learned.keys() & baselines.keys():
        raise SpaqlError(f"--baseline: {name!r} is the name of the learned controller: rename the other")
    together = {**learned, **baselines}
    check_same_problem(together)
    return together


def rows_of(table: Any) -> list[tuple[str, ...]]:
    """The same in words, the headings first, then the best; without columns of which nothing is known."""
    rows: list[tuple[str, ...]] = [("controller", "return", "95 %", "worst 5 %", "failures", "numbers", "p")]
    unknown = table["numbers"].isna()
    for name, row in table.iterrows():
        failures = percent(float(row["failures"])) if "failures" in row else UNKNOWN
        chance = float(row["p"])
        p = "" if np.isnan(chance) else "< 0.001" if chance < 0.001 else f"{chance:.3f}"
        numbers = UNKNOWN if unknown[name] else f"{int(row['numbers']):,}"
        interval = f"{number(row['low'])} to {number(row['high'])}"
        rows.append((str(name), number(row["mean"]), interval, number(row["worst 5 %"]), failures, numbers, p))
    known = [j for j in range(len(rows[0])) if any(row[j] != UNKNOWN for row in rows[1:])]
    return [tuple(row[j] for j in known) for row in rows]
