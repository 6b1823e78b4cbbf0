"""`policy.prove`: which theorem is tried, and what is said of it."""

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import working
from spaql.proofs import fingerprint
from spaql.proofs.counterexamples import counterexample
from spaql.proofs.linear import workplace
from spaql.proofs.loops_proven import evidence_of, prove_loop
from spaql.proofs.model import closed_loop, held_states
from spaql.proofs.proof import Box, Claim, Proof
from spaql.proofs.questions import Question, question

if TYPE_CHECKING:
    from spaql.policy.policy import Policy


@working("proving")
def prove(
    policy: "Policy", never: Any, reach: Any, start: Any, steps: Any, parameters: Any, sensors: Any, single: Any,
    seconds: Any,
) -> Proof:  # fmt: skip
    """See `Policy.prove`."""
    asked = question(policy.problem, never, reach, start, steps, parameters, sensors, single, seconds)
    began = time.process_time()
    if asked.reach is not None:
        raise SpaqlError("reach: not yet")
    proof = _stays(policy, asked)
    if not proof.holds and proof.open:
        unknown = [np.array(box) for box in proof.open]
        proof = replace(proof, counterexample=counterexample(asked, policy.rules, unknown))
    return replace(proof, seconds=round(time.process_time() - began, 2))


def claim_of(policy: "Policy", asked: Question, steps: float) -> Claim:
    return Claim(
        asked.problem.name, fingerprint.of_rules(policy.rules), fingerprint.of_plant(asked.problem),
        tuple(asked.names), box_of(asked.start), steps, asked.never, asked.goes_on, asked.reach,
        tuple(asked.sensors.tolist()), asked.parameters, asked.single,
    )  # fmt: skip


def box_of(box: Array) -> Box:
    return tuple((low, high) for low, high in box.tolist())


def _stays(policy: "Policy", asked: Question) -> Proof:
    """Never outside: for ever, or else for so many steps."""
    loop = closed_loop(asked.problem, policy.rules, asked.sensors, asked.single)
    held = held_states(asked.problem)
    place = workplace(loop, held)
    tries = [asked.steps] if asked.asked_steps else [math.inf, asked.steps]
    best = Proof(claim_of(policy, asked, tries[-1]), (), 0.0, (box_of(asked.start),), {})
    for steps in tries:
        count = None if math.isinf(steps) else int(steps)
        search = prove_loop(place, asked.start, asked.limits, count, asked.seconds / len(tries))
        if not search.parts:
            continue
        boxes = np.array([part.region.box for part in search.parts])
        low, high = boxes[:, :, 0].min(axis=0), boxes[:, :, 1].max(axis=0)
        bound = {name: (low[j].item(), high[j].item()) for j, name in enumerate(asked.names) if not held[j]}
        least = min(part.left.reward[0] for part in search.parts)
        proof = Proof(
            claim_of(policy, asked, steps), tuple(evidence_of(part, held) for part in search.parts), search.share,
            tuple(box_of(box) for box in search.open), bound,
            worst_return=math.nan if count is None and not asked.asked_steps else float(least) * (count or math.nan),
            method=f"a linear loop with a bounded disturbance, {len(search.parts)} parts",
        )  # fmt: skip
        if proof.holds:
            return proof
        best = proof if proof.share > best.share else best
    return best
