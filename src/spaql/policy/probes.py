"""What a controller is put through beside fresh episodes: one step by step, jumps of a reference, the worst episode.

And, of a policy, how much each of its numbers may be changed before the return falls: which digits matter, and which do
not. One number at a time, on the same fresh episodes, so that the answer has no noise of its own.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import whole
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import working
from spaql.policy.memory import observed
from spaql.policy.probe_results import StepResponse, Worst
from spaql.trees.laws import SCORES, THRESHOLD
from spaql.trees.tree import LEAF, Tree

if TYPE_CHECKING:
    from spaql.policy.policy import Policy
    from spaql.proofs.proof import Proof
    from spaql.training.closed_loop import Decides
    from spaql.training.episode import Episode
    from spaql.training.falsify import Falsifiable

TOLERANCE_EPISODES = 200
EPISODES_IN_PYTHON = 5  # the same, in an environment that is not compiled
FIRST_CHANGE = 0.005  # of a number: the smallest change tried
MOST_CHANGE = 10.0  # times a number: the largest
HALVINGS = 5  # between the last change that was harmless and the first that was not


class Probes:
    """Of policies, and of controllers of one's own."""

    def predict(
        self: "Decides", observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True
    ) -> tuple[Any, Any]:
        """The action for one observation or a batch, as in Stable-Baselines3."""
        batch, single = observed(self.problem, observation, state)
        actions = self.problem.native(self.decide(batch))
        return (actions[0] if single else actions), state

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

        return respond(
            self, reference=reference, start=start, to=to, at=at, noise=noise, tolerance=tolerance,
            episodes=episodes, seed=seed,
        )  # fmt: skip

    def falsify(
        self: "Falsifiable", episodes: int | None = None, seed: int = 0, *, by: str | None = None, fresh: int = 1000,
        device: str = "cpu",
    ) -> Worst:  # fmt: skip
        """Search for the worst episode: over start states, drawn parameters, references, disturbances and noise.

        - `episodes`: how many the search tries; 2000, and 50 in Gymnasium environments
        - `by`: what is worst, "return" (the lowest) or "limits" (the largest excess over one, as share of the range of
          its variable); without it "limits", if the problem has any
        - `fresh`: ordinary episodes, those of `evaluate(seed=seed)`, to compare with; the search begins at their worst
        - `device`: "cuda" runs the episodes of the search on a graphics card, with the same outcome

        On compiled plants everything random in an episode comes of uniform numbers: those of the start are searched
        one by one, between 0.001 and 0.999, so that what is normal stays within 3.7 standard deviations; those of the
        steps in eight parts of the episode, each of which has random numbers of its own. Gymnasium environments tell
        only seeds: there the worst of `episodes` seeds is found, and `fresh` is not used. The same seed finds the same
        episode.
        """
        from spaql.training.falsify import falsify

        return falsify(self, episodes, seed, by, fresh, device)

    def prove(
        self: "Decides", never: Any = None, reach: Any = None, start: Any = None, steps: Any = None, *, at: Any = None,
        parameters: Any = MappingProxyType({}), sensors: Any = 0.0, single: bool = True, seconds: float = 60,
    ) -> "Proof":  # fmt: skip
        """A theorem for all start states, with outward rounding, or as much of it as there is time for; print it.

        - `never`: bounds that are never left, `{"angle": (-0.2, 0.2)}`; else that no episode ends in failure
        - `reach`: bounds that are reached and kept from then on, or "end" (what is proven where endings are successes)
        - `start`: a range by variable, or one for each; without it all start states of the plant, and all references
        - `steps`: how many; without it for ever if that can be proven, else the horizon
        - `at`: of `spaql.from_ode`, bounds by time in seconds `{1.0: {"angle": (0, 1)}}`, or by (from, to)
        - `parameters`: ranges by name, each held for an episode; `sensors`: how far each may be wrong, or all
        - `single`: exported code in single precision too, if it has no memory
        - `seconds`: of CPU, then what is not proven is `open`
        - `save` of what is returned writes a certificate, which `spaql.check_proof` verifies: see docs/proofs.md
        """
        from spaql.proofs.prove import prove

        return prove(self, never, reach, start, steps, parameters, sensors, single, seconds, at)


# -- how much each number may be changed -------------------------------------------------------------------------------


class Number(NamedTuple):
    """A number that a reader sees."""

    place: str  # "test 1", "law 2, torque"
    name: str  # the variable it weighs, "cut" or "constant"
    value: float
    changed: Callable[[float], Tree]  # the tree with another value


@working("changing one number after the other")
def tolerance_table(policy: "Policy", fall: float, episodes: int | None, seed: int, device: str) -> Any:
    """See `Policy.tolerance`."""
    import pandas as pd

    if not policy.problem.can_run:
        raise SpaqlError(f"{policy.problem.name} has no plant to try other numbers on")
    usual = TOLERANCE_EPISODES if policy.problem.plant is not None else EPISODES_IN_PYTHON
    count = usual if episodes is None else episodes
    samples = 0

    def mean(tree: Tree) -> float:
        nonlocal samples
        evaluation = replace(policy, rules=tree).evaluate(count, seed, device)
        samples += evaluation.samples
        return evaluation.mean

    now = mean(policy.rules)
    least = now - fall * abs(now)
    rows = []
    for number in numbers_of(policy):
        down, up = (_reach(number, sign, lambda tree: mean(tree) >= least) for sign in (-1.0, 1.0))
        size = abs(number.value)
        rows.append((number.place, number.name, number.value, number.value - down * size, number.value + up * size))
    columns = ["place", "number", "value", "from", "to"]
    table = pd.DataFrame(rows, columns=columns)
    table.attrs |= {"return": now, "least": least, "episodes": count, "seed": seed, "samples": samples}
    return table


def _reach(number: Number, sign: float, harmless: Callable[[Tree], bool]) -> float:
    """The largest harmless change in one direction, as a part of the number; infinite if none was found to do harm."""
    size, good, change = abs(number.value), 0.0, FIRST_CHANGE
    while harmless(number.changed(number.value + sign * change * size)):
        good, change = change, 2.0 * change
        if change > MOST_CHANGE:
            return float("inf")
    bad = change
    for _ in range(HALVINGS):
        middle = 0.5 * (good + bad)
        if harmless(number.changed(number.value + sign * middle * size)):
            good = middle
        else:
            bad = middle
    return good


def numbers_of(policy: "Policy") -> Iterator[Number]:
    """Tests from the root on, then leaves from left to right."""
    tree, words = policy.rules, policy.words
    tests = [node for node in range(len(tree.nodes)) if tree.nodes["feature"][node] != LEAF]
    for count, node in enumerate(tests, 1):
        place = f"test {count}: {words.test(node)}"
        for j in np.flatnonzero(tree.weights[node] if tree.nodes["feature"][node] == tree.variables else ()).tolist():
            yield _number(tree, place, words.names[j], lambda changed: changed.weights, (node, j))
        if tree.nodes["cut"][node] != 0.0:
            yield _number(tree, place, "cut", lambda changed: changed.nodes["cut"], (node,))
    for count, node in enumerate(words.regions, 1):
        yield from _numbers_of_leaf(policy, count, node)


def _numbers_of_leaf(policy: "Policy", count: int, leaf: int) -> Iterator[Number]:
    tree, words, laws, actions = policy.rules, policy.words, policy.rules.laws, policy.problem.actions
    if laws is None:
        (low, high), names = actions.bounds, words.action_names
        held = [axis for axis in range(len(names)) if tree.actions[leaf, axis] != 0.0]
        for axis in [] if actions.values else held:  # between finite actions there is nothing
            ends = float(low[axis]), float(high[axis])
            yield _number(tree, f"leaf {count}", names[axis], lambda changed: changed.actions, (leaf, axis), ends)
        return
    for output in range(laws.outputs):
        scored = laws.kind == SCORES
        of = f"score of {words.applied_value(0, float(laws.values[output]))}" if scored else words.action_names[output]
        place = f"law {count}: {of}"
        for j in np.flatnonzero(laws.gains[leaf, output]).tolist():
            yield _number(tree, place, words.names[j], lambda changed: changed.laws.gains, (leaf, output, j))
        if laws.offsets[leaf, output] != 0.0:
            offset = _number(tree, place, "constant", lambda changed: changed.laws.offsets, (leaf, output))
            # of thresholds printed as what the sum is compared with
            yield offset if laws.kind != THRESHOLD else _negated(offset)


def _number(
    tree: Tree, place: str, name: str, array: Callable[[Any], Array], at: tuple[int, ...],
    ends: tuple[float, float] = (-np.inf, np.inf),
) -> Number:  # fmt: skip
    """The number at a place of one of the tree's arrays, to be changed within these ends."""

    def changed(value: float) -> Tree:
        other = deepcopy(tree)
        array(other)[at] = min(max(value, ends[0]), ends[1])
        return other

    return Number(place, name, float(array(tree)[at]), changed)


def _negated(number: Number) -> Number:
    return Number(number.place, "cut", -number.value, lambda value: number.changed(-value))
