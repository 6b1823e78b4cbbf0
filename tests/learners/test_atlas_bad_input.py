"""Atlas on strange problems, with bad options, and from hostile files: it learns, or says in one line what is wrong."""

import functools
import random
import re
import tracemalloc

import numpy as np
import pytest

import spaql
from gym_envs import Box, Discrete, Later, Line, Still, Wide
from helpers import linear_plant
from hostile_files import (
    array_bytes,
    array_of,
    load_bytes,
    members,
    mutated_bytes,
    mutated_description,
    mutated_numbers,
    packed,
    refusals,
)  # fmt: skip
from spaql.plants.known import known_outcome
from spaql.plants.problem import Problem
from spaql.policy.policy import Policy
from spaql.trees.tree import Builder

SMALL = {"controller": "table", "cells": 60, "model_cells": 50, "seed": 0}


def learned(env, samples=250, horizon=20, **options):
    problem = env if isinstance(env, spaql.Problem) else spaql.from_gym(env, horizon=horizon)
    agent = spaql.Atlas(problem, **(SMALL | options))
    agent.learn(samples=samples)
    return agent


@functools.cache
def plain(env):
    """Learned where nothing is strange, to compare with: nobody learns on with it."""
    return learned(env())


def check_sound(agent):
    """Whatever it has seen: finite values, actions of the problem, and a policy that can be looked at."""
    leaves = agent.leaves()
    assert np.isfinite(leaves["q"]).all()
    assert np.isfinite(leaves["state"]).all()
    policy = agent.policy()
    x = agent.state.memory.states[: agent.state.memory.n]
    np.testing.assert_array_equal(policy.tree().decide(x), policy.decide(x))
    assert all(np.isfinite(q) and np.isfinite(after).all() for _, q, after in policy.why(x[0]).expected)
    assert np.isfinite(policy.compress(laws=False, max_leaves=2, budget=3000, episodes=8).decide(x)).all()


def idle(agent):
    """What doing nothing earns."""
    builder = Builder(len(agent.problem.state), agent.actions.shape[1])
    builder.leaf(np.zeros(agent.actions.shape[1]))
    return Policy(agent.problem, builder.tree(), "tree", "hand").evaluate(100)


class Constant(Line):
    """Shows the same whatever happens."""

    def see(self):
        return np.full(self.d, 0.5, self.dtype)


class Paid(Line):
    """Its rewards are scaled and moved."""

    def __init__(self, scale=1.0, offset=0.0, **options):
        super().__init__(**options)
        self.scale, self.offset = scale, offset

    def reward(self):
        return self.scale * super().reward() + self.offset


class Large(Line):
    """Shows huge or tiny numbers."""

    def __init__(self, scale=1.0):
        super().__init__(-np.inf, np.inf, dtype=np.float64)
        self.scale = scale

    def see(self):
        return self.scale * self.x


# -- strange problems ------------------------------------------------------------------------------------------------------------------


def test_a_variable_that_never_changes_is_left_out():
    agent = learned(Still())
    check_sound(agent)
    assert (agent.policy().rules.nodes["feature"] != 1).all()
    np.testing.assert_array_equal(agent.leaves()["state"][:, 1], 0.25)


def test_unbounded_variables_of_very_different_size():
    agent = learned(Wide())
    check_sound(agent)
    assert agent.evaluate(100).mean > idle(agent).mean


@pytest.mark.parametrize("d", [1, 3])
def test_nothing_that_is_seen_ever_changes(d):
    agent = learned(Constant(d=d))
    check_sound(agent)
    assert agent.arms == 1


@pytest.mark.parametrize("scale", [1e-6, 1e6, 1e30, 1e-30])
def test_the_size_of_rewards_does_not_matter(scale):
    scaled = learned(Paid(scale))
    check_sound(scaled)
    assert scaled.evaluate(30).mean / scale == pytest.approx(plain(Paid).evaluate(30).mean, rel=0.2, abs=0.3)


@pytest.mark.parametrize("scale", [2.0**-20, 2.0**20])
def test_powers_of_two_in_the_rewards_change_no_bit_of_the_policy(scale):
    """Nothing in the model or the plan has a scale of its own."""
    leaves, scaled = plain(Paid).leaves(), learned(Paid(scale)).leaves()
    np.testing.assert_array_equal(leaves["action"], scaled["action"])
    np.testing.assert_array_equal(scale * leaves["q"], scaled["q"])


@pytest.mark.parametrize("offset", [0.0, 1.0, -7.0])
@pytest.mark.parametrize("terminate_at", [None, 5])
def test_rewards_that_are_all_equal(offset, terminate_at):
    check_sound(learned(Paid(0.0, offset, terminate_at=terminate_at)))


@pytest.mark.parametrize("length", [1, 2])
@pytest.mark.parametrize("ending", ["length", "terminate_at"])
def test_very_short_episodes(length, ending):
    agent = learned(Line(**{ending: length}))
    check_sound(agent)
    assert len(agent.history) == -(-250 // length)
    assert (agent.state.memory.flags[:250] & 3).sum() == (2 + (ending == "terminate_at")) * 250 // length


def test_a_horizon_of_one():
    check_sound(learned(Line(), horizon=1))


@pytest.mark.slow
def test_an_environment_that_never_ends():
    agent = learned(Line(), horizon=1000, samples=400)
    check_sound(agent)
    assert len(agent.history) == 1


@pytest.mark.slow
def test_a_long_horizon_needs_no_more_memory():
    learned(Line(), samples=40).policy()  # compiling needs memory too
    tracemalloc.start()
    try:
        learned(Line(), horizon=10**5, samples=40, cells=20, model_cells=20).policy()
        assert tracemalloc.get_traced_memory()[1] < 5e6  # 1.2 MB are for the samples: less than 40 bytes a step
    finally:
        tracemalloc.stop()


def test_a_single_action():
    agent = learned(linear_plant(2, actions=(0.5,)))
    check_sound(agent)
    assert (agent.predict(np.zeros((5, 2)))[0] == 0.5).all()


def test_two_action_axes():
    agent = learned(linear_plant(2, k=2), 400)
    check_sound(agent)
    assert agent.actions.shape == (9, 2)
    assert agent.predict(np.zeros((4, 2)))[0].shape == (4, 2)
    assert agent.evaluate(100).mean > idle(agent).mean


def test_two_action_axes_of_an_environment():
    agent = learned(Line(d=2, actions=Box(-1.0, 1.0, (2,), np.float32)))
    check_sound(agent)
    assert agent.predict([0.1, 0.1])[0].dtype == np.float32


def test_discrete_actions_that_do_not_begin_at_zero():
    agent = learned(Line(actions=Discrete(3, start=4)))
    check_sound(agent)
    assert set(np.unique(agent.predict(np.linspace(-1, 1, 50)[:, None])[0])) <= {4, 5, 6}


@pytest.mark.parametrize("scale", [1e80, 1e12, 1e-12, 1e-80])
def test_huge_and_tiny_observations(scale):
    scaled = learned(Large(scale))
    check_sound(scaled)
    assert scaled.evaluate(30).mean == pytest.approx(plain(Large).evaluate(30).mean, rel=0.2, abs=0.3)


def test_far_from_zero():
    class Far(Line):
        def __init__(self):
            super().__init__(-np.inf, np.inf, dtype=np.float64)

        def see(self):
            return 1e7 + self.x

    agent = learned(Far())
    check_sound(agent)
    assert agent.evaluate(20).mean > -4.0


def test_whole_cells_and_a_single_cell():
    agent = learned(Line(), cells=1, model_cells=1)
    check_sound(agent)
    assert agent.arms == 1
    check_sound(learned(Line(), neighbours=1))


@pytest.mark.parametrize("samples", [1, 2, 3, 5, 12])
def test_a_handful_of_samples(samples):
    check_sound(learned(spaql.make("cartpole"), samples))


# -- environments that misbehave -------------------------------------------------------------------------------------------------------

BAD = {
    "not a number": ({"value": [np.nan]}, "x0 is nan"),
    "infinite": ({"value": [np.inf]}, "x0 is inf"),
    "two numbers": ({"value": [0.0, 0.0]}, "shape"),
    "no axis": ({"value": 0.0}, "shape"),
    "infinite reward": ({"value": np.inf, "what": "reward"}, "reward inf"),
    "reward is not a number": ({"value": np.nan, "what": "reward"}, "reward nan"),
    "reward out of all bounds": ({"value": 1e200, "what": "reward"}, "reward"),
}


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("good", [60, 157])
def test_a_bad_value_is_an_error_that_says_what_and_where_and_what_was_seen_before_is_kept(what, good):
    options, message = BAD[what]
    env = Later(good=good, **options)
    agent = spaql.Atlas(spaql.from_gym(env, horizon=10), **SMALL)
    with pytest.raises(spaql.SpaqlError, match=message) as error:
        agent.learn(samples=1000)
    assert f"episode {good // 10 + 1}" in str(error.value)
    assert agent.state.memory.n == good
    assert agent.history.train_samples.tolist() == list(range(10, good + 1, 10))
    agent.predict([0.1])
    env.good = 10**9
    agent.learn(samples=50)
    assert agent.state.memory.n == good + 50


# -- options ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cells", 0), ("cells", -1), ("cells", 2.5), ("cells", True), ("cells", 10**9), ("model_cells", 0),
        ("neighbours", 0), ("neighbours", 1.5), ("neighbours", 10**6), ("levels", 1), ("levels", 1000), ("levels", "3"), ("hold", 0),
        ("hold", None), ("explore", "yes"), ("explore", 1), ("explore", None), ("chance", 2), ("chance", -0.1), ("chance", np.nan),
        ("gamma", 1), ("gamma", 0.0), ("gamma", -1), ("gamma", np.inf), ("gamma", "0.9"), ("seed", -1), ("seed", 1.0),
    ],
)  # fmt: skip
def test_options_out_of_range_are_named(name, value):
    with pytest.raises(spaql.SpaqlError, match=f"{name} must be"):
        spaql.Atlas(spaql.make("pendulum"), **{name: value})


def test_too_many_actions_are_refused():
    with pytest.raises(spaql.SpaqlError, match="fewer actions or levels"):
        spaql.Atlas(spaql.cube(2, 4, 10), levels=5)


def test_a_finite_set_of_actions_has_no_levels():
    with pytest.raises(spaql.SpaqlError, match="cartpole has a finite set of 2: leave levels out"):
        spaql.Atlas(spaql.make("cartpole"), levels=5)


# -- files -----------------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    agent = spaql.Atlas(spaql.make("cartpole"), controller="table", cells=20, model_cells=20, seed=3)
    agent.learn(samples=160)
    path = tmp_path_factory.mktemp("agent") / "a.spaql"
    agent.save(path)
    return path.read_bytes()


def test_three_hundred_mutated_files_load_or_raise_our_own_error(content, tmp_path):
    rng = random.Random(1)
    assert refusals((mutated_bytes(content, rng) for _ in range(300)), tmp_path) > 150


@pytest.mark.slow
def test_two_hundred_files_with_sound_checksums_but_hostile_contents(content, tmp_path):
    rng = random.Random(3)
    hostile = (mutated_numbers if turn % 3 else mutated_description for turn in range(200))
    assert 0 < refusals((mutated(content, rng) for mutated in hostile), tmp_path) < 200


@pytest.mark.parametrize("planned", [[0, 5], [1, 2, 3, 5], [100, 120, 5], [150, 100, 5], [100, 1000, 5], [-100, 5], [100, -1], []])
def test_a_file_cannot_ask_for_plans_that_training_would_not_have_made(content, tmp_path, planned):
    with pytest.raises(spaql.SpaqlError, match="plans are malformed"):
        load_bytes(tmp_path, packed(members(content) | {"planned.npy": array_bytes(np.array(planned, np.int32))}))


@pytest.mark.parametrize("name", ["states", "actions", "rewards", "nexts"])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_data_that_are_not_finite_are_refused(content, tmp_path, name, value):
    parts = members(content)
    array = array_of(parts[f"{name}.npy"]).copy()
    array.flat[7] = value
    with pytest.raises(spaql.SpaqlError, match=f"its {name} are"):
        load_bytes(tmp_path, packed(parts | {f"{name}.npy": array_bytes(array)}))


def test_actions_of_another_problem_are_refused(content, tmp_path):
    parts = members(content)
    with pytest.raises(spaql.SpaqlError, match="not those of the problem"):
        load_bytes(tmp_path, packed(parts | {"actions.npy": array_bytes(np.full((160, 1), 0.5))}))


@pytest.mark.parametrize("name", ["states", "flags", "planned", "outer"])
def test_missing_and_surplus_arrays_are_refused(content, tmp_path, name):
    parts = members(content)
    with pytest.raises(spaql.SpaqlError, match="must hold the arrays"):
        load_bytes(tmp_path, packed({key: value for key, value in parts.items() if key != f"{name}.npy"}))
    with pytest.raises(spaql.SpaqlError, match="must hold the arrays"):
        load_bytes(tmp_path, packed(parts | {"forest_q.npy": array_bytes(np.zeros(3))}))


# -- plants that leave their bounds ----------------------------------------------------------------------------------------------------


def test_who_leaves_the_declared_bounds_is_told():
    class Wanders(Line):
        def step(self, action):
            _, *rest = super().step(action)
            return np.array([3.0], np.float32), *rest

    with pytest.raises(spaql.SpaqlError, match=r"= 3 is outside"):
        learned(Wanders())
    agent = spaql.Atlas(spaql.make("cartpole"))
    with pytest.raises(spaql.SpaqlError, match=r"next_obs: .*99 is outside"):
        agent.update([0, 0, 0, 0], 0, 1.0, [99, 0, 0, 0])


def _paid(x, u, after):
    return -abs(after)


def _ended(x, u, after):
    return after > 0.9


def _told(agent):
    """Steps of a cart that is paid by its place, but for a fine beyond 0.5, and whose episodes end beyond 0.8."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        x, u = rng.uniform(-1, 1, (2, 1))
        after = np.clip(x + 0.1 * u, -1, 1)
        agent.update(x, u, -abs(after[0]) - 5.0 * (after[0] > 0.5), after, bool(after[0] > 0.8))
    return agent


def _line(**known):
    state, push = [spaql.Axis("place", -1, 1)], spaql.Continuous((-1.0,), (1.0,), ("push",))
    told = known_outcome(known.get("reward"), known.get("end"), state, push)
    return Problem("line", "a cart", tuple(state), push, 20, known=told)


@pytest.mark.usefixtures("quick_search")
@pytest.mark.parametrize(("known", "told"), [
    ({"reward": _paid}, r"reward _paid is wrong in \d+ of 40 steps; first in step \d+, to place 0\.\d+, it says -0\.\d+, paid was"),
    ({"end": _ended}, "terminated _ended is wrong in .* it does not say that the episode ended: correct it, or use_known=False"),
])  # fmt: skip
def test_a_reward_or_an_end_that_recorded_steps_contradict_is_named_with_the_first_of_them(known, told):
    assert re.search(told, _told(spaql.Atlas(_line(**known), controller="laws")).trust().doubts[0])


@pytest.mark.usefixtures("quick_search")
def test_who_does_not_use_what_is_known_is_not_contradicted():
    agent = _told(spaql.Atlas(_line(reward=_paid, end=_ended), controller="laws", use_known=False))
    assert not agent.trust().contradiction


def test_before_anything_was_learned_a_note_says_so():
    assert spaql.Atlas(spaql.make("pendulum")).notes == ("nothing was learned yet: it always applies the same action",)
