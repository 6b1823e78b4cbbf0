"""`policy.prove`: which theorem is tried, and what is said of it."""

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import working
from spaql.policy.controller import Controller
from spaql.policy.digits import counted
from spaql.policy.policy import Policy
from spaql.proofs.attraction import attraction
from spaql.proofs.cell_grid import Inner, no_cells, no_inner, open_boxes, share_without
from spaql.proofs.counterexamples import counterexample, visited
from spaql.proofs.flow_model import ORDER
from spaql.proofs.followed import Following, evidence_of_settling, followed, settled, with_symbols
from spaql.proofs.loop_model import ClosedLoop, closed_loop, held_states, refuse_unbounded_noise
from spaql.proofs.loops_proven import evidence_of, prove_loop
from spaql.proofs.one_plant import of_controller, of_plant
from spaql.proofs.over_boxes import workplace
from spaql.proofs.proof import Box, Claim, Proof
from spaql.proofs.proven_cells import attraction_evidence, reached, returns_of, sooner, surroundings
from spaql.proofs.proven_cells import evidence_of as cell_evidence
from spaql.proofs.questions import Question, bounds_of, question, windows_in_steps
from spaql.proofs.staying_cells import StayingCells, kept
from spaql.trees.tree import Tree

if TYPE_CHECKING:
    from spaql.training.closed_loop import Decides

Evidence = tuple[dict[str, Any], ...]
MOST_AXES = 3  # of cells
PIECES = 200  # in which start states are followed at first
SMALLEST = 1e-6  # part of the starts that is not cut again
EPISODES = 10  # simulated, to know how wide sets may become before they are cut
MOST_SET_STEPS = 2  # for one of them, for each step that it is followed
BLOCKS = 64  # along a side of the states of a differential equation, of which a sample costs more
FLOW_SET_STEPS = 20_000  # for one start box of a differential equation


@working("proving")
def prove(
    policy: "Decides", never: Any, reach: Any, start: Any, steps: Any, parameters: Any, sensors: Any, single: Any,
    seconds: Any, at: Any,
) -> Proof:  # fmt: skip
    """See `Policy.prove`."""
    if not isinstance(policy, Policy | Controller):
        raise SpaqlError(f"a {type(policy).__name__} is no policy: ask agent.policy() or a spaql.Controller")
    about, law = (policy, None) if isinstance(policy, Controller) else (policy.problem, policy.rules)
    asked = question(about, never, reach, start, steps, parameters, sensors, single, seconds, at, law)
    assert asked.rules is not None
    policy = Policy(asked.problem, asked.rules, "law", of_controller(policy))  # as it is proven about
    began = time.process_time()
    if asked.dt is not None:
        proof = _flows(policy, asked)
    elif asked.reach == "end":
        proof = _followed(policy, asked, True, asked.seconds)
    elif asked.reach is not None:
        proof = _arrives(policy, asked)
    else:
        proof = _stays(policy, asked)
    if not proof.holds and proof.open:
        unknown = [np.array(box) for box in proof.open]
        proof = replace(proof, counterexample=counterexample(asked, policy.rules, unknown))
    return replace(proof, seconds=round(time.process_time() - began, 2))


def loop_of(rules: Tree, asked: Question) -> ClosedLoop:
    loop = closed_loop(asked.problem, rules, asked.sensors, asked.single)
    refuse_unbounded_noise(asked.problem, loop, asked.start)
    return loop


def claim_of(policy: Policy, asked: Question, steps: float) -> Claim:
    return Claim(
        problem=asked.problem.name, policy=policy.origin, plant=of_plant(asked.problem), variables=tuple(asked.names),
        start=box_of(asked.start), steps=steps, never=asked.never, goes_on=asked.goes_on, reach=asked.reach,
        sensors=asked.wrong, parameters=asked.parameters, single=asked.single, at=asked.at, dt=asked.dt,
        loop=asked.loop,
    )  # fmt: skip


def box_of(box: Array) -> Box:
    return tuple((low, high) for low, high in box.tolist())


def _nothing_known(claim: Claim, method: str = "") -> Proof:
    """All starts are open."""
    return Proof(claim, (), 0.0, (claim.start,), {}, method=method)


def _of_boxes(claim: Claim, method: str, evidence: Evidence, unknown: list[Array], share: float, **said: Any) -> Proof:
    """Of a search that has cut the starts in boxes: these are open, and this is the share of the others."""
    boxes = tuple(box_of(box) for box in unknown)
    if not evidence:
        return Proof(claim, (), 0.0, boxes, {}, method=method)
    said = {"bound": claim.never or {}} | said
    return Proof(claim, evidence, min(share, 1.0) if boxes else 1.0, boxes, method=method, **said)


def _stays(policy: Policy, asked: Question) -> Proof:
    """Never outside: for ever, or else for so many steps."""
    held = held_states(asked.problem)
    place = workplace(loop_of(policy.rules, asked), held)
    tries = [asked.steps] if asked.asked_steps else [math.inf, asked.steps]
    best = _nothing_known(claim_of(policy, asked, tries[-1]))
    for steps in tries:
        count = None if math.isinf(steps) else int(steps)
        search = prove_loop(place, asked.start, asked.limits, count, asked.seconds / len(tries))
        if math.isinf(steps) and search.open:
            best = _settles(policy, asked, asked.limits, asked.seconds / len(tries))
            if best.holds:
                return best
        if not search.parts:
            continue
        boxes = np.array([part.region.box for part in search.parts])
        low, high = boxes[:, :, 0].min(axis=0).tolist(), boxes[:, :, 1].max(axis=0).tolist()
        moving = np.flatnonzero(~held).tolist()
        paid = np.array([part.left.reward for part in search.parts])
        least = paid[:, 0].min().item() if np.isfinite(paid).all() else math.nan
        proof = _of_boxes(
            claim_of(policy, asked, steps),
            f"a linear loop with a bounded disturbance, {counted(len(search.parts), 'part')}",
            tuple(evidence_of(part, held) for part in search.parts), search.open, search.share,
            bound={asked.names[j]: (low[j], high[j]) for j in moving},
            worst_return=_least_return(least, count or math.nan),
        )  # fmt: skip
        if proof.holds:
            return proof
        best = proof if proof.share > best.share else best
    if not best.evidence and math.isfinite(asked.steps) and not held.any():
        return _followed(policy, asked, False, asked.seconds / 2.0)
    return best


def _least_return(least: float, steps: float) -> float:
    """Of so many steps, with what a sum in double precision loses; whole numbers lose nothing."""
    total = least * steps
    return total if least.is_integer() else total - steps * 2.0**-52 * abs(total)


def _followed(policy: Policy, asked: Question, until_end: bool, seconds: float) -> Proof:
    """Start boxes followed to the end of their episodes, or for so many steps."""
    if math.isinf(asked.steps):
        raise SpaqlError("give steps: start states are followed for a number of steps")
    loop, steps = with_symbols(loop_of(policy.rules, asked)), int(asked.steps)
    region, _, _ = surroundings(loop, asked.start, asked.limits)
    widest = np.maximum(np.diff(region, axis=1)[:, 0] / 5.0, 1e-9)
    task = Following(steps, asked.limits, widest, not until_end, until_end, 1000 + MOST_SET_STEPS * steps)
    pieces, smallest = (PIECES, SMALLEST) if until_end else (1, 1.0 / 64.0)
    search = followed(loop, asked.start, task, seconds, pieces, smallest)
    claim = claim_of(policy, asked, asked.steps)
    method = f"{counted(len(search.boxes), 'part')} of the starts followed step by step"
    if not search.boxes:
        return _of_boxes(claim, method, (), search.open, 0.0)
    answers = np.array(search.answers)
    worst, best = answers[:, 1].min().item(), answers[:, 2].max().item()
    spare = 1e-6 * max(abs(worst), abs(best))  # the checker's sums are others
    evidence = {"kind": "followed", "boxes": [box.tolist() for box in search.boxes]}
    return _of_boxes(
        claim, method, (evidence,), search.open, search.share,
        within=int(answers[:, 0].max()) if until_end else None, worst_return=worst - spare, best_return=best + spare,
    )  # fmt: skip


def _flows(policy: Policy, asked: Question) -> Proof:
    """Start boxes followed through the differential equation."""
    if isinstance(asked.reach, dict) or math.isinf(asked.steps):
        return _attracted(policy, asked)
    plant: Any = asked.problem.plant
    until_end = asked.reach == "end"
    states = visited(asked, policy.rules, EPISODES)
    width = np.ptp(states.reshape(-1, states.shape[2]), axis=0)
    widest = np.where(np.isfinite(width), np.maximum(width, 1e-9), np.inf)
    task = Following(
        int(asked.steps), asked.limits, widest, asked.goes_on, until_end, FLOW_SET_STEPS,
        *windows_in_steps(asked.at, asked.dt, asked.names),
    )  # fmt: skip
    middle = np.tile(asked.start.mean(axis=1, keepdims=True), 2)
    for substeps in (plant.flow.substeps * times for times in (1, 2, 4, 8)):
        loop = closed_loop(asked.problem, policy.rules, asked.sensors, asked.single, substeps)
        if followed(loop, middle, task, asked.seconds, 1, 1.0).boxes:
            break
    search = followed(loop, asked.start, task, asked.seconds, 1, SMALLEST)
    parts = counted(len(search.boxes), "part")
    method = f"{parts} of the starts through {substeps} Taylor steps of order {ORDER} per sample"
    boxes = [box.tolist() for box in search.boxes]
    evidence = ({"kind": "flow", "substeps": substeps, "boxes": boxes},) if boxes else ()
    within = int(max(answer[0] for answer in search.answers)) if boxes and until_end else None
    claim = claim_of(policy, asked, asked.steps)
    return _of_boxes(claim, method, evidence, search.open, search.share, within=within)


def _attracted(policy: Policy, asked: Question) -> Proof:
    """Starts of a differential equation that come to a set which contracts, cell by cell; for ever."""
    if asked.at or isinstance(asked.reach, str):
        raise SpaqlError("`at` and reach='end' are for a number of steps, not for ever: ask with steps=...")
    if len(asked.names) > MOST_AXES:
        raise SpaqlError(f"{len(asked.names)} variables are too many for cells: {MOST_AXES} at most")
    claim, began = claim_of(policy, asked, math.inf), time.process_time()
    search = attraction(asked, policy.rules)
    if search is None:
        return _nothing_known(claim, "no set was found that contracts")
    loop, held = search
    inner = Inner(held.centre, held.rows, held.within)
    region, _, _ = surroundings(loop, asked.start, asked.limits, inner)
    nothing = StayingCells(no_cells(len(region)), 0.0, 0.0)
    left = asked.seconds - (time.process_time() - began)
    cells = reached(loop, nothing, inner, region, asked.limits, 0.9 * left, BLOCKS)
    within = int(cells.coarse.bound.max())
    if within < 0:
        return _nothing_known(claim, "no cells were found that arrive in the set that contracts")
    unknown = open_boxes(cells.coarse, asked.start)
    method = f"a set that contracts, and {len(cells.sizes):,} blocks by induction, {loop.flow.substeps} Taylor steps "
    return _of_boxes(
        claim, f"{method}of order {ORDER} per sample", (attraction_evidence(cells, loop, held),), unknown,
        share_without(unknown, asked.start), within=within, rest=box_of(held.rest), factor=held.factor,
    )  # fmt: skip


def _settles(policy: Policy, asked: Question, goal: Array, seconds: float) -> Proof:
    """Starts are followed until they are in a region that keeps the goal for ever."""
    held = held_states(asked.problem)
    search = settled(workplace(loop_of(policy.rules, asked), held), policy.rules, asked, goal, seconds)
    evidence = tuple(evidence_of_settling(part, evidence_of(part.region, held)) for part in search.parts)
    boxes = counted(sum(len(part.boxes) for part in search.parts), "part")
    method = f"{boxes} of the starts followed into {counted(len(evidence), 'region')} never left"
    if not evidence:
        method = "no region was found that is never left"
    within = None if asked.reach is None else max((part.steps for part in search.parts), default=0)
    return _of_boxes(claim_of(policy, asked, math.inf), method, evidence, search.open, search.share, within=within)


def _arrives(policy: Policy, asked: Question) -> Proof:
    """Reaches bounds and keeps them for ever: in a linear loop in the end, or cell by cell."""
    if asked.never is not None:
        raise SpaqlError("`never` and `reach` of bounds are two theorems: ask for one after the other")
    assert isinstance(asked.reach, dict)
    goal = bounds_of(asked.reach, asked.names)
    if len(asked.names) > MOST_AXES or held_states(asked.problem).any():
        return _settles(policy, asked, goal, asked.seconds)
    loop = loop_of(policy.rules, asked)
    steps = asked.problem.horizon if math.isinf(asked.steps) else int(asked.steps)
    region, inner, scale = surroundings(loop, asked.start, goal)
    fine = kept(loop, inner, steps, scale, 0.3 * asked.seconds)
    claim = claim_of(policy, asked, math.inf)
    if not (fine.cells.bound >= 0).any():
        return _nothing_known(claim, "no cells were found that stay")
    # what is left after the search, such as writing down what is open, is a tenth of it
    cells = reached(loop, fine, no_inner(len(asked.names)), region, asked.limits, 0.8 * asked.seconds)
    cells = sooner(cells, steps if asked.asked_steps else math.inf)
    within = int(cells.coarse.bound.max())
    if within < 0:
        return _nothing_known(claim, "no cells were found that arrive")
    unknown = open_boxes(cells.coarse, asked.start)
    worst, shares = returns_of(cells, asked.start, steps)
    return _of_boxes(
        claim, f"cells that stay, and cells by induction, {len(cells.sizes):,} blocks", (cell_evidence(cells),),
        unknown, share_without(unknown, asked.start), within=within, worst_return=worst,
        return_steps=None if math.isnan(worst) else steps, return_shares=shares,
    )  # fmt: skip
