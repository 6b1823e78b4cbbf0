"""The paper: "Control with adaptive Q-learning", its tables, claims and figures beside our runs."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from spaql.learners.registry import CARDS
from spaql.policy.digits import counted
from spaql_studies.paper import plan
from spaql_studies.paper.claims import claims_table, comparison_tables, study_table
from spaql_studies.paper.drawings import domains, scaling, trajectories
from spaql_studies.paper.learning import against_trpo, learning
from spaql_studies.paper.tables import IN_PAPER, paper_tables, published
from spaql_studies.parts import TITLES, in_order, title_of
from spaql_studies.runs.rows import Run
from spaql_studies.study import Agents, Compared, Drawing, Fact, Part, Results, Section, Study
from spaql_studies.tables import NOTHING, Column, Table, listed, number, probability, span, spread

REPORTED = (plan.MAIN_RUNS.name, plan.TUNED_RUNS.name)


def judged(tables: Iterable[Table]) -> Counter[str]:
    """Verdicts on the returns in the paper's two tables.

    The tuned agents are ours: they count only if there are no others.
    """
    rows = [row for table in tables if table.name in IN_PAPER for row in table.rows if row.get("verdict")]
    plain = [row for row in rows if not row["label"].endswith(", tuned")]
    return Counter(row["verdict"] for row in plain or rows)


def verdict(tables: Sequence[Table]) -> str:
    """The end of the page's first sentence."""
    verdicts = judged(tables)
    if not verdicts:
        return "none of the paper's two tables is among them"
    if set(verdicts) == {"not comparable"}:
        return "too short to be compared with the paper"
    text = f"{verdicts['reproduced']} of {counted(verdicts.total(), 'published return')} reproduced"
    others = [(name, count) for name, count in sorted(verdicts.items()) if name != "reproduced"]
    return ", ".join([text, *(f"{count} {name.removeprefix('differs: ')}" for name, count in others)])


def key_figures(tables: Sequence[Table]) -> list[Fact]:
    """The verdict once more, as numbers."""
    verdicts, facts = judged(tables), []
    if verdicts and "not comparable" not in verdicts:
        facts.append((f"{verdicts['reproduced']} of {verdicts.total()}", "published returns reproduced"))
    claims = [row["verdict"] for table in tables if table.name == "claims" for row in table.rows]
    claims = [said for said in claims if not said.startswith("not comparable")]
    if claims:
        facts.append((f"{claims.count('holds')} of {len(claims)}", "claims of the paper hold"))
    return facts


def remarks(results: Results) -> list[Fact]:
    """Where the runs are not those of the paper."""
    facts: list[Fact] = []
    quick = in_order(part for part, plan in results.plans.items() if plan.get("quick"))
    agents = [run for part, runs in results.parts.items() if part.experiment in REPORTED for run in runs]
    if quick:
        facts.append(("A quick look", _quick(results, quick)))
    elif agents and (seeds := len({run.seed for run in agents})) < plan.PAPER.seeds:
        few = f"{seeds} agents instead of the paper's {plan.PAPER.seeds}: wider intervals, and less powerful tests."
        facts.append(("Fewer agents", few))
    there = results.plans.keys() | results.parts.keys()
    absent = [
        part
        for experiment in (plan.SCALING, plan.MAIN_RUNS, plan.RANDOM)
        for part in experiment.parts
        if part not in there and Part(experiment.tuned, part.problem) not in there
    ]
    if absent:
        facts.append(("Not the whole paper", f"Not run: {listed(map(title_of, absent))}."))
    if any(part.experiment == plan.TUNED_RUNS.name for part in there):
        tuned = "Agents called tuned use the ξ that was best in our scaling study, not the published one."
        facts.append(("ξ from our own study", tuned))
    return facts


def _quick(results: Results, parts: Sequence[Part]) -> str:
    runs = [run for part in parts if part.experiment in REPORTED for run in results.parts.get(part, [])]
    text = "Fewer and shorter runs than in the paper."
    if runs:
        text = f"{span(run.iterations for run in runs)} training episodes instead of {plan.PAPER.iterations:,}, "
        text += f"{len({run.seed for run in runs})} agents instead of {plan.PAPER.seeds}."
    text += " The curves show the trend; their end values cannot be compared with the paper and get no verdict. "
    text += "Run the command without `--quick` for that."
    return text if len(parts) == len(results.plans) else f"{text} Quick are: {listed(map(title_of, parts))}."


# -- in the terminal ---------------------------------------------------------------------------------------------------

SHORT_LABELS = {"Random, torque in [0, 2]": "Random [0, 2]", "Random, whole range": "Random, all"}


def in_terminal(table: Table, roomy: bool) -> Table | None:
    """The paper's two tables, so short that they fit into 80 columns."""
    if table.name not in IN_PAPER:
        return None
    digits = 0 if max(abs(row["fresh"]) for row in table.rows) > 500 else 1

    def mean(heading: str, name: str) -> Column:
        return Column(heading, lambda row: spread(row[name], row[f"{name}_half_width"], digits))

    columns = (
        Column("", lambda row: str(SHORT_LABELS.get(row["label"], row["label"])), words=True),
        mean("paper", "paper_reward"),
        mean("best seen", "best_seen"),
        mean("fresh", "fresh"),
        *([Column("arms", lambda row: number(row["arms"], 0))] if roomy else []),
        Column("verdict", lambda row: row["verdict"].removeprefix("differs: ") or NOTHING, words=True),
        Column("p", lambda row: probability(row["p"])),
    )
    return Table(table.name, table.title, columns, table.rows)


# -- all agents of the paper's experiments on a problem: what the page lists, and shows as curves ----------------------

TORQUE_DASHES = "1.5 5"  # of Random with torques in [0, 2]


def compared(results: Results) -> list[Compared]:
    """By problem, without problems on which only TRPO was run."""
    return [
        Compared(problem, TITLES[problem], groups_of(results, problem), curves=bool(plan.main_runs(results, problem)))
        for problem in plan.MAIN
        if plan.main_runs(results, problem) or results.runs("random", problem)
    ]


def groups_of(results: Results, problem: str) -> list[Agents]:
    """Everything that has been run on a problem, in the order of the tables."""

    def agents(label: str, name: str, runs: list[Run], dashes: str, in_paper: bool = True) -> Agents:
        return Agents(label, name, runs, dashes, _published(problem, name, runs) if in_paper else {})

    low, whole = plan.random_runs(results, problem, 0.0), plan.random_runs(results, problem)
    groups = [
        agents(name, name, results.runs("main", problem, name), CARDS[name].look.dashes) for name in plan.LEARNERS
    ]
    groups += [
        agents(f"{name}, tuned", name, results.runs("tuned", problem, name), CARDS[name].look.tuned, in_paper=False)
        for name in plan.LEARNERS
    ]
    groups.append(agents("Random, torque in [0, 2]", "Random", low, TORQUE_DASHES))
    label = "Random, whole range" if low else "Random"
    groups.append(agents(label, "Random", whole, CARDS["Random"].look.dashes, not low))
    groups.append(agents("TRPO", "TRPO", results.runs("trpo", problem), CARDS["TRPO"].look.dashes))
    return [group for group in groups if group.runs]


def _published(problem: str, algorithm: str, runs: list[Run]) -> dict[str, tuple[float, float]]:
    """The paper's values for agents that were trained as long as the paper's."""
    if not runs or (CARDS[algorithm].learns and runs[0].iterations != plan.PAPER.iterations):
        return {}
    figures = {"best_seen": published(problem, algorithm), "arms": published(problem, algorithm, "arms")}
    return {name: pair for name, pair in figures.items() if pair is not None}


REWARDS = {"pendulum": "raw reward", "pendulum-scaled": "scaled reward"}


def _tables(results: Results) -> list[Table]:
    single = [table for table in (claims_table(results), study_table(results)) if table is not None]
    return [*paper_tables(results), *single, *comparison_tables(results)]


# What is drawn of a problem: the function, the title and the height
KINDS: dict[str, tuple[Callable[..., str | None], str, float]] = {
    "learning": (learning, "Learning on {}", 3.1),
    "trajectories": (trajectories, "Trajectories on {}", 3.5),
    "trpo": (against_trpo, "{} against TRPO", 3.3),
}


def _of(kind: str, problem: str) -> Drawing:
    (draw, heading, height), title = KINDS[kind], TITLES[problem]
    drawn = partial(draw, problem=problem, title=title)
    return Drawing(f"{kind}-{problem}", heading.format(title), drawn, height)


STUDY = Study(
    "paper",
    experiments=(plan.SCALING, plan.MAIN_RUNS, plan.TUNED_RUNS, plan.RANDOM, plan.TRPO),
    tables=_tables,
    sections=(
        Section("tables", "The paper’s tables", tables=IN_PAPER),
        Section("claims", "The paper’s claims", tables=("claims",), captions=False),
        Section("learning", "Learning curves", curves=True),
        Section("figures", "Figures", figures=True),
        Section("further", "Further tables", tables=None),
    ),
    title="Reproducing “Control with adaptive Q-learning”",
    opening="This page compares the published values with runs of an independent implementation.",
    # In the order of the paper; the last two are ours
    figures=(
        Drawing("scaling-pendulum", "Scaling study, Pendulum", partial(scaling, titles=REWARDS), 3.1),
        *(_of(kind, problem) for problem in ("pendulum", "pendulum-5") for kind in ("learning", "trajectories")),
        Drawing(
            "scaling-cartpole", "Scaling study, CartPole", partial(scaling, titles={"cartpole": "CartPole"}), 3.1, 5.0
        ),
        _of("learning", "cartpole"),
        _of("trajectories", "cartpole"),
        _of("trpo", "pendulum"),
        _of("trpo", "cartpole"),
        Drawing("domain-of-a-ball", "The domain of a ball", lambda figure, results: domains(figure), 2.75),
        _of("learning", "pendulum-scaled"),
    ),
    in_terminal=in_terminal,
    compared=compared,
    verdict=verdict,
    key_figures=key_figures,
    remarks=remarks,
)
