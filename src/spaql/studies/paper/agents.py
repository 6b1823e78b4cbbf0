"""All agents of the paper's experiments on a problem: what the page lists, and shows as curves."""

from spaql.learners.registry import CARDS
from spaql.runs.rows import Run
from spaql.studies.paper.plan import LEARNERS, MAIN, PAPER, main_runs, random_runs
from spaql.studies.paper.published import published
from spaql.studies.parts import Results
from spaql.studies.problems import TITLES
from spaql.studies.study import Agents, Compared

TORQUE_DASHES = "1.5 5"  # of Random with torques in [0, 2]


def compared(results: Results) -> list[Compared]:
    """By problem, without problems on which only TRPO was run."""
    return [
        Compared(problem, TITLES[problem], groups_of(results, problem), curves=bool(main_runs(results, problem)))
        for problem in MAIN
        if main_runs(results, problem) or results.runs("random", problem)
    ]


def groups_of(results: Results, problem: str) -> list[Agents]:
    """Everything that has been run on a problem, in the order of the tables."""

    def agents(label: str, name: str, runs: list[Run], dashes: str, in_paper: bool = True) -> Agents:
        return Agents(label, name, runs, dashes, _published(problem, name, runs) if in_paper else {})

    low, whole = random_runs(results, problem, 0.0), random_runs(results, problem)
    found = [agents(name, name, results.runs("main", problem, name), CARDS[name].look.dashes) for name in LEARNERS]
    found += [
        agents(f"{name}, tuned", name, results.runs("tuned", problem, name), CARDS[name].look.tuned, in_paper=False)
        for name in LEARNERS
    ]
    found.append(agents("Random, torque in [0, 2]", "Random", low, TORQUE_DASHES))
    label = "Random, whole range" if low else "Random"
    found.append(agents(label, "Random", whole, CARDS["Random"].look.dashes, not low))
    found.append(agents("TRPO", "TRPO", results.runs("trpo", problem), CARDS["TRPO"].look.dashes))
    return [group for group in found if group.runs]


def _published(problem: str, algorithm: str, runs: list[Run]) -> dict[str, tuple[float, float]]:
    """The paper's values for agents that were trained as long as the paper's."""
    if not runs or (CARDS[algorithm].learns and runs[0].iterations != PAPER.iterations):
        return {}
    told = {"best_seen": published(problem, algorithm), "arms": published(problem, algorithm, "arms")}
    return {name: pair for name, pair in told.items() if pair is not None}
