"""From what is open: episodes that break the claim, as an answer; what is not found is not known to be safe.

The search is that of `falsify`: its points are numbers from 0 to 1, here a box among those that are open and a place in
it. The worse an episode, the nearer it came to a bound, to its end or to not ending at all.
"""

import numpy as np

from spaql.ground.arrays import Array
from spaql.proofs.questions import Question
from spaql.training.falsify import Outcomes, Points, search
from spaql.trees.tree import Tree, decide

TRIED = 256
MOST_STEPS = 1000
BROKEN = 1e9  # above any badness of an episode that keeps the claim


def counterexample(asked: Question, rules: Tree, unknown: list[Array]) -> str | None:
    """A start from the open boxes from which the claim is broken."""
    rng, boxes, said = np.random.default_rng(0), np.array(unknown), dict[float, str]()

    def trial(points: Points) -> Outcomes:
        which = np.minimum((points.starts[:, 0] * len(boxes)).astype(int), len(boxes) - 1)
        # the search stays a little away from 0 and 1, and a box has corners
        share = np.clip((points.starts[:, 1:] - 0.002) / 0.996, 0.0, 1.0)
        low, high = boxes[which, :, 0], boxes[which, :, 1]
        badness = _tried(asked, rules, low + share * (high - low), rng, said)
        return Outcomes(-badness, np.zeros((len(badness), 0)), badness)

    size = boxes.shape[1] + 1
    corners = np.where(rng.random((32, size)) < 0.5, 0.001, 0.999)
    corners[:, 0] = rng.uniform(0.001, 0.999, 32)
    search(trial, Points(corners, np.zeros((32, 1), np.uint64)), False, TRIED, rng)
    return said[max(said)] if said else None


def _tried(asked: Question, rules: Tree, states: Array, rng: np.random.Generator, said: dict[float, str]) -> Array:
    """How bad episodes from these states are; of those that break the claim is said how."""
    plant, n = asked.problem.plant, len(states)
    assert plant is not None
    starts, now, live = states, [tuple(state) for state in states.tolist()], list(range(n))
    badness, steps = np.zeros(n), int(min(asked.steps, MOST_STEPS))
    finite = np.isfinite(asked.limits)
    goal = np.tile([-np.inf, np.inf], (len(asked.names), 1))
    for name, ends in asked.reach.items() if isinstance(asked.reach, dict) else ():
        goal[asked.names.index(name)] = ends

    def tell(j: int, worse: float, what: str) -> None:
        badness[j] = BROKEN + worse
        said[badness[j]] = f"from ({', '.join(f'{x:.6g}' for x in starts[j].tolist())}) {what}"

    steps = MOST_STEPS if isinstance(asked.reach, dict) else steps
    for step in range(1, steps + 1):
        seen = np.array([now[j] if plant.observe is None else plant.observe(*now[j]) for j in live])
        actions = decide(rules, seen + rng.uniform(-1.0, 1.0, seen.shape) * asked.sensors)
        going = []
        for j, action in zip(live, actions.tolist(), strict=True):
            now[j], _, ended = plant.step(*now[j], *action, *rng.random(plant.step_noise).tolist())
            beyond = np.where(finite, (np.array(now[j])[:, None] - asked.limits) * [-1.0, 1.0], -np.inf).max(axis=1)
            if finite.any() and beyond.max() > 0.0:
                i = int(np.argmax(beyond))
                tell(j, steps - step, f"{asked.names[i]} is {now[j][i]:.6g} after {step} steps")
            elif ended and (asked.goes_on or isinstance(asked.reach, dict)):
                tell(j, steps - step, f"the episode ends after {step} steps")
            elif not ended:
                badness[j] = max(badness[j], float(beyond.max())) if finite.any() else float(step)
                going.append(j)
        live = going
        if not live:
            return badness
    for j in live:
        away = ((np.array(now[j]) < goal[:, 0]) | (np.array(now[j]) > goal[:, 1])).nonzero()[0]
        if asked.reach == "end":
            tell(j, 0.0, f"the episode does not end within {steps} steps")
        elif len(away):
            tell(j, 0.0, f"{asked.names[away[0]]} is {now[j][away[0]]:.6g} after {steps:,} steps")
    return badness
