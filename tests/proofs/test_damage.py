"""Certificates damaged at random: no damage makes the checker accept a stronger statement than the one that was proven.

A damage may be harmless: another number that may be chosen freely, or a weaker statement. So the test does not ask for a
refusal. It asks, of whatever is accepted, that it says no more than the certificate before: of the same controller and
plant, from no more starts, for no longer, with no tighter bounds.
"""

import base64
import copy
import json
import math
import zlib

import numpy as np
import pytest

import spaql
from sliders import slider
from spaql.proofs import prove, staying_cells
from spaql.proofs import proven_cells as cells
from spaql.proofs.proof import proof_of_file

FAST, SLOW = {"loop": 120, "followed": 60, "cells": 50}, 400


@pytest.fixture(scope="module")
def proven():
    """A proof of each kind, small enough to be checked hundreds of times; that of the loop is for ever."""
    balancing = spaql.law(spaql.make("cartpole-500"), {"position": 1.0, "velocity": 1.95, "angle": 16.1, "angular velocity": 4.25})
    climbing = spaql.law(spaql.make("mountain-car"), {"velocity": 1000.0, "position": 1.0}, offset=2.0)
    sliding = slider()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prove, "PIECES", 3)
        patch.setattr(staying_cells, "FINE", 12)
        patch.setattr(cells, "COARSE", 16)
        patch.setattr(cells, "HALVINGS", 1)
        yield {
            "loop": (balancing.prove(), balancing),
            "followed": (climbing.prove(start={"position": (0.3, 0.31), "velocity": (0.04, 0.04)}), climbing),
            "cells": (sliding.prove(reach={"x": (-0.4, 0.4)}, seconds=20), sliding),
        }


def places(node, path=()):
    """Everything in a certificate, by its path."""
    for key, item in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield (*path, key)
        yield from places(item, (*path, key))


def damaged(content, rng):
    """One number, text, list or entry changed."""
    content = copy.deepcopy(content)
    every = list(places(content))
    depths = sorted({len(path) for path in every})
    depth = depths[rng.integers(len(depths))]  # or numbers of long lists would be all that is damaged
    path = [path for path in every if len(path) == depth]
    path = path[rng.integers(len(path))]
    node = content
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = changed(node[path[-1]], rng) if rng.random() < 0.9 else None
    if rng.random() < 0.1:
        node.pop(path[-1])
    return content


def changed(item, rng):
    if isinstance(item, bool):
        return not item
    if isinstance(item, int | float):
        size = 10.0 ** rng.uniform(-12, 1)
        return [item * (1.0 + size), item * (1.0 - size), item + size, item - size, -item, 0, 1e300, math.nan, str(item), [item], item + 1, item - 1][rng.integers(12)]
    if isinstance(item, str):
        if len(item) > 40 and rng.random() < 0.8:  # packed whole numbers: one of them changed
            try:
                numbers = unpacked_any(item)
                numbers[rng.integers(len(numbers))] += rng.choice([-100, -2, -1, 1, 2, 100])
                return cells.packed(numbers)
            except (ValueError, zlib.error):
                pass
        at = int(rng.integers(max(len(item), 1)))
        return [item[:at] + "x" + item[at + 1 :], item[:at], "", item + "A"][rng.integers(4)]
    if isinstance(item, list) and item:
        at, other = rng.integers(len(item), size=2).tolist()
        turned = [*item]
        turned[at], turned[other] = turned[other], turned[at]
        return [item[:-1], item[1:], [*item, item[at]], turned, [], item[:at] + item[at + 1 :]][rng.integers(6)]
    return [[], {}, 0.5, "end", 3][rng.integers(5)]


def unpacked_any(text):
    return np.frombuffer(zlib.decompress(base64.b64decode(text, validate=True)), "<i2").astype(np.int64)


def no_tighter(bounds, before):
    """Whether who keeps or reaches the bounds before does so with these."""
    if not (isinstance(bounds, dict) and isinstance(before, dict)):
        return bounds == before
    return bounds.keys() == before.keys() and all(bounds[name][0] <= low and high <= bounds[name][1] for name, (low, high) in before.items())


def no_stronger(said, before):
    """Whether this follows from the proof before, for which its claim holds."""
    claim, was = said.claim, before.claim
    inside = lambda a, b: all(p <= q and r <= s for (p, r), (q, s) in zip(b, a, strict=True)) and len(a) == len(b)  # noqa: E731
    assert (claim.problem, claim.policy, claim.plant, claim.variables) == (was.problem, was.policy, was.plant, was.variables)
    assert no_tighter(claim.never, was.never)
    assert no_tighter(claim.reach, was.reach)
    assert claim.goes_on == was.goes_on
    # cells go a little beyond the starts, and what is proven of them is true of starts there
    beyond = 0.1 * max(high - low for low, high in was.start) if before.evidence[0]["kind"] == "cells" else 0.0
    assert inside([(low, -high) for low, high in claim.start], [(low - beyond, -high - beyond) for low, high in was.start])
    assert claim.steps <= was.steps
    followed = before.evidence[0]["kind"] == "followed"  # anew, with the sensors that it says
    assert followed or all(a <= b + 1e-4 for a, b in zip(claim.sensors, was.sensors, strict=True))
    assert claim.parameters == was.parameters
    assert was.single or not claim.single
    fraction = math.prod((b - a) / (d - c) if d > c else 1.0 for (a, b), (c, d) in zip(claim.start, was.start, strict=True))
    assert said.share <= before.share + 1e-9 or fraction < 1.0
    assert all(name in before.bound and low <= before.bound[name][0] and before.bound[name][1] <= high for name, (low, high) in said.bound.items())
    assert before.within is None or (said.within is not None and said.within >= before.within)
    fewer = claim.steps < was.steps or (said.return_steps or 0) < (before.return_steps or 0)  # of rewards of one sign
    spare = 3e-6 * max(abs(before.worst_return), 1.0)  # what the prover leaves to the sums of the checker
    assert math.isnan(said.worst_return) or said.worst_return <= before.worst_return + spare or fewer
    assert fewer or all(any(share <= known + 0.01 and least <= bound + spare for known, bound in before.return_shares) for share, least in said.return_shares)
    assert math.isnan(said.best_return) or said.best_return >= before.best_return - spare
    assert (said.return_steps is None) == (before.return_steps is None)
    assert str(said).count("\n") == str(before).count("\n")


def attack(proof, policy, folder, count, seed):
    path = folder / "x.json"
    proof.save(path)
    before, content, rng = proof_of_file(path), json.loads(path.read_text()), np.random.default_rng(seed)
    spaql.check_proof(path, policy)
    lines = []
    for _ in range(count):
        wrong = damaged(content, rng)
        path.write_text(json.dumps(wrong))
        try:
            said = spaql.check_proof(path, policy)
        except spaql.SpaqlError as error:
            lines.append(str(error))
            continue
        no_stronger(said, before)
    assert not any("\n" in line for line in lines)
    return len(lines)


@pytest.mark.parametrize("kind", list(FAST))
def test_no_damage_makes_a_certificate_say_more(proven, kind, tmp_path):
    assert attack(*proven[kind], tmp_path, FAST[kind], 0) > 0.5 * FAST[kind]


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(FAST))
def test_no_damage_of_a_thousand_makes_a_certificate_say_more(proven, kind, tmp_path):
    assert attack(*proven[kind], tmp_path, SLOW, 1) > 0.5 * SLOW
