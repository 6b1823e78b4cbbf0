"""The paper: "Control with adaptive Q-learning", its tables, claims and figures beside our runs."""

from functools import partial

from spaql.analysis.tables import Table
from spaql.studies.paper.against_trpo import against_trpo
from spaql.studies.paper.claims import claims_table
from spaql.studies.paper.learning import learning, trajectories
from spaql.studies.paper.pairs import comparison_tables, study_table
from spaql.studies.paper.plan import MAIN_RUNS, RANDOM, SCALING, TRPO, TUNED_RUNS
from spaql.studies.paper.scaling import domains, scaling
from spaql.studies.paper.summary import compared, in_terminal, key_figures, remarks, verdict
from spaql.studies.paper.tables import IN_PAPER, paper_tables
from spaql.studies.parts import TITLES, Results
from spaql.studies.study import Drawing, Section, Study

REWARDS = {"pendulum": "raw reward", "pendulum-scaled": "scaled reward"}


def _tables(results: Results) -> list[Table]:
    single = [table for table in (claims_table(results), study_table(results)) if table is not None]
    return [*paper_tables(results), *single, *comparison_tables(results)]


def _learning(problem: str) -> Drawing:
    title = TITLES[problem]
    return Drawing(f"learning-{problem}", f"Learning on {title}", partial(learning, problem=problem, title=title), 3.1)


def _trajectories(problem: str) -> Drawing:
    title = TITLES[problem]
    draw = partial(trajectories, problem=problem, title=title)
    return Drawing(f"trajectories-{problem}", f"Trajectories on {title}", draw, 3.5)


def _against_trpo(problem: str) -> Drawing:
    title = TITLES[problem]
    return Drawing(f"trpo-{problem}", f"{title} against TRPO", partial(against_trpo, problem=problem, title=title), 3.3)


STUDY = Study(
    "paper",
    experiments=(SCALING, MAIN_RUNS, TUNED_RUNS, RANDOM, TRPO),
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
        _learning("pendulum"),
        _trajectories("pendulum"),
        _learning("pendulum-5"),
        _trajectories("pendulum-5"),
        Drawing(
            "scaling-cartpole", "Scaling study, CartPole", partial(scaling, titles={"cartpole": "CartPole"}), 3.1, 5.0
        ),
        _learning("cartpole"),
        _trajectories("cartpole"),
        _against_trpo("pendulum"),
        _against_trpo("cartpole"),
        Drawing("domain-of-a-ball", "The domain of a ball", lambda figure, results: domains(figure), 2.75),
        _learning("pendulum-scaled"),
    ),
    in_terminal=in_terminal,
    compared=compared,
    verdict=verdict,
    key_figures=key_figures,
    remarks=remarks,
)
