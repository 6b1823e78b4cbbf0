"""The learners, and the rivals whose runs are shown beside theirs: one card each.

This is the only list of learners in the package. Training loops, files, reports, sweeps, help texts, colours and tests
ask the card of a learner what it is; nothing compares names. A new learner is its file, a card here and a page in
docs/.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from spaql.ground.errors import SpaqlError, echoed

if TYPE_CHECKING:
    # What `spaql.NAME` is to mypy and to editors: for them spaql/__init__.py imports all of this module. At run time
    # classes are loaded by the `home` of their card.
    from spaql.learners.agent import Agent
    from spaql.learners.aql import AQL as AQL
    from spaql.learners.aql import NBQL as NBQL
    from spaql.learners.aql import ZoomRL as ZoomRL
    from spaql.learners.atlas.learner import Atlas as Atlas
    from spaql.learners.laws import Laws as Laws
    from spaql.learners.random import Random as Random
    from spaql.learners.spaql import SPAQL as SPAQL
    from spaql.learners.spaql import SPAQLTS as SPAQLTS

FOREST_LOOP = "spaql.training.forest_loop:forest_loop"
SOLID = "-"


class Style(NamedTuple):
    """How a learner is drawn, the same in all figures and pages.

    Colours are safe for the colour-blind, and lines differ in grey print too. The colours are those of Okabe and Ito
    without their yellows, which vanish on white: each has a contrast of at least 3 with white and with a dark page.
    """

    colour: str
    line: str | tuple[float, tuple[float, ...]]  # as Matplotlib takes it
    marker: str
    dashes: str = ""  # of a line on a page, as SVG takes it
    tuned: str = ""  # dashes of the line of tuned settings


@dataclass(frozen=True)
class Card:
    """What the rest of the package must know of a learner, or of a rival."""

    name: str
    about: str  # one line, for --help and docs
    look: Style
    home: str  # "module:class"; of a rival, "module:function" that computes one run
    loop: str = FOREST_LOOP  # "module:name" of its training loop, a `Loop` of training/trainer.py
    learns_by: Literal["iterations", "samples", "nothing"] = "iterations"  # what `learn` counts
    judged: bool = True  # evaluation rollouts follow every training episode
    keeps_best: bool = False  # the evaluation rollouts decide which agent is kept
    per_step: bool = False  # one policy per step of the episode
    takes_data: bool = True  # `update` and `replay` teach it; else it learns only by what it tries itself
    simulator: bool = False  # needs hundreds of millions of samples: it has a study of its own
    model_based: bool = False  # keeps all samples, and plans with them at the first request for an action: seconds
    rival: bool = False  # of another library: its runs are computed or published, it is not a learner of this package
    in_paper: bool = False
    sample_cost: float = 1.0  # time of a training sample, in plant steps: progress bars count in it
    libraries: tuple[str, ...] = ()  # further packages whose versions belong to a run

    @property
    def learns(self) -> bool:
        return self.learns_by != "nothing"


def _sb3(name: str, method: str, look: Style, sample_cost: float) -> Card:
    """A rival of Stable-Baselines3."""
    return Card(
        name,
        f"{method}, of Stable-Baselines3",
        look,
        "spaql_studies.runs.rivals:run_rival",
        learns_by="samples",
        judged=False,
        rival=True,
        sample_cost=sample_cost,
        libraries=("torch", "stable-baselines3"),
    )


_CARDS = (
    Card(
        "Random",
        "uniformly random actions, the baseline",
        Style("#7F7F7F", (0, (1, 1.2)), "x", "2 2.5"),
        "spaql.learners.random:Random",
        loop="spaql.training.forest_loop:RandomLoop",
        learns_by="nothing",
        takes_data=False,
        in_paper=True,
    ),
    Card(
        "AQL",
        "adaptive Q-learning, one partition per step of the episode",
        Style("#D55E00", SOLID, "s", "5 2.5", "5 2.5 2 2.5"),
        "spaql.learners.aql:AQL",
        per_step=True,
        in_paper=True,
    ),
    Card(
        "NBQL",
        "Q-learning on a fixed net of cells, one per step of the episode",
        Style("#8A8A00", (0, (3, 1)), "h", "7 2.5"),
        "spaql.learners.aql:NBQL",
        per_step=True,
    ),
    Card(
        "ZoomRL",
        "zooming by confidence and a Lipschitz constant, one partition per step",
        Style("#C2417C", (0, (6, 1, 1, 1)), "*", "14 2.5 2 2.5"),
        "spaql.learners.aql:ZoomRL",
        per_step=True,
    ),
    Card(
        "SPAQL",
        "single-partition adaptive Q-learning; the best agent seen is kept",
        Style("#0072B2", (0, (5, 1)), "o", "10 2.5", "10 2.5 5 2.5"),
        "spaql.learners.spaql:SPAQL",
        keeps_best=True,
        in_paper=True,
    ),
    Card(
        "SPAQL-TS",
        "SPAQL for problems where a reference state must be reached and held",
        Style("#009E73", SOLID, "D", "", "16 3"),
        "spaql.learners.spaql:SPAQLTS",
        keeps_best=True,
        in_paper=True,
    ),
    Card(
        "Atlas",
        "model-based: learns a model from a few hundred samples, and finds a few affine laws in it",
        Style("#B07300", SOLID, "P", "18 2"),
        "spaql.learners.atlas.learner:Atlas",
        loop="spaql.laws.atlas_trials:loop_of",
        learns_by="samples",
        judged=False,
        model_based=True,
        sample_cost=30_000.0,
    ),
    Card(
        "Laws",
        "a few affine laws behind a few tests, searched for on a fast simulator",
        Style("#3B7D23", (0, (8, 1.5)), "X", "20 2.5"),
        "spaql.learners.laws:Laws",
        loop="spaql.laws.laws_loop:LawsLoop",
        learns_by="samples",
        judged=False,
        takes_data=False,
        simulator=True,
    ),
    Card(
        "TRPO",
        "trust region policy optimisation, of sb3-contrib",
        Style("#CC79A7", SOLID, "^", "12 2.5 2 2.5"),
        "spaql_studies.runs.rivals:run_trpo",
        rival=True,
        in_paper=True,
        libraries=("torch", "sb3-contrib"),
    ),
    _sb3("SAC", "soft actor-critic", Style("#8C6BB1", (0, (4, 1, 1, 1)), "v", "8 2.5 2 2.5"), 1e6),
    _sb3("DQN", "deep Q-network", Style("#7D66C4", (0, (4, 1, 1, 1)), "v", "8 2.5 2 2.5"), 5e4),
    _sb3("PPO", "proximal policy optimisation", Style("#4C8C94", (0, (2, 1)), "p", "4 2.5"), 2e4),
)
CARDS: dict[str, Card] = {card.name: card for card in _CARDS}


def learners() -> list[Card]:
    """The cards of the learners of this package, rivals left out."""
    return [card for card in CARDS.values() if not card.rival]


def rivals() -> list[Card]:
    return [card for card in CARDS.values() if card.rival]


def card_of(name: str, *, rivals_too: bool = False) -> Card:
    """The card with this name; upper and lower case do not matter."""
    named = {card.name.lower(): card for card in (CARDS.values() if rivals_too else learners())}
    if not isinstance(name, str) or name.lower() not in named:
        raise SpaqlError(f"unknown algorithm {echoed(name)}: choose one of {', '.join(named)}")
    return named[name.lower()]


def learner_class(card: Card) -> "type[Agent]":
    learner: type[Agent] = resolve(card.home)
    return learner


def resolve(place: str) -> Any:
    """What stands at "module:name"."""
    module, name = place.split(":")
    return getattr(import_module(module), name)


def class_homes() -> dict[str, str]:
    """Class names of the learners, and the modules they stand in."""
    places = (card.home.split(":") for card in learners())
    return {name: module for module, name in places}
