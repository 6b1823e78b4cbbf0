"""Laws in slow simulators: environments of Gymnasium that are not one of our plants."""

import contextlib
import os
import signal
import threading
import time

import gymnasium
import numpy as np
import pytest

import spaql
from gym_envs import Box, Discrete, Later, Line, Still, Wide
from spaql.laws.classical import local_laws
from spaql.laws.environments import Environments, Job, roll_out
from spaql.laws.race import Candidate, no_worse, paired, raced, shown_no_worse
from spaql.laws.trials import Spent, Trials, seeds_of
from spaql.laws.walks import Running
from spaql.policy.policy import Policy
from spaql.trees.edits import constant

SEEDS = seeds_of(0, 21, 0, 6)


def line(env=None, horizon=20, **options):
    return spaql.from_gym(Line() if env is None else env, horizon=horizon, **options)


class Balance(gymnasium.Env):
    """A stick that falls unless it is held; its third variable is a cosine, its fourth a dead sensor."""

    observation_space = Box(-np.inf, np.inf, (4,), np.float64)
    action_space = Box(-2.0, 2.0, (1,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.np_random.uniform(-0.1, 0.1, 2)
        return self.see(), {}

    def see(self):
        return np.array([*self.x, np.cos(self.x[0]), 0.0])

    def step(self, action):
        angle, speed = self.x
        speed += 0.05 * (6.0 * np.sin(angle) + 3.0 * float(np.clip(action[0], -2.0, 2.0)))
        self.x = np.array([angle + 0.05 * speed, speed])
        fallen = bool(abs(self.x[0]) > 0.5)
        return self.see(), 0.0 if fallen else 1.0, fallen, False, {}


def learned(problem, samples, seed=0, **options):
    agent = spaql.Laws(problem, max_leaves=options.pop("max_leaves", 1), seed=seed, **options)
    agent.learn(samples=samples)
    return agent


# -- what it finds -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_a_plant_that_has_to_be_held_takes_a_local_model_and_few_samples(seed):
    agent = learned(spaql.from_gym(Balance(), horizon=200), 4000, seed)
    policy = agent.policy()
    assert policy.evaluate(20).returns.min() == 200.0
    assert policy.numbers <= 3  # neither the cosine nor the dead sensor
    assert agent.history.train_samples[-1] == 4000 + agent.problem.map_samples


@pytest.mark.slow
def test_one_threshold_balances_gymnasiums_cartpole():
    agent = learned(spaql.from_gym("CartPole-v1"), 60_000)
    assert agent.evaluate(20).mean >= 450.0


def test_it_is_never_worse_than_the_best_constant_action():
    agent = learned(spaql.from_gym("Pendulum-v1"), 30_000)
    constants = [agent.state.floor]
    assert agent.history.evaluation[-1] >= max(constants)


def test_without_a_limit_a_stage_has_a_default():
    agent = spaql.Laws(line(), max_leaves=2, effort=0.005)
    agent.learn(iterations=2)
    assert 1000 < agent.history.train_samples[0] < 40_000
    assert agent.evaluate(10).mean > -1.5


def test_the_same_seed_gives_the_same_bits():
    one, other = (learned(line(), 5000, seed=4, max_leaves=2) for _ in range(2))
    assert one.history.table.tobytes() == other.history.table.tobytes()
    assert one.leaves().tobytes() == other.leaves().tobytes()


def test_it_goes_on_after_a_file(tmp_path):
    agent = learned(line(), 3000)
    agent.save(tmp_path / "a.spaql")
    again = spaql.load(tmp_path / "a.spaql", problem=line())
    again.learn(samples=2000)
    assert again.history.train_samples[-1] == 5000


# -- episodes ----------------------------------------------------------------------------------------------------------


def test_no_episode_begins_that_might_not_fit_and_asking_for_many_at_once_changes_nothing():
    tree = constant(1, [0.0])
    trials, apart = Trials(line(Line(terminate_at=5)), left=100), Trials(line(Line(terminate_at=5)), left=100)
    jobs = [Job(tree, seed, 20) for seed in range(40)]
    with pytest.raises(Spent):
        trials.roll_out(jobs)
    one_by_one = iter(jobs)
    while apart.left >= 20:
        apart.roll_out([next(one_by_one)])
    assert trials.samples == apart.samples == 85  # with 15 left, a whole episode of 20 has no room


def test_recorded_steps_have_the_actions_that_were_forced():
    problem, forced = line(), np.array([[0.5], [-0.25]])
    rollouts = roll_out(problem, problem.env, Job(constant(1, [1.0]), 3, 4, forced, True))
    assert rollouts.actions[:, 0].tolist() == [0.5, -0.25, 1.0, 1.0]
    assert rollouts.states.shape == (5, 1)


def test_running_units_are_those_of_all_that_was_seen():
    problem = line(Wide(), horizon=30)
    running, seen = Running(problem), []
    for seed in range(5):
        one = roll_out(problem, problem.env, Job(constant(3, [0.3]), seed, 30, None, True))
        running.add(one)
        seen.append(one.states[:-1])
    states = np.concatenate(seen)
    units = running.units
    np.testing.assert_allclose(units.middle, states.mean(axis=0))
    np.testing.assert_allclose(1 / units.inverse[:2], states[:, :2].std(axis=0, ddof=1))
    assert units.inverse[2] == 0.0  # it never varied


def test_a_linear_plant_gives_its_regulator():
    problem = spaql.from_gym(Balance(), horizon=100)
    laws = local_laws(Trials(problem), 0, np.random.default_rng(0))
    assert len(laws) == 3
    for law in laws:
        gains = law.laws.gains[0, 0]
        assert (gains[:2] < 0.0).all()
        assert (gains[2:] == 0.0).all()


def test_a_regulator_knows_the_remembered_action_though_it_is_the_same_in_every_start():
    remembered = ["past(position, 1)", "past(angle, 1)", "previous(push)"]
    problem = spaql.loop(spaql.make("cartpole-500"), observe=["position", "angle", *remembered], memory=remembered)
    laws = local_laws(Trials(problem), 0, np.random.default_rng(0))
    returns = [Policy(problem, law, "law tree", "").evaluate(100, seed=1).mean for law in laws]
    assert min(returns) > 490.0  # the plant moves two steps after an action: without the last one a regulator falls


def test_of_many_episodes_a_loss_must_be_shown_to_be_small():
    rng = np.random.default_rng(0)
    good = rng.normal(270.0, 20.0, 100)
    assert no_worse(good, good, 0.5)
    assert no_worse(good + rng.normal(0.0, 5.0, 100), good, 0.5)
    assert not no_worse(good + 60.0 * np.resize([-1.0, 1.0], 100), good, 0.5)  # the mean is the same, perhaps
    assert not no_worse(good - 3.0 + rng.normal(0.0, 1.0, 100), good, 0.5)
    assert not no_worse(np.array([9.0]), np.array([10.0]), 0.1)


def test_returns_are_compared_episode_by_episode():
    change, error = paired(np.array([3.0, 5.0, 7.0, 9.0]), np.array([1.0, 2.0, 6.0, 7.0]))
    assert change == 2.0
    assert error == pytest.approx(np.std([2.0, 3.0, 1.0, 2.0], ddof=1) / 2.0)
    assert paired(np.array([3.0]), np.array([1.0, 9.0])) == (2.0, 0.0)


def test_what_is_clearly_worse_sees_a_quarter_of_the_episodes():
    trials, seeds = Trials(line(horizon=10)), seeds_of(0, 1, 0, 40)
    good, bad = sorted((constant(1, [0.0]), constant(1, [1.0])), key=lambda tree: -trials.returns(tree, seeds).mean())
    before, used = trials.returns(good, seeds), trials.samples
    assert shown_no_worse(trials, good, seeds, before, 0.0)
    assert trials.samples - used == 400
    assert not shown_no_worse(trials, bad, seeds, before, 0.0)
    assert trials.samples - used == 500


# -- worker processes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_the_number_of_worker_processes_changes_nothing(jobs):
    problem = spaql.from_gym("CartPole-v1", horizon=40)
    alone, shared = Environments(problem), Environments(problem, jobs)
    wanted = [Job(constant(4, [seed % 2]), seed, 40, None, True) for seed in range(20)]
    with contextlib.closing(shared):
        got = shared.roll_out(wanted)
    for one, other in zip(alone.roll_out(wanted), got, strict=True):
        assert (one.total, one.steps, one.ended) == (other.total, other.steps, other.ended)
        np.testing.assert_array_equal(one.states, other.states)


@pytest.mark.slow
def test_a_whole_search_is_the_same_with_two_workers():
    one, other = (learned(line(horizon=10), 2500, jobs=jobs) for jobs in (1, 2))
    assert one.history.table.tobytes() == other.history.table.tobytes()
    assert one.leaves().tobytes() == other.leaves().tobytes()


class Stubborn(Line):
    """Cannot be copied."""

    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


class Bomb(Line):
    """Raises, or ends its process, in the second hundred of its steps."""

    def __init__(self, deadly):
        super().__init__()
        self.deadly, self.total, self.home = deadly, 0, os.getpid()

    def step(self, action):
        self.total += 1
        if self.total > 100 and os.getpid() != self.home:
            if self.deadly:
                os._exit(3)
            raise RuntimeError("the motor is hot")
        return super().step(action)


@pytest.mark.parametrize(
    ("env", "said"),
    [
        (Stubborn(), "cannot be copied to worker processes .*lock.*jobs=1"),
        (Bomb(False), "raised in a worker process: RuntimeError: the motor is hot"),
        (Bomb(True), "a worker process died.*what was found so far is kept"),
    ],
)
def test_what_goes_wrong_in_a_worker_is_one_clear_message(env, said):
    agent = spaql.Laws(line(env), max_leaves=1, jobs=2)
    with pytest.raises(spaql.SpaqlError, match=said):
        agent.learn(samples=20_000)
    assert agent.predict([0.1])[0].shape == (1,)  # it goes on with what it has


@pytest.mark.slow
def test_an_error_in_the_middle_keeps_what_was_found_and_counts_the_steps():
    agent = spaql.Laws(line(Later(good=9000)), max_leaves=1)
    with pytest.raises(spaql.SpaqlError, match="observation"):
        agent.learn(samples=20_000)
    assert agent.policy().has_laws
    assert agent.state.outer[0] >= 0
    assert np.isfinite(agent.state.floor)


@pytest.mark.skipif(not hasattr(signal, "raise_signal"), reason="no signals")
@pytest.mark.slow
def test_ctrl_c_ends_the_search_and_keeps_the_best_law():
    agent = spaql.Laws(line(), max_leaves=1, jobs=2)
    timer = threading.Timer(4.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.perf_counter()
    agent.learn(samples=10**8)
    timer.cancel()
    assert time.perf_counter() - begin < 30.0
    assert agent.history.interrupted
    assert agent.policy().n_leaves == 1


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "value", "said"),
    [
        ("see", [np.nan], r"observation \(reset\(seed=\d+\), step \d+\) is \[nan\]: expected 1 finite numbers"),
        ("see", [1.0, 2.0], "expected 1 finite numbers"),
        ("reward", np.nan, r"the reward nan: rewards are finite numbers \(reset\(seed=\d+\), step \d+\)"),
        ("reward", None, r"the reward None: rewards are finite numbers \(reset\(seed=\d+\), step \d+\)"),
        ("reward", np.inf, "the reward inf"),
    ],
)
def test_numbers_that_are_none_are_named_with_their_step(what, value, said):
    env = Later(good=60, value=value, what=what)
    with pytest.raises(spaql.SpaqlError, match=said):
        learned(line(env), 5000)


def test_too_few_samples_are_said_and_used_up():
    agent = spaql.Laws(line(), max_leaves=1)
    with pytest.warns(UserWarning, match="too few to try every constant action"):
        agent.learn(samples=30)
    assert agent.history.train_samples[-1] == 30


def test_a_race_that_takes_the_last_samples_ends_the_search_without_an_error(monkeypatch):
    def greedy(trials, trees, seeds, room):
        first, *others = raced(trials, trees, seeds, room)
        trials.limit = 0  # the constant action, which is to run as many episodes as the first law, finds no room
        return [Candidate(first.tree, 2 * first.rollouts), *others]

    monkeypatch.setattr("spaql.laws.slow.raced", greedy)
    assert learned(line(), 3000).policy().n_leaves == 1


@pytest.mark.parametrize("env", [Still(), Wide(), Line(actions=Discrete(1)), Line(actions=Discrete(3)), Line(high=1e8)])
def test_odd_environments_are_searched(env):
    agent = learned(line(env), 3000, max_leaves=2)
    assert agent.history.train_samples[-1] == 3000 + agent.problem.map_samples
    assert agent.policy().n_leaves >= 1


def test_observations_beyond_their_declared_bounds_do_no_harm():
    agent = learned(line(Line(low=-0.1, high=0.1)), 3000)
    assert agent.evaluate(5).mean < 0.0


class Cart(gymnasium.Env):
    """A point that is pushed by a tenth to either side, or not at all; `extra` is paid at every step."""

    observation_space = gymnasium.spaces.Box(-2, 2, (1,))
    action_space = gymnasium.spaces.Discrete(3)

    def __init__(self, extra=0.0):
        self.extra = extra

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.time = self.np_random.uniform(-1, 1), 0
        return self.seen(), {}

    def seen(self):
        return np.array([self.x], np.float32)

    def step(self, action):
        self.x, self.time = float(np.clip(self.x + 0.1 * (action - 1), -1.9, 1.9)), self.time + 1
        return self.seen(), self.extra - self.x**2, False, self.time >= 50, {}


@pytest.mark.parametrize("seed", [0, 1])
def test_three_actions_get_the_threshold_that_two_would_get(seed):
    agent = spaql.Laws(spaql.from_gym(Cart(), horizon=50), max_leaves=1, seed=seed)
    agent.learn(samples=20_000)
    assert agent.evaluate(20).mean > -1.2  # the best there is: -0.9; doing nothing: -17


@pytest.mark.slow
def test_a_constant_added_to_every_reward_changes_nothing_in_an_environment():
    def law(extra):
        agent = spaql.Laws(spaql.from_gym(Cart(extra), horizon=50), max_leaves=1, seed=1)
        agent.learn(samples=20_000)
        return agent.policy().to_text(share=False)

    assert law(0.0) == law(-64.0) == law(1024.0)
