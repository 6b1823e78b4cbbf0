"""After learning, whoever has got a bad controller is told so: once, with what to do, and wherever the controller is shown."""

import math
import warnings

import numpy as np
import pytest

import spaql
from spaql.plants.environment import PlantEnv
from spaql.training.acceptance import lost_episodes


def told(agent, *args, **options):
    """The warnings of `learn`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        agent.learn(*args, **options)
    return [str(one.message) for one in caught if issubclass(one.category, spaql.SpaqlWarning)]


@pytest.fixture(scope="module")
def bad():
    agent = spaql.SPAQL(spaql.make("pendulum"), seed=0)
    return agent, told(agent, 1, rollouts=1)


def test_a_controller_no_better_than_a_constant_action_warns_once(bad):
    _, (line,) = bad
    assert "no better than the constant action torque = " in line
    assert "give it more iterations, or use spaql.Laws or spaql.Atlas" in line


def test_the_same_is_in_print_and_with_the_policy(bad):
    agent, (line,) = bad
    (note,) = agent.notes
    assert note in line
    assert str(agent) == f"{agent!r}\nwarning: {note}"
    assert agent.policy().notes == (note,)


def test_several_bad_agents_bring_one_warning():
    agents = [spaql.SPAQL(spaql.make("pendulum"), seed=seed) for seed in range(3)]
    with pytest.warns(spaql.SpaqlWarning, match=r"SPAQL on pendulum, seed 0: .* \(and 2 more of 3 agents: see agent.notes\)") as caught:
        spaql.learn_all(agents, 1, rollouts=1)
    assert len(caught) == 1
    assert all(agent.notes for agent in agents)


def test_a_file_keeps_it(bad, tmp_path):
    agent, _ = bad
    agent.save(tmp_path / "agent.spaql")
    assert spaql.load(tmp_path / "agent.spaql").notes == agent.notes


def test_it_is_forgotten_once_the_controller_is_good():
    agent = spaql.Laws(spaql.make("cartpole"), max_leaves=1, seed=0, effort=0.1)
    agent.state.notes = ("it is bad",)
    assert told(agent, samples=1_000_000) == []
    assert agent.notes == ()


def test_the_test_changes_nothing_that_is_learned(monkeypatch):
    def arms():
        agent = spaql.SPAQL(spaql.make("cartpole"), seed=0)
        for _ in range(3):
            told(agent, 5, rollouts=2)
        return agent.leaves()

    tested = arms()
    monkeypatch.setattr("spaql.training.trainer.shortcomings", lambda agent, hurry: ())
    np.testing.assert_array_equal(arms(), tested)


def test_learners_that_learn_nothing_are_not_blamed():
    assert told(spaql.Random(spaql.make("pendulum"), seed=0), 2, rollouts=1) == []


def test_an_episode_is_lost_that_earns_as_little_as_doing_nothing_from_the_same_start():
    still = np.r_[np.zeros(98), 90.0, 0.0]
    earned = np.r_[np.linspace(80.0, 100.0, 98), 91.0, 5.0]  # the last but one begins where nothing is to be gained
    assert lost_episodes(earned, still).tolist() == 99 * [False] + [True]


@pytest.mark.parametrize("lost", [5, 30, 60, 90])
def test_however_many_are_lost_they_are_found(lost):
    earned = np.r_[np.full(lost, 0.5), np.linspace(80.0, 100.0, 100 - lost)]
    assert lost_episodes(earned, np.zeros(100)).sum() == lost


def test_where_noise_is_stronger_than_any_controller_no_episode_is_lost():
    rng = np.random.default_rng(0)
    still = rng.normal(size=1000)
    assert lost_episodes(still + rng.normal(0.3, 1.0, size=1000), still).mean() < 0.03


def test_lost_episodes_are_counted():
    agent = spaql.SPAQLTS(spaql.make("cartpole"), seed=0)
    (line,) = told(agent, 50)
    assert "it loses 4 of 100 episodes: they earn 11, the others 157.4" in line


# -- limits ------------------------------------------------------------------------------------------------------------


@spaql.reset
def start(u):
    return (0.2 * u - 0.1,)


@spaql.step
def gusts(place, push, u):
    """Stronger than any push."""
    return (place + 0.05 * push + 0.6 * (u - 0.5),), -abs(place - 1.0), False


def windy(high):
    return spaql.from_plant(
        start, gusts, state=[spaql.Axis("place", -9, 9, unit="m")], actions=spaql.Continuous((-1.0,), (1.0,), ("push",)), horizon=20,
        limits=[spaql.Limit("place", high=high)],
    )  # fmt: skip


def test_a_limit_that_no_law_keeps_comes_with_its_share_and_its_price():
    agent = spaql.Laws(windy(0.5), max_leaves=1, effort=0.1)
    (line,) = told(agent, samples=500_000)
    share = 100 * agent.evaluate(300).violations["place"].episodes
    assert share > 3
    found = next(int(word) for word in line.split("it breaks the limit place ≤ 0.5 m in ")[1].split() if word.isdigit())
    assert found == pytest.approx(share, abs=8)
    price = float(line.split("; without limits it would earn ")[1].split(" more")[0])
    free = spaql.law(agent.problem, [[-18.0]], [18.0]).evaluate(300).mean
    assert price == pytest.approx(free - agent.evaluate(300).mean, rel=0.2)


def test_a_limit_that_is_kept_is_not_mentioned():
    assert told(spaql.Laws(windy(8.0), max_leaves=1, effort=0.1), samples=200_000) == []


# -- environments ------------------------------------------------------------------------------------------------------


class Counted(PlantEnv):
    steps = 0

    def step(self, action):
        Counted.steps += 1
        return super().step(action)


def test_an_environment_makes_no_step_that_was_not_asked_for():
    agent = spaql.SPAQL(spaql.from_gym(Counted(spaql.make("cartpole", horizon=20)), horizon=20), seed=0)
    before = Counted.steps
    told(agent, 5, rollouts=2)
    history = agent.history
    assert Counted.steps - before == history.train_samples[-1] + history.eval_samples[-1]


def test_in_an_environment_evaluations_that_do_not_rise_are_a_warning():
    agent = spaql.SPAQL(spaql.from_gym("MountainCar-v0", horizon=30), seed=0)  # nobody reaches the top in 30 steps
    (line,) = told(agent, 25, rollouts=1)
    assert "its evaluations have not risen in training (-30 in the first 5 iterations, -30 in the last)" in line


@spaql.step
def rarely_broken(place, push, u):
    return (place + 0.1 * push,), -abs(place) if u < 0.999 else math.nan, False


def test_a_plant_that_fails_in_fresh_episodes_is_a_note_and_no_error():
    problem = spaql.from_plant(start, rarely_broken, state=[spaql.Axis("place", -9, 9)], actions=spaql.Finite((-1, 1)), horizon=8)
    (line,) = told(spaql.SPAQL(problem, seed=0), 1, rollouts=1)
    assert "it could not be tested in fresh episodes: " in line
