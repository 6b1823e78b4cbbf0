"""`spaql.check_proof`: is this certificate true of this controller on this plant?"""

import math
from collections.abc import Iterable
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import checked_path
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.ode import MOST_SUBSTEPS
from spaql.plants.problem import Problem
from spaql.policy.controller import Controller
from spaql.policy.policy import Policy
from spaql.proofs.checked_attraction import check_attraction
from spaql.proofs.checked_cells import (
    AT_ONCE,
    NO_VALUE,
    CheckedCells,
    Rate,
    check_cells,
    check_followed,
    share_of,
    shares_of,
    whole_of,
)
from spaql.proofs.checked_flows import asked_by, check_flow
from spaql.proofs.checked_linear import check_linear
from spaql.proofs.checker import CheckedLoop, RefusedError, array_of, covers, part_of, require
from spaql.proofs.one_plant import of_controller, of_plant, of_rules
from spaql.proofs.plant_runs import recordings, taylor
from spaql.proofs.proof import Claim, Proof, proof_of_file
from spaql.proofs.questions import Question, bounds_of, question, windows_in_steps

MOST_PARTS = 10**6


def check_proof(certificate: str | PathLike[str], policy: Policy | Controller, problem: Problem | None = None) -> Proof:
    """The proof in a file, if every line of it is verified; else a SpaqlError that says what is not.

    - `policy`: the controller that the certificate is about
    - `problem`: the plant, if it is not the policy's own

    Nothing is searched for, and no code and no arithmetic of the prover is used.
    """
    if not isinstance(policy, Policy | Controller):
        raise SpaqlError(f"a proof is about a policy, such as agent.policy(), not {echoed(policy)}")
    if not isinstance(problem, Problem | None):
        raise SpaqlError(f"the plant of a proof is a spaql.Problem, not {echoed(problem)}")
    proof = proof_of_file(checked_path(certificate))
    try:
        _check(proof, policy, policy.problem if problem is None else problem)
    except RefusedError as error:
        raise SpaqlError(f"{certificate} is refused: {error}") from error
    return proof


def proof_about(policy: Policy, proof: Any) -> Proof:
    """What `prove` has returned in this process, if it is about this policy; a file of it is checked."""
    if isinstance(proof, str | PathLike):
        return check_proof(proof, policy)
    if not isinstance(proof, Proof):
        raise SpaqlError(f"a proof is what policy.prove() returns, or a file of one, not {echoed(proof)}")
    if proof.claim.policy != of_rules(policy.rules):
        raise SpaqlError("the proof is about another controller: ask this one, with policy.prove()")
    return proof


def _check(proof: Proof, policy: Policy | Controller, problem: Problem) -> None:
    for remembered in (recordings, taylor, asked_by):  # of functions whose constants may have changed since
        remembered.cache_clear()
    claim = proof.claim
    require(claim.steps == math.inf or claim.steps.is_integer(), "its number of steps is not whole")
    steps = claim.steps if math.isinf(claim.steps) else int(claim.steps)
    for box in proof.open:
        ends = np.array(box)
        shaped = ends.shape == (len(claim.variables), 2) and bool(np.isfinite(ends).all())
        require(shaped and (ends[:, 0] <= ends[:, 1]).all(), "an open box is no box")
    about: Problem | Controller = problem
    if isinstance(policy, Controller):
        about = policy if problem is policy.problem else Controller(problem, policy.function, policy.name)
    asked = question(
        about, claim.never, claim.reach, claim.start, steps, claim.parameters, _sensors_of(claim, problem),
        single=claim.single, seconds=1.0, at={(low, high): bounds for low, high, bounds in claim.at} or None,
        law=None if isinstance(policy, Controller) else policy.rules,
    )  # fmt: skip
    require(asked.single == claim.single, "what it says of single precision cannot hold in a loop")
    require(asked.dt == claim.dt, "it is about other equations: between samples or not, or with another sample")
    require(asked.loop == claim.loop, "it is about another loop")
    require(len(asked.at) == len(claim.at), "it says two things of one time")
    require(of_controller(policy) == claim.policy, "it is about another controller")
    require(of_plant(asked.problem) == claim.plant, "it is about another plant")
    require(asked.problem.name == claim.problem, "it is about another problem")
    require(tuple(asked.names) == claim.variables, "the plant has other variables")
    for name, (low, high) in claim.parameters.items():
        stated = claim.start[claim.variables.index(name)] if name in claim.variables else (1.0, 0.0)
        require(stated[0] <= low and high <= stated[1], f"{name} is not covered by the starts")
    require(0 < len(proof.evidence) <= MOST_PARTS, "it has no evidence")
    assert asked.rules is not None
    loop = CheckedLoop(asked.problem, asked.rules, asked.sensors, claim.single)
    kinds = {str(part.get("kind")) for part in proof.evidence}
    require((claim.dt is not None) == (kinds <= {"flow", "attraction"}), "its evidence is not about these equations")
    require((proof.rest is not None) == (kinds == {"attraction"}), "it does not show where samples lie in the end")
    require(len(kinds) == 1, "it mixes kinds of evidence")
    require(proof.return_steps is None or kinds == {"cells"}, "its return is not of so many steps")
    require(not proof.return_shares or not math.isnan(proof.worst_return), "it shows no return")
    require(not proof.return_shares or proof.return_steps is not None, "its return is not of so many steps")
    (kind,) = kinds
    require(kind in SHOWS, "its evidence is of no known kind")
    _compare(proof, SHOWS[kind](proof, loop, asked))


def _sensors_of(claim: Claim, problem: Problem) -> dict[str, float]:
    measured = [axis.name for axis in (problem.signals.measured if problem.signals else problem.measured)]
    require(len(claim.sensors) == len(measured), "the errors of sensors are not those of the variables")
    require(np.array(claim.sensors) >= 0.0, "an error of a sensor is negative")
    require(np.isfinite(claim.sensors), "an error of a sensor is not bounded")
    return dict(zip(measured, claim.sensors, strict=True))


# -- what each kind of evidence shows ----------------------------------------------------------------------------------


class Shown(NamedTuple):
    """What the evidence shows of the starts that are not open."""

    share: float
    within: int | None = None  # steps after which what is to be reached has been; None: nothing is
    returns: tuple[float, float] | None = None  # at least, at most; None: nothing is known of them


def _compare(proof: Proof, shown: Shown) -> None:
    """Whether the proof says no more than that."""
    within = shown.within is None or (proof.within is not None and shown.within <= proof.within)
    require(within, f"some {'episodes end' if proof.claim.reach == 'end' else 'states arrive'} later")
    unsaid = math.isnan(proof.worst_return), math.isnan(proof.best_return)
    require(shown.returns is not None or all(unsaid), "it shows no return")
    least, most = shown.returns or (-math.inf, math.inf)
    require(unsaid[0] or proof.worst_return <= least, "the return may be worse")
    require(unsaid[1] or proof.best_return >= most, "the return may be better")
    require(proof.share <= shown.share + 1e-9, "a smaller share is proven")


def _covered(proof: Proof, boxes: Iterable[Array]) -> float:
    """What share of the starts is not open; these boxes must cover it."""
    unknown = [np.array(box) for box in proof.open]
    require(covers(np.array(proof.claim.start), [*boxes, *unknown]), "its parts do not cover the starts")
    return 1.0 - part_of(proof.claim.start, proof.open)


def _no_other_bounds(proof: Proof) -> None:
    require(proof.bound == (proof.claim.never or {}), "bounds are told that it does not show")


def _one_part(proof: Proof) -> dict[str, Any]:
    require(len(proof.evidence) == 1 and math.isfinite(proof.claim.steps), "it has no number of steps")
    require(proof.claim.reach in (None, "end"), "this evidence does not show that bounds are reached")
    return proof.evidence[0]


def _stays(proof: Proof, loop: CheckedLoop, asked: Question) -> Shown:
    claim, starts, least = proof.claim, list[Array](), math.inf
    require(claim.reach is None, "this evidence does not show that anything is reached")
    require(claim.goes_on or claim.never is not None, "it claims nothing")
    steps = None if math.isinf(claim.steps) else int(claim.steps)
    for part in proof.evidence:
        box = check_linear(loop, part, steps, ends=True)
        starts.append(np.array(part["start"], float))
        inside = (asked.limits[:, 0] <= box[:, 0]) & (box[:, 1] <= asked.limits[:, 1])
        require(inside, "a box is outside the bounds claimed")
        for name, (low, high) in proof.bound.items():
            require(name in claim.variables, "it bounds what is no variable")
            j = claim.variables.index(name)
            require(low <= box[j, 0] and box[j, 1] <= high, f"{name} is not within the bounds that are told")
        least = min(least, float(part["reward"][0]) if "reward" in part else -math.inf)
    total = claim.steps * least
    if not math.isfinite(total):
        return Shown(_covered(proof, starts))
    # what a sum in double precision loses; whole numbers lose nothing
    lost = 0.0 if least.is_integer() else claim.steps * 2.0**-52 * abs(total)
    return Shown(_covered(proof, starts), returns=(total - lost, math.inf))


def _followed(proof: Proof, loop: CheckedLoop, asked: Question) -> Shown:
    claim, part = proof.claim, _one_part(proof)
    until_end = claim.reach == "end"
    require(claim.goes_on != until_end, "an episode cannot both end and go on")
    boxes, within, returns = check_followed(loop, part, int(claim.steps), asked.limits, until_end)
    _no_other_bounds(proof)
    least, most = returns.tolist()
    return Shown(_covered(proof, boxes), within if until_end else None, (least, most))


def _settled(proof: Proof, loop: CheckedLoop, asked: Question) -> Shown:
    claim, covered, within = proof.claim, list[Array](), 0
    require(math.isinf(claim.steps), "this evidence is for bounds that are kept for ever")
    require(claim.reach != "end", "this evidence does not show that an episode ends")
    require(claim.reach is None or not claim.goes_on, "it is not said whether episodes end")
    require(claim.goes_on or claim.never is not None or claim.reach is not None, "it claims nothing")
    goal = _goal(claim, asked)
    for part in proof.evidence:
        region, steps = part.get("region"), whole_of(part, "steps")
        if not isinstance(region, dict):
            raise RefusedError("its region is damaged")
        box = check_linear(loop, region, None, ends=True)
        require((goal[:, 0] <= box[:, 0]) & (box[:, 1] <= goal[:, 1]), "a region is outside the bounds claimed")
        target = array_of(region, "start", {"start": goal.shape})
        boxes, _, _ = check_followed(loop, part, steps, asked.limits, False, target)
        covered, within = [*covered, *boxes], max(within, steps)
    _no_other_bounds(proof)
    return Shown(_covered(proof, covered), None if claim.reach is None else within)


def _goal(claim: Claim, asked: Question) -> Array:
    """Bounds that are never left and bounds that are reached, together."""
    ends = bounds_of(claim.reach if isinstance(claim.reach, dict) else {}, asked.names)
    return np.stack([np.maximum(asked.limits[:, 0], ends[:, 0]), np.minimum(asked.limits[:, 1], ends[:, 1])], axis=1)


def _flows(proof: Proof, loop: CheckedLoop, asked: Question) -> Shown:
    claim, part = proof.claim, _one_part(proof)
    until_end = claim.reach == "end"
    require(claim.goes_on == asked.goes_on, "it is not said whether episodes end")
    require(claim.goes_on or until_end or claim.never is not None or len(claim.at) > 0, "it claims nothing")
    n, count = len(claim.variables), len(part["boxes"]) if isinstance(part.get("boxes"), list) else 0
    boxes = array_of(part, "boxes", {"boxes": (count, n, 2)})
    substeps = whole_of(part, "substeps", MOST_SUBSTEPS)
    require(count > 0 and (boxes[..., 0] <= boxes[..., 1]).all(), "its boxes are damaged")
    windows, within = windows_in_steps(asked.at, asked.dt, asked.names), 0
    for first in range(0, count, AT_ONCE):
        some = boxes[first : first + AT_ONCE]
        ended = check_flow(loop, some, substeps, int(claim.steps), asked.limits, *windows, until_end, claim.goes_on)
        within = max(within, ended)
    _no_other_bounds(proof)
    return Shown(_covered(proof, boxes), within if until_end else None)


def _attracted(proof: Proof, loop: CheckedLoop, asked: Question) -> Shown:
    claim, whole = proof.claim, np.array(proof.claim.start)
    require(len(proof.evidence) == 1 and math.isinf(claim.steps) and not claim.at, "it is for ever, not for a time")
    require(claim.reach != "end", "it does not show that episodes end")
    require(claim.goes_on == asked.goes_on, "it is not said whether episodes end")
    _no_other_bounds(proof)
    goal = _goal(claim, asked)
    resting, reach, within = check_attraction(loop, proof.evidence[0], asked.limits, goal, proof.factor)
    last = np.array(proof.rest)
    require((last[:, 0] <= resting.last[:, 0]) & (resting.last[:, 1] <= last[:, 1]), "samples may lie elsewhere")
    return Shown(share_of(reach, whole, [np.array(box) for box in proof.open]), within)


def _arrives(proof: Proof, loop: CheckedLoop, asked: Question) -> Shown:
    claim, whole = proof.claim, np.array(proof.claim.start)
    require(len(proof.evidence) == 1 and isinstance(claim.reach, dict), "this evidence is for bounds that are reached")
    require(math.isinf(claim.steps) and claim.never is None and not proof.bound, "more is told than it shows")
    require(math.isnan(proof.best_return), "it shows no greatest return")
    require(not claim.goes_on, "it does not show that no episode ends")
    cells, within, rate = check_cells(loop, proof.evidence[0], _goal(claim, asked))
    share = share_of(cells, whole, [np.array(box) for box in proof.open])
    if math.isnan(proof.worst_return):
        return Shown(share, within)
    steps = proof.return_steps or 0
    require(1 <= steps <= 10**6, "it says not over how many steps")
    for part, least in proof.return_shares:
        good = cells.bound >= 0
        good[good] = _return_of(rate, cells.value[good].astype(float), steps) >= least
        returning = float(shares_of(cells, whole)[0][good].sum())
        require(0.0 < part <= returning + 1e-9, "a smaller share returns so much")
    return Shown(share, within, (_least_return(cells, rate, whole, steps), math.inf))


SHOWS = {
    "linear loop": _stays, "followed": _followed, "settled": _settled, "cells": _arrives, "flow": _flows,
    "attraction": _attracted,
}  # fmt: skip


def _least_return(cells: CheckedCells, rate: Rate, whole: Array, steps: int) -> float:
    """With the least W of the cells that touch the starts."""
    ends = (whole - cells.low[:, None]) / cells.step[:, None]
    first = np.maximum(np.floor(ends[:, 0] - 1e-9), 0).astype(int)
    last = np.minimum(np.floor(ends[:, 1] + 1e-9), np.array(cells.shape) - 1).astype(int)
    window = tuple(slice(a, b + 1) for a, b in zip(first, last, strict=True))
    values = cells.value[window][cells.bound[window] >= 0]
    require(len(values) > 0 and (values != NO_VALUE).all() and rate.unit > 0.0, "it shows no return")
    return float(_return_of(rate, np.array(float(values.min())), steps))


def _return_of(rate: Rate, value: Array, steps: int) -> Array:
    """N p + W."""
    total = steps * rate.pace + value * rate.unit
    # what a sum in double precision loses, and this one: W is never below NO_VALUE units, and so no sum on the way is
    # farther above the last one than that
    size = 2.0 * (np.abs(total) + abs(steps * rate.pace) - NO_VALUE * rate.unit)
    return total - (steps + 4) * 2.0**-52 * size
