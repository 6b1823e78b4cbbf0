"""Smaller trees that may differ where it does not matter.

Searched for on the plant, or in a model where the learner has one.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from spaql.checks import whole
from spaql.compress.in_model import compress_in_model
from spaql.compress.on_plant import compress_on_plant
from spaql.compress.search import Wanted

if TYPE_CHECKING:
    from spaql.policy.policy import Policy

NO_OBLIQUE = (
    "oblique=True changed nothing: tests of two weighted variables were tried, and none is in the best tree; "
    "a larger budget may find one"
)
OPTIONS = ("oblique", "budget", "episodes", "seed", "progress")


def compress(
    policy: "Policy",
    max_leaves: int | None = None,
    *,
    oblique: bool = False,
    budget: int | None = None,
    episodes: int | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> "Policy":
    """The smallest tree not significantly worse than the table, or the best with at most `max_leaves`.

    Of Atlas: searched for and chosen in the learned model, without a step of the plant; the frontier is confirmed on
    the plant, and counted in `samples`.

    - `oblique`: tests may weigh two variables against each other; a note says so where none is in the result;
    - `budget`: plant steps after which the search ends (400 million on compiled plants, 20 thousand in Gymnasium
      environments); judging
      what it has found on fresh episodes comes on top, and is counted too;
    - `episodes`: start states every candidate is judged on (128; in a model 32 to 96, fewer if episodes are long);
    - `seed`: of the search.
    """
    if max_leaves is not None:
        whole("max_leaves", max_leaves, 1, 100_000)
    wanted = Wanted(max_leaves, oblique, budget, episodes, seed, progress)
    way = compress_on_plant if policy.knowledge.model is None else compress_in_model
    made = way(policy, wanted)
    return replace(made, notes=(*made.notes, NO_OBLIQUE)) if oblique and not made.rules.oblique else made
