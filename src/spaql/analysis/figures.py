"""All figures of the paper, drawn from the results of a store."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from spaql.analysis.atlas_figures import over_samples
from spaql.analysis.domain_figures import domains
from spaql.analysis.learning_figures import learning
from spaql.analysis.paper_tables import TITLES
from spaql.analysis.results_figures import every_agent, matrix
from spaql.analysis.sample_figures import against_trpo
from spaql.analysis.scaling_figures import scaling
from spaql.analysis.style import WIDTH, save, sheet
from spaql.analysis.trajectory_figures import trajectories
from spaql.experiments.atlas_plan import CONTESTS
from spaql.experiments.results import Results


@dataclass(frozen=True)
class Figure:
    """A drawn figure. `name` is the stem of its files, `caption` says what it shows and what to notice."""

    name: str
    title: str
    caption: str
    png: Path
    svg: Path


@dataclass(frozen=True)
class Kind:
    """A figure to draw: `draw(figure, results)` returns the caption, or None if there is no data for it."""

    name: str
    title: str
    draw: Callable[[Any, Results], str | None]
    height: float
    width: float = WIDTH


PENDULUM, FIVE, CARTPOLE = "Pendulum", "Pendulum with 5 actions", "CartPole"
SCALED = "Pendulum with scaled reward"
REWARDS = {"pendulum": "raw reward", "pendulum-scaled": "scaled reward"}

# In the order of the paper; the last ones are ours
KINDS = (
    Kind("01-scaling-pendulum", "Scaling study, Pendulum", partial(scaling, titles=REWARDS), 3.1),
    Kind("02-learning-pendulum", f"Learning on {PENDULUM}", partial(learning, problem="pendulum", title=PENDULUM), 3.1),
    Kind("03-trajectories-pendulum", f"Trajectories on {PENDULUM}", partial(trajectories, problem="pendulum", title=PENDULUM), 3.5),
    Kind("04-learning-pendulum-5", f"Learning on {FIVE}", partial(learning, problem="pendulum-5", title=FIVE), 3.1),
    Kind("05-trajectories-pendulum-5", f"Trajectories on {FIVE}", partial(trajectories, problem="pendulum-5", title=FIVE), 3.5),
    Kind("06-scaling-cartpole", "Scaling study, CartPole", partial(scaling, titles={"cartpole": CARTPOLE}), 3.1, 5.0),
    Kind("07-learning-cartpole", f"Learning on {CARTPOLE}", partial(learning, problem="cartpole", title=CARTPOLE), 3.1),
    Kind("08-trajectories-cartpole", f"Trajectories on {CARTPOLE}", partial(trajectories, problem="cartpole", title=CARTPOLE), 3.5),
    Kind("09-trpo-pendulum", f"{PENDULUM} against TRPO", partial(against_trpo, problem="pendulum", title=PENDULUM), 3.3),
    Kind("10-trpo-cartpole", f"{CARTPOLE} against TRPO", partial(against_trpo, problem="cartpole", title=CARTPOLE), 3.3),
    Kind("11-domain-of-a-ball", "The domain of a ball", lambda figure, results: domains(figure), 2.75),
    Kind("12-learning-pendulum-scaled", f"Learning on {SCALED}", partial(learning, problem="pendulum-scaled", title=SCALED), 3.1),
    *(
        Kind(f"{place}-atlas-{problem}", f"Atlas on {TITLES[problem]}", partial(over_samples, problem=problem, title=TITLES[problem]), 3.4)
        for place, problem in enumerate(CONTESTS, 13)
    ),
    Kind(f"{13 + len(CONTESTS)}-results", "Every learner on every problem", matrix, 5.6),
    Kind(f"{14 + len(CONTESTS)}-results-agents", "Every agent on every problem", every_agent, 6.4),
)


def draw_figures(results: Results, folder: Path, say: Callable[[str], None] | None = None) -> list[Figure]:
    """Every figure there is data for, as PNG and SVG; `say(name)` is called before each."""
    drawn = []
    for kind in KINDS:
        if say is not None:
            say(kind.name)
        with sheet(kind.height, kind.width) as figure:
            caption = kind.draw(figure, results)
            if caption is not None:
                png, svg = save(figure, folder, kind.name, kind.title)
                drawn.append(Figure(kind.name, kind.title, caption, png, svg))
    return drawn
