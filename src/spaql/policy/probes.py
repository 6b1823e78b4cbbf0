"""What a controller is put through beside fresh episodes: one step by step, jumps of a reference, the worst episode."""

from typing import TYPE_CHECKING

from spaql.ground.checks import whole
from spaql.policy.step_response import StepResponse
from spaql.policy.worst import Worst

if TYPE_CHECKING:
    from spaql.training.closed_loop import Decides
    from spaql.training.episode import Episode
    from spaql.training.falsify import Falsifiable


class Probes:
    """Of policies, and of controllers of one's own."""

    def episode(self: "Decides", seed: int = 0, rollout: int = 0) -> "Episode":
        """Rollout number `rollout` of `evaluate(seed=seed)`, step by step."""
        from spaql.training.episode import record

        return record(self, whole("seed", seed, 0), whole("rollout", rollout, 0, 10**8))

    def step_response(
        self: "Decides",
        reference: str | None = None,
        start: float | None = None,
        to: float | None = None,
        *,
        at: int | None = None,
        noise: bool = False,
        tolerance: float = 0.02,
        episodes: int = 1,
        seed: int = 0,
    ) -> StepResponse:
        """How the loop answers when a reference jumps: rise time, overshoot, settling time, steady-state error.

        - `reference`: the one that jumps, of those that a variable follows; the only one need not be named
        - `start`, `to`: from where to where; 20 and 80 % of its range. It jumps, even if it usually moves at a rate
        - `at`: the step of the episode at which it jumps; half of the horizon
        - `noise`: whether sensors have their noise; without it the numbers are those of the loop
        - `tolerance`: the output is settled within this share of the step around the reference
        - `episodes`, `seed`: how many, from the start states of `evaluate(seed=seed)`. Start, drawn parameters and
          disturbances of the plant are as these episodes draw them

        Other references stay in the middle of their range.
        """
        from spaql.training.episode import respond

        return respond(self, reference, start, to, at, noise, tolerance, episodes, seed)

    def falsify(
        self: "Falsifiable", episodes: int | None = None, seed: int = 0, *, by: str | None = None, fresh: int = 1000
    ) -> Worst:
        """Search for the worst episode: over start states, drawn parameters, references, disturbances and noise.

        - `episodes`: how many the search tries; 2000, and 50 in Gymnasium environments
        - `by`: what is worst, "return" (the lowest) or "limits" (the largest excess over one, as share of the range of
          its variable); without it "limits", if the problem has any
        - `fresh`: ordinary episodes, those of `evaluate(seed=seed)`, to compare with; the search begins at their worst

        On compiled plants everything random in an episode comes of uniform numbers: those of the start are searched
        one by one, between 0.001 and 0.999, so that what is normal stays within 3.7 standard deviations; those of the
        steps in eight parts of the episode, each of which has random numbers of its own. Gymnasium environments tell
        only seeds: there the worst of `episodes` seeds is found, and `fresh` is not used. The same seed finds the same
        episode.
        """
        from spaql.training.falsify import falsify

        return falsify(self, episodes, seed, by, fresh)
