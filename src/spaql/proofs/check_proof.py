"""`spaql.check_proof`: is this certificate true of this controller on this plant?"""

import math
from os import PathLike
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.plants.problem import Problem
from spaql.proofs import fingerprint
from spaql.proofs.checker import Loop, Refused, check_linear, require
from spaql.proofs.proof import Proof, proof_of_file
from spaql.proofs.questions import question
from spaql.trees.tree import Tree

MOST_PARTS = 10**6


def check_proof(certificate: str | PathLike[str], policy: Any, problem: Problem | None = None) -> Proof:
    """The proof in a file, if every line of it is verified; else a SpaqlError that says what is not.

    - `policy`: the controller that the certificate is about
    - `problem`: the plant, if it is not the policy's own

    Nothing is searched for, and no code and no arithmetic of the prover is used.
    """
    proof = proof_of_file(certificate)
    try:
        _check(proof, policy.rules, policy.problem if problem is None else problem)
    except Refused as error:
        raise SpaqlError(f"{certificate} is refused: {error}") from error
    return proof


def _check(proof: Proof, rules: Tree, problem: Problem) -> None:
    claim = proof.claim
    asked = question(
        problem, claim.never, claim.reach if claim.reach is not None else None if claim.never else claim.reach,
        claim.start, claim.steps if math.isinf(claim.steps) else int(claim.steps), claim.parameters, 0.0, claim.single, 1.0,
    )  # fmt: skip
    require(fingerprint.of_rules(rules) == claim.policy, "it is about another controller")
    require(fingerprint.of_plant(asked.problem) == claim.plant, "it is about another plant")
    require(asked.problem.name == claim.problem, "it is about another problem")
    require(tuple(asked.names) == claim.variables, "the plant has other variables")
    require(len(claim.sensors) == len(problem.state), "the errors of sensors are not those of the variables")
    require(np.array(claim.sensors) >= 0.0, "an error of a sensor is negative")
    require(0 < len(proof.evidence) <= MOST_PARTS, "it has no evidence")
    loop = Loop(asked.problem, rules, np.array(claim.sensors), claim.single)
    kinds = {part.get("kind") for part in proof.evidence}
    require(len(kinds) == 1, "it mixes kinds of evidence")
    if kinds == {"linear loop"}:
        _check_stays(proof, loop, asked.limits)
    else:
        raise Refused("its evidence is of no known kind")


def _check_stays(proof: Proof, loop: Loop, limits: Array) -> None:
    claim = proof.claim
    require(claim.reach is None, "this evidence does not show that anything is reached")
    steps = None if math.isinf(claim.steps) else int(claim.steps)
    covered = [np.array(box) for box in proof.open]
    for part in proof.evidence:
        box = check_linear(loop, part, steps, ends=True)
        covered.append(np.array(part["start"], float))
        require((limits[:, 0] <= box[:, 0]) & (box[:, 1] <= limits[:, 1]), "a box is outside the bounds claimed")
        for name, (low, high) in proof.bound.items():
            j = claim.variables.index(name)
            require(low <= box[j, 0] and box[j, 1] <= high, f"{name} is not within the bounds that are told")
    whole = np.array(claim.start)
    require(covers(whole, covered), "its parts do not cover the starts")
    volume = sum(_volume(box, whole) for box in covered[len(proof.open) :])
    require(proof.share <= volume + 1e-9, "a smaller share is proven")
    require(not math.isfinite(proof.worst_return) or _rewarded(proof), "the return may be worse")


def _volume(box: Array, whole: Array) -> float:
    width = np.diff(whole, axis=1)[:, 0]
    return float(np.prod(np.where(width > 0.0, np.diff(box, axis=1)[:, 0] / np.where(width > 0.0, width, 1.0), 1.0)))


def _rewarded(proof: Proof) -> bool:
    least = min(float(part["reward"][0]) for part in proof.evidence)
    return bool(proof.worst_return <= proof.claim.steps * least)


def covers(whole: Array, boxes: list[Array]) -> bool:
    """Whether boxes cover a box: it is cut at their sides, and every piece must be in one of them."""
    pending = [whole]
    while pending:
        piece = pending.pop()
        inside = [box for box in boxes if (box[:, 0] <= piece[:, 0]).all() and (piece[:, 1] <= box[:, 1]).all()]
        if inside:
            continue
        touching = [box for box in boxes if (box[:, 0] < piece[:, 1]).all() and (piece[:, 0] < box[:, 1]).all()]
        cuts = [(j, cut) for box in touching for j in range(len(piece)) for cut in box[j] if piece[j, 0] < cut < piece[j, 1]]
        if not cuts:
            return False
        axis, at = cuts[0]
        for low, high in ((piece[axis, 0], at), (at, piece[axis, 1])):
            part = piece.copy()
            part[axis] = low, high
            pending.append(part)
    return True
