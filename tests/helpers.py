"""What several test files need."""

import numba
import numpy as np

import spaql
from spaql.plants.environment import PlantEnv
from spaql.plants.plant import LANES

LEARNERS = {
    "AQL": spaql.AQL, "SPAQL": spaql.SPAQL, "SPAQL-TS": spaql.SPAQLTS, "NBQL": spaql.NBQL, "ZoomRL": spaql.ZoomRL, "Random": spaql.Random,
}  # fmt: skip
TRAINED = ("AQL", "SPAQL", "SPAQL-TS", "NBQL", "ZoomRL")
PER_STEP = ("AQL", "NBQL", "ZoomRL")


@numba.njit
def run_batch(function, table, n):
    function(table, n)


def step_plant(plant, states, actions, lanes=LANES, noise=None):
    """One step from every state, `lanes` at a time: next states, observations, rewards, terminations."""
    rows, count = plant.rows, len(states)
    result = np.empty((rows.end, count))
    for begin in range(0, count, lanes):
        table, part = np.zeros((rows.end, LANES)), slice(begin, min(begin + lanes, count))
        n = part.stop - part.start
        table[rows.state : rows.observation, :n] = states[part].T
        table[rows.action : rows.noise, :n] = actions[part].T
        if noise is not None:
            table[rows.noise : rows.reward, :n] = noise[part].T
        run_batch(plant.batch[1], table.reshape(-1), n)
        result[:, part] = table[:, :n]
    seen = result[rows.observation : rows.action].T
    return result[rows.state : rows.observation].T, seen, result[rows.reward], result[rows.done] != 0.0


def fields(agent):
    """Everything an agent has learned, as bytes: equal means equal to the bit."""
    leaves = agent.leaves()
    return agent.history.table.tobytes(), leaves.dtype.descr, leaves.tobytes(), agent.state.outer.tobytes()


def assert_same(one, other, episodes=20):
    """Two agents learned the same, to the bit, and play the same."""
    np.testing.assert_array_equal(one.history.table, other.history.table)
    np.testing.assert_array_equal(one.leaves(), other.leaves())
    if episodes:
        np.testing.assert_array_equal(one.evaluate(episodes, seed=3).returns, other.evaluate(episodes, seed=3).returns)


def assert_both_loops_agree(name, learner, parameters):
    """The compiled loop, again, and Gymnasium's, on a problem with other parameters: the same bits."""
    made = [spaql.make(name, **parameters), spaql.make(name, **parameters), spaql.from_gym(PlantEnv(name, **parameters))]
    agents = [LEARNERS[learner](problem, seed=4) for problem in made]
    for agent in agents:
        agent.learn(3, rollouts=3)
    assert_same(agents[0], agents[1], episodes=5)
    assert_same(agents[0], agents[2], episodes=5)


def linear_plant(d, k=1, actions=None, horizon=30, noise=False):
    """d leaky integrators that k actions in [-1, 1], or one of a finite set, push around; to be held at zero."""
    states, pushes = [f"x{j}" for j in range(d)], [f"a{j}" for j in range(k)]
    extra = ["w"] if noise else []
    after = ", ".join(f"0.8 * {x} + 0.2 * {pushes[j % k]}{' * (0.5 + 0.5 * w)' if noise else ''}" for j, x in enumerate(states))
    cost = " + ".join(f"{x} * {x}" for x in states)
    starts = ", ".join(f"2.0 * u{j} - 1.0" for j in range(d))
    source = f"""
def start({", ".join(f"u{j}" for j in range(d))}):
    return ({starts},)
def leak({", ".join(states + pushes + extra)}):
    return ({after},), -({cost}), False
"""
    scope = {}
    exec(source, scope)
    return spaql.from_plant(
        spaql.reset(scope["start"]), spaql.step(scope["leak"]), name=f"leaky {d}",
        state=[spaql.Axis(x, -1.0, 1.0) for x in states], horizon=horizon, reference=(0.0,) * d,
        actions=spaql.Finite(tuple(actions)) if actions else spaql.Continuous((-1.0,) * k, (1.0,) * k),
    )  # fmt: skip


def wrapped(problem):
    """The same problem, run through Gymnasium's interface."""
    return spaql.from_gym(PlantEnv(problem))
