"""One step of sets, of the prover and of the checker, holds every state that a program in double or single precision reaches."""

import numpy as np
import pytest

import spaql
from spaql.ground.compiling import kernel
from spaql.proofs.checked_kernels import cut_all
from spaql.proofs.checked_sets import box_of, many, reduced, spread_out
from spaql.proofs.checked_steps import stepped
from spaql.proofs.checker import CheckedLoop
from spaql.proofs.followed import Following, follow, stack_for, with_symbols
from spaql.proofs.loop_model import closed_loop
from spaql.proofs.sets import Sets, SetWork, carry, keep, room, work_for
from spaql.proofs.steps_of_sets import advancing
from spaql.trees.tree import decide

LAWS = {
    "pendulum": ({"cos": -2.0, "sin": -9.0, "velocity": -2.0}, 0.5, [[-3.5, 3.5], [-8.0, 8.0]]),
    "mountain-car": ({"velocity": 100.0, "position": 1.0}, 1.0, [[-1.2, 0.6], [-0.07, 0.07]]),
    "mountain-car-continuous": ({"velocity": 30.0, "position": -1.0}, 0.0, [[-1.2, 0.6], [-0.07, 0.07]]),
    "cartpole-500": ({"position": 1.0, "velocity": 2.0, "angle": 16.0, "angular velocity": 4.0}, 0.0, [[-2, 2], [-2, 2], [-0.2, 0.2], [-2, 2]]),
}


def inside(x, c, G, R, B):
    """Necessary for every direction: a . x <= a . c + |a G| + |a| R; and in the box."""
    rng = np.random.default_rng(0)
    directions = np.concatenate([np.eye(len(x)), -np.eye(len(x)), rng.normal(size=(16, len(x)))])
    reach = directions @ c + abs(directions @ G).sum(axis=1) + abs(directions) @ R
    return (directions @ x <= reach + 1e-12).all() and (B[:, 0] <= x).all() and (x <= B[:, 1]).all()


@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
@pytest.mark.parametrize("name", list(LAWS))
def test_no_state_is_outside_of_the_sets_after_some_steps(name, single):
    gains, offset, where = LAWS[name]
    policy = spaql.law(spaql.make(name), gains, offset=offset)
    rng, where = np.random.default_rng(3), np.array(where, float)
    d = len(where)
    checked = CheckedLoop(policy.problem, policy.rules, np.zeros(len(policy.problem.state)), single)
    for _ in range(12):
        centre, width = rng.uniform(where[:, 0], where[:, 1]), 10.0 ** rng.uniform(-4, -1.5) * np.diff(where, axis=1)[:, 0]
        box = np.stack([np.maximum(centre - width, where[:, 0]), np.minimum(centre + width, where[:, 1])], axis=1)
        sets = many(box[None])
        states = rng.uniform(box[:, 0], box[:, 1], (8, d))
        for _ in range(2):
            sets = stepped(checked, sets)
            states = np.array([moved(policy, x, single) for x in states])
            for x in states:
                assert any(inside(x, sets.c[k], sets.G[k], sets.R[k], sets.B[k]) for k in range(len(sets.c)))
        _the_prover_holds(policy, box, single, rng)


def moved(policy, state, single):
    plant = policy.problem.plant
    seen = np.array(state if plant.observe is None else plant.observe(*state))
    seen = seen.astype(np.float32).astype(float) if single else seen
    return np.array(plant.step(*state, *decide(policy.rules, seen[None])[0])[0])


def _the_prover_holds(policy, box, single, rng):
    """A set that is followed for two steps within limits that a simulated state leaves must not be called done."""
    loop, d = closed_loop(policy.problem, policy.rules, np.zeros(len(policy.problem.state)), single), len(box)
    ends = np.array([moved(policy, moved(policy, x, single), single) for x in rng.uniform(box[:, 0], box[:, 1], (6, d))])
    w, st = work_for(loop), stack_for(loop)
    advance = advancing(loop, w)
    for axis in range(d):
        for side, sign in ((0, 1.0), (1, -1.0)):
            limits = np.tile([-np.inf, np.inf], (d, 1))
            limits[axis, side] = (ends[:, axis].min() if side == 0 else ends[:, axis].max()) + sign * 1e-9
            task = Following(2, limits, np.full(d, np.inf), False, False, 1000)
            assert not follow(advance, loop, w, st, box, task)


# -- plants of one line, in each of which one part of a step decides ---------------------------------------------------


@spaql.reset
def at_zero(u):
    return (0.0 * u,)


@spaql.step
def shows_corners(x, force):
    return (2.0 * force - x,), 0.0, False


@spaql.step
def squares(x, force):
    return (x * x + 0.0 * force,), 0.0, False


@spaql.step
def obeys(x, force):
    return (force,), 0.0, False


DECIDES = {  # step, the law u = clip(gain x), starts, how far its sensor is off, states that are reached
    "how far the action is from its line": (shows_corners, 1.0, (-2.0, 2.0), 0.0, (-1.0, 1.0)),
    "how far slopes are from their middle": (squares, 0.0, (-1.0, 1.0), 0.0, (0.0, 1.0)),
    "how far a sensor is off": (obeys, 1.0, (0.0, 0.0), 0.1, (-0.1, 0.1)),
}


@pytest.mark.parametrize("part", DECIDES)
def test_what_a_step_leaves_over_is_in_the_set(part):
    step, gain, start, off, reached = DECIDES[part]
    problem = spaql.from_plant(
        at_zero, step, state=[spaql.Axis("x", -3.0, 3.0)], actions=spaql.Continuous((-1.0,), (1.0,)), horizon=5, name="line",
    )  # fmt: skip
    policy, box = spaql.law(problem, {"x": gain}), np.array([start])
    after = box_of(stepped(CheckedLoop(problem, policy.rules, np.array([off]), False), many(box[None])))[0, 0]
    assert after[0] <= reached[0]
    assert reached[1] <= after[1]
    for never in ((-9.0, 0.99 * reached[1]), (0.99 * reached[0] if reached[0] else 1e-3, 9.0)):
        loop = closed_loop(problem, policy.rules, np.array([off]), False)
        w, task = work_for(loop), Following(1, np.array([never]), np.full(1, np.inf), False, False, 100)
        assert not follow(advancing(loop, w), loop, w, stack_for(loop), box, task)


@kernel
def carried(w: SetWork, source: Sets, target: Sets) -> bool:
    return carry(w, source, 0, target, 0)


def reach_of(G, R, directions):
    """How far { G xi + r } goes: of zonotopes, one lies in the other if it goes no farther in any direction."""
    return np.abs(directions @ G).sum(axis=1) + np.abs(directions) @ R


def with_fewer_symbols_by_the_prover(w, sets, after, G, R):
    d = len(R)
    half = np.abs(G).sum(axis=1) + R
    sets.shape[0], sets.rest[0] = G, R
    w.step[:], w.around[:] = np.eye(d), np.stack([-half, half], axis=1)
    after.rest[0] = 0.0
    assert carried(w, sets, after)
    return after.shape[0], after.rest[0]


def with_fewer_symbols_by_the_checker(G, R):
    d = len(R)
    sets = many(np.zeros((1, d, 2)))._replace(G=G[None], R=R[None], B=np.tile([-np.inf, np.inf], (1, d, 1)))
    after = reduced(spread_out(sets), 2)
    assert after.G.shape[2] == 3 * d
    return after.G[0], after.R[0]


@pytest.mark.parametrize("which", ["of the prover", "of the checker"])
def test_a_set_lies_in_what_fewer_symbols_say_of_it_and_in_nothing_that_is_a_little_smaller(which):
    rng, smaller = np.random.default_rng(4), 0
    for name, d in (("mountain-car", 2), ("cartpole-500", 4)):
        policy = spaql.law(spaql.make(name), LAWS[name][0])
        loop = with_symbols(closed_loop(policy.problem, policy.rules, np.zeros(d), False))
        w, sets, after = work_for(loop), room(loop, 1), room(loop, 1)
        for _ in range(100):
            G = rng.normal(size=(d, loop.columns)) * 10.0 ** rng.uniform(-8, 2, loop.columns)
            R = 10.0 ** rng.uniform(-9, 0, d)
            G[:, rng.random(loop.columns) < 0.2] = 0.0  # no direction
            if which == "of the prover":
                fewer, rest = with_fewer_symbols_by_the_prover(w, sets, after, G, R)
            else:
                fewer, rest = with_fewer_symbols_by_the_checker(G, R)
            directions = np.concatenate([rng.normal(size=(200, d)), np.eye(d)])
            inner = reach_of(G, R, directions)
            assert (inner <= reach_of(fewer, rest, directions) * (1.0 + 1e-14)).all()  # the sums here round, too
            smaller += bool((inner > reach_of(fewer, 0.999 * rest, directions)).any())
    assert smaller > 30


@kernel
def kept(sets: Sets, row, sign, least) -> None:
    keep(sets, 0, row, sign, least)


def cut_by_the_prover(c, G, R, row, least, sets):
    sets.centre[0], sets.shape[0], sets.rest[0] = c, G, R
    kept(sets, -row, -1.0, least)
    return sets.centre[0], sets.shape[0], sets.rest[0]


def cut_by_the_checker(c, G, R, row, least, sets):
    c, G, R = c[None].copy(), G[None].copy(), R[None].copy()
    cut_all(c, G, R, row[None], np.array([least]))
    return c[0], G[0], R[0]


@pytest.mark.parametrize("cut", [cut_by_the_prover, cut_by_the_checker])
def test_a_cut_keeps_every_point_that_it_is_to_keep(cut):
    rng, at_the_edge, d = np.random.default_rng(3), 0, 4
    policy = spaql.law(spaql.make("cartpole-500"), LAWS["cartpole-500"][0])
    sets = room(closed_loop(policy.problem, policy.rules, np.zeros(d), False), 1)
    for _ in range(300):
        c, G, R = rng.normal(size=d), np.diag(10.0 ** rng.uniform(-3, 3, d)), np.zeros(d)
        row, xi = rng.normal(size=d), rng.uniform(-1.0, 1.0, (400, d))
        xi[:16] = np.array(np.meshgrid(*[[-1.0, 1.0]] * d)).reshape(d, -1).T
        least = float(np.quantile(xi @ row, rng.uniform(0.5, 0.999)))
        points = (c + xi * np.diag(G))[xi @ row >= least]
        centre, shape, rest = cut(c, G, R, row, least, sets)
        reach = np.abs(np.diag(shape)) + rest
        assert (np.abs(points - centre) <= reach * (1.0 + 1e-12)).all()
        at_the_edge += (np.abs(points - centre) > 0.95 * reach).any(axis=1).sum()
    assert at_the_edge > 100
