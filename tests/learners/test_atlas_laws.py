"""Atlas with laws as its controller: trials by look-ahead in a learned model, laws from it, and what it says of them."""

import functools
import random
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest

import spaql
from gym_envs import Box, Discrete, Later, Line, Still, Wide
from helpers import linear_plant, wrapped
from hostile_files import array_bytes, load_bytes, members, mutated_numbers, packed, refusals
from spaql.laws import in_model
from spaql.laws.vector import everything, numbers_of
from spaql.learners.atlas.experience import AHEAD, BEGAN, CURIOUS, FOLLOWED, LED, TERMINATED
from spaql.trees.edits import constant
from spaql.trees.tree import decide

pytestmark = pytest.mark.usefixtures("quick_search")


def learned(problem, samples, **options):
    agent = spaql.Atlas(problem, **({"controller": "laws", "seed": 1} | options))
    agent.learn(samples=samples)
    return agent


def trained(problem, samples, **options):
    """Without its last search."""
    agent = spaql.Atlas(problem, **({"controller": "laws", "seed": 1} | options))
    agent.train(samples, threading.Event())
    return agent


@functools.cache
def balanced():
    """An agent that several tests look at."""
    return learned(spaql.make("cartpole"), 260)


@functools.cache
def swinging():
    """Another one, whose laws were tried on the plant. Nobody learns on with it."""
    return learned(spaql.make("pendulum", horizon=30), 250)


def flags(agent):
    return agent.state.memory.flags[: agent.state.memory.n]


def test_one_law_balances_the_cart_pole_after_150_samples():
    agent = learned(spaql.make("cartpole"), 150)
    assert agent.evaluate(200).returns.min() > 190
    assert agent.arms == 1
    assert agent.policy().kind == "law tree"
    assert "angle" in agent.policy().to_text()


def test_laws_that_cannot_be_tidied_have_three_digits(monkeypatch):
    monkeypatch.setattr(in_model.Tidying, "run", lambda self: (constant(4, np.zeros(1)), True))
    tree = learned(spaql.make("cartpole"), 150).policy().rules
    numbers = numbers_of(tree, everything(tree))
    assert len(numbers) > 2
    assert [float(f"{x:.3g}") for x in numbers] == numbers.tolist()


def test_the_first_samples_are_random_then_look_ahead_acts():
    agent = trained(spaql.make("pendulum", horizon=30), 100)
    assert not (flags(agent)[:40] & AHEAD).any()
    assert (flags(agent)[40:] & AHEAD).all()


@pytest.mark.slow
def test_laws_are_tried_on_the_plant_and_searched_for_anew():
    agent = swinging()
    assert [one.samples for one in agent.state.grown] == [160, 240]
    led = np.flatnonzero(flags(agent) & LED)
    assert led[0] == 160
    memory, tree = agent.state.memory, agent.state.grown[0].entry.tree
    np.testing.assert_array_equal(decide(tree, memory.states[led[:30]]), memory.actions[led[:30]])


def test_where_look_ahead_sees_no_way_the_plan_explores():
    agent = trained(spaql.make("mountain-car"), 300, cells=60, model_cells=50)
    assert not (flags(agent) & (AHEAD | LED)).any()
    assert (flags(agent) & (FOLLOWED | CURIOUS)).any()


def test_what_is_evaluated_is_what_is_predicted_shown_and_exported():
    agent = swinging()
    policy, x = agent.policy(), agent.state.memory.states[:50]
    np.testing.assert_array_equal(agent.predict(x)[0], policy.predict(x)[0])
    np.testing.assert_array_equal(agent.evaluate(20).returns, policy.evaluate(20).returns)
    assert "double" in policy.to_c()
    assert agent.leaves()["gains"].shape == (agent.arms, 1, 3)


def test_the_better_of_table_and_laws_is_taken():
    agent = learned(spaql.make("cartpole"), 150, controller="best", cells=60)
    assert agent.evaluate(100).mean > 150
    assert agent.tabled == (agent.policy().kind == "table")


@pytest.mark.slow
def test_learning_in_two_parts_is_learning_at_once(tmp_path):
    problem = spaql.make("pendulum", horizon=30)  # all episodes have 30 steps, but for the first ones: 30 and 10
    once, parts = trained(problem, 190), learned(problem, 160)
    assert once.state.memory.flags[160] & BEGAN
    parts.save(tmp_path / "agent")
    parts = spaql.load(tmp_path / "agent")
    parts.learn(samples=30)
    np.testing.assert_array_equal(once.state.memory.states[:190], parts.state.memory.states[:190])


def test_a_loaded_agent_acts_as_before_without_a_search(tmp_path, monkeypatch):
    agent = swinging()
    agent.save(tmp_path / "agent")
    monkeypatch.setattr(in_model, "laws_in", None)  # a search would fail
    again = spaql.load(tmp_path / "agent")
    np.testing.assert_array_equal(again.evaluate(20).returns, agent.evaluate(20).returns)
    assert again.controller == "laws"
    assert [one.samples for one in again.state.grown] == [160, 240]


def test_the_same_seed_gives_the_same_laws():
    one, other = (learned(spaql.make("pendulum", horizon=30), 60).policy() for _ in range(2))
    assert one.to_json() == other.to_json()


def test_gymnasium_gives_the_laws_of_the_compiled_plant():
    plant = trained(spaql.make("pendulum", horizon=30), 60, use_known=False)
    env = trained(wrapped(spaql.make("pendulum", horizon=30)), 60, use_known=False)
    np.testing.assert_array_equal(plant.state.memory.states[:60], env.state.memory.states[:60])


def test_outside_data_is_enough():
    source = trained(spaql.make("cartpole"), 150)
    agent = spaql.Atlas(source.problem, controller="laws")
    memory = source.state.memory
    for i in range(memory.n):
        agent.update(memory.states[i], memory.actions[i], memory.rewards[i], memory.nexts[i], bool(memory.flags[i] & 1))
    assert agent.evaluate(100).mean > 180


def test_a_reward_that_is_not_told_is_learned():
    agent = learned(spaql.make("pendulum", horizon=30), 100, use_known=False)
    assert agent.problem_told.known is None
    assert np.isfinite(agent.evaluate(10).mean)


def test_an_untrained_agent_and_a_handful_of_samples():
    agent = spaql.Atlas(spaql.make("pendulum"), controller="laws")
    assert agent.predict(np.zeros(3))[0] == pytest.approx(0.0)
    agent.learn(samples=5)
    assert agent.predict(np.zeros(3))[0] == pytest.approx(0.0)
    with pytest.raises(spaql.SpaqlError, match="5 samples are too few to assess"):
        agent.trust()


STRANGE = {
    "constant variable": Still,
    "one action": lambda: Line(actions=Discrete(1)),
    "discrete": lambda: Line(actions=Discrete(3, start=5)),
}
STRANGER = {
    "20 variables": lambda: Line(d=20),
    "unbounded": Wide,
    "two axes": lambda: Line(actions=Box(-1.0, 1.0, (2,))),
    "short": lambda: Line(length=1),
    "ends": lambda: Line(terminate_at=3),
}


@pytest.mark.parametrize(
    "env",
    [pytest.param(env, id=name) for name, env in STRANGE.items()]
    + [pytest.param(env, id=name, marks=pytest.mark.slow) for name, env in STRANGER.items()],
)
def test_strange_problems(env):
    agent = learned(spaql.from_gym(env(), horizon=20), 70)
    assert np.isfinite(agent.evaluate(5).mean)
    assert str(agent.trust())


def test_the_line_is_held_at_zero():
    agent = learned(spaql.from_gym(Line(), horizon=20), 80)
    assert agent.evaluate(20).mean > -1.5  # doing nothing: -2.3


def test_a_bad_value_is_named_and_what_was_seen_is_kept():
    agent = spaql.Atlas(spaql.from_gym(Later(good=60, value=[np.nan]), horizon=20), controller="laws")
    with pytest.raises(spaql.SpaqlError, match="must be finite"):
        agent.learn(samples=200)
    assert agent.state.memory.n == 60


def test_an_unknown_controller_is_named():
    with pytest.raises(spaql.SpaqlError, match=r"controller.*best.*laws.*table"):
        spaql.Atlas(spaql.make("pendulum"), controller="network")


# -- trust -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_its_word_about_itself_is_true():
    agent = balanced()
    trust = agent.trust()
    assert trust.mean == pytest.approx(agent.evaluate(200).mean, rel=0.1)
    assert trust.floor < 50
    assert trust.tried is not None
    assert trust.tried.predicted.mean() == pytest.approx(trust.tried.earned.mean(), rel=0.3)
    assert "tried on plant" in str(trust)


def test_noise_that_nobody_can_predict_is_a_doubt():
    class Noisy(Line):
        """Half of what is seen has nothing to do with the plant."""

        def see(self):
            return np.append(self.x[:1], self.np_random.uniform(-1, 1)).astype(np.float32)

    trust = learned(spaql.from_gym(Noisy(d=2), horizon=20), 120).trust()
    assert any("cannot predict x1" in line for line in trust.doubts)


@pytest.mark.slow
def test_a_trial_that_the_plant_has_ended_is_compared_with_a_whole_episode(monkeypatch):
    agent = balanced()
    cut, memory = agent.trust().tried, agent.state.memory
    assert cut.predicted.mean() == pytest.approx(cut.earned.mean())
    fallen = memory.flags.copy()
    fallen[np.flatnonzero(flags(agent) & LED)[-1]] |= TERMINATED  # as if the pole had fallen in the last trial
    monkeypatch.setattr(memory, "flags", fallen)
    monkeypatch.setattr(agent.state, "trust", None)  # it is kept as long as there are no new samples
    ended = agent.trust()
    assert ended.tried.earned.mean() == cut.earned.mean()
    assert ended.tried.predicted.mean() > cut.predicted.mean() + 20
    assert any("laws" in line for line in ended.doubts)


@pytest.mark.slow
def test_laws_that_never_acted_are_a_doubt():
    agent = learned(spaql.make("pendulum", horizon=30), 100)
    assert any("untried, no laws have controlled an episode on the plant yet" in line for line in agent.trust().doubts)
    assert not any("untried, no laws" in line for line in swinging().trust().doubts)


# -- files -------------------------------------------------------------------------------------------------------------


@functools.cache
def kept():
    """The parts of an agent's file."""
    with tempfile.TemporaryDirectory() as folder:
        learned(linear_plant(1), 50).save(f"{folder}/agent")
        return members(Path(folder, "agent").read_bytes())


@pytest.mark.parametrize("trials", [[0, 5, 0], [500, 0, 0], [0, 0, 500], [-1, 0, 0], [0, 0]])
def test_a_file_with_impossible_trials_is_refused(trials, tmp_path):
    with pytest.raises(spaql.SpaqlError, match="trials are malformed"):
        load_bytes(tmp_path, packed(kept() | {"trials.npy": array_bytes(np.array(trials, np.int32))}))


@pytest.mark.slow
def test_a_hundred_hostile_files_load_or_raise_our_own_error(tmp_path):
    agent = learned(linear_plant(2), 60)
    agent.save(tmp_path / "agent")
    content, rng = (tmp_path / "agent").read_bytes(), random.Random(5)
    assert refusals((mutated_numbers(content, rng) for _ in range(100)), tmp_path) > 20
