"""Laws in slow simulators are chosen and confirmed in episodes that had no part in the search, and learn from teachers."""

import numpy as np
import pytest

import spaql
from gym_envs import Line
from law_examples import law_policies
from spaql.laws.race import Candidate, raced
from spaql.laws.teacher import rules_of
from spaql.laws.trials import Trials, seeds_of
from spaql.plants.environment import inside
from spaql.trees.edits import constant, with_variables
from spaql.trees.tree import decide

pytestmark = pytest.mark.filterwarnings("ignore::spaql.SpaqlWarning")


class Noisy(Line):
    """A point that gusts push about: one episode says little."""

    def step(self, action):
        self.x = np.clip(self.x + 0.3 * self.np_random.normal(size=self.d), -1.0, 1.0)
        return super().step(action)


class Lucky(Line):
    """Pays by chance, whatever is done."""

    def reset(self, *, seed=None, options=None):
        seen = super().reset(seed=seed)
        self.luck = self.np_random.normal()
        return seen

    def reward(self):
        return self.luck


def problem(env=None, horizon=10):
    return spaql.from_gym(Noisy(d=2) if env is None else env, horizon=horizon)


def learned(made, samples, **options):
    agent = spaql.Laws(made, max_leaves=1, **options)
    agent.learn(samples=samples)
    return agent


# -- confirmation ------------------------------------------------------------------------------------------------------


def test_the_confirmed_return_is_what_fresh_episodes_earn():
    errors = []
    for seed in range(3):
        agent = learned(problem(), 4000, seed=seed)
        told = agent.confirmed
        assert len(told.returns) >= 15
        assert agent.history.evaluation[-1] == pytest.approx(told.mean)
        errors.append((told.mean - agent.evaluate(200).mean) / (told.std / np.sqrt(len(told.returns))))
    assert abs(np.mean(errors)) < 2.0


def test_where_only_luck_pays_the_confirmed_return_is_no_luck():
    agent = learned(problem(Lucky()), 4000)
    told = agent.confirmed
    assert abs(told.mean) < 4.0 * told.std / np.sqrt(len(told.returns))  # the expected return is zero


def test_laws_that_could_not_be_confirmed_come_with_a_note():
    agent = learned(problem(), 3000)
    agent.state.confirmed = agent.state.confirmed[:1]
    assert any("did not suffice to confirm the laws in other episodes (1): give more samples" in one for one in agent.remarks())
    agent.state.confirmed = np.array([-90.0, 80.0, -60.0])
    assert any("3 episodes do not show that the laws are better" in one for one in agent.remarks())


def test_a_file_keeps_the_episodes_of_the_confirmation(tmp_path):
    agent = learned(problem(), 3000)
    agent.save(tmp_path / "agent.spaql")
    again = spaql.load(tmp_path / "agent.spaql", problem=problem())
    np.testing.assert_array_equal(again.confirmed.returns, agent.confirmed.returns)
    assert again.notes == agent.notes


def test_more_learning_does_not_lose_a_good_law():
    agent = learned(problem(), 4000)
    before = agent.evaluate(400)
    agent.learn(samples=4000)
    assert agent.evaluate(400).mean > before.mean - 2.0 * before.std / np.sqrt(400)


# -- races -------------------------------------------------------------------------------------------------------------


def race(trees, room, env=None):
    trials = Trials(problem(env))
    return trials, raced(trials, trees, lambda at, count: seeds_of(0, 9, at, count), room)


def test_a_race_gives_most_episodes_to_those_that_are_hard_to_tell_apart():
    trees = [constant(2, [push]) for push in (1.0, 0.9, 0.05, 0.0, -1.0)]
    trials, ranked = race(trees, 4000)
    assert {float(one.tree.actions[0, 0]) for one in ranked[:2]} == {0.05, 0.0}
    assert min(len(one.rollouts) for one in ranked[:2]) > max(len(one.rollouts) for one in ranked[2:])
    assert trials.samples <= 4000


def test_a_race_with_little_room_leaves_out_the_last():
    trials, ranked = race([constant(2, [push]) for push in (1.0, 0.0, -1.0, 0.5)], 60)
    assert sorted(float(one.tree.actions[0, 0]) for one in ranked) == [-1.0, 0.0, 1.0]
    assert trials.samples == 60


def test_a_law_must_be_better_than_the_one_it_replaces_by_more_than_the_noise():
    _, (one, other) = race([constant(2, [0.0]), constant(2, [0.02])], 400)
    assert not (one.better(other, 2.0) and other.better(one, 2.0))
    assert not Candidate(one.tree, []).better(other)


# -- loops -------------------------------------------------------------------------------------------------------------


def test_references_of_a_loop_have_nothing_to_do_with_the_start_states_of_its_plant():
    plant = spaql.from_gym(Line(), horizon=10, names=["x"])
    looped = spaql.loop(plant, references=[spaql.Reference("target", -0.5, 0.5, of="x")], dt=1.0)
    env, pairs = looped.open_env(), []
    for seed in range(200):
        env.reset(seed=seed)
        now = inside(env)
        pairs.append((now.outputs[0], now.references[0]))
    assert abs(np.corrcoef(np.array(pairs).T)[0, 1]) < 0.25


# -- teachers ----------------------------------------------------------------------------------------------------------


def test_a_law_that_teaches_is_kept_unless_a_better_one_is_found():
    made = problem()
    teacher = spaql.law(made, {"x0": -3.0, "x1": -3.0})
    agent = learned(made, 2500, teacher=teacher)
    assert len(agent.state.taught) > 0
    mine, theirs = agent.evaluate(300).returns, teacher.evaluate(300).returns
    assert mine.mean() > theirs.mean() - 2.0 * theirs.std() / np.sqrt(300)
    assert agent.policy().to_text() != learned(made, 2500).policy().to_text()


def test_a_function_teaches_a_law_that_does_what_it_does():
    agent = learned(problem(Line(d=2), 20), 2500, teacher=lambda x: float(np.clip(-0.7 * x[0], -1.0, 1.0)))
    d = len(agent.problem.state)
    states, actions = agent.state.taught[:, :d], agent.state.taught[:, d:]
    np.testing.assert_allclose(actions[:, 0], np.clip(-0.7 * states[:, 0], -1.0, 1.0))


@pytest.mark.slow
def test_two_workers_learn_the_same_from_a_teacher():
    one, other = (learned(problem(Line()), 2000, teacher=lambda x: -x, jobs=jobs) for jobs in (1, 2))
    assert one.history.table.tobytes() == other.history.table.tobytes()
    assert one.leaves().tobytes() == other.leaves().tobytes()


def test_samples_that_do_not_suffice_to_watch_a_teacher_are_said():
    agent = learned(problem(horizon=20), 300, teacher=lambda x: 0.0)
    assert any("the samples did not suffice to watch the teacher" in note for note in agent.notes)


def test_the_variables_of_a_teacher_are_found_by_their_names():
    small = spaql.from_gym(Line(d=2), horizon=5, names=["a", "b"])
    large = spaql.from_gym(Line(d=3), horizon=5, names=["b", "c", "a"])
    tree = rules_of(large, spaql.law(small, {"a": 0.5, "b": -0.25}))
    assert decide(tree, np.array([[0.4, 9.0, 0.6]]))[0, 0] == pytest.approx(0.2)
    said = "looks at 2 variables, .* has 3, without .*'q'.*: make a teacher for .* or give a function of .*'b', 'c', 'a'"
    with pytest.raises(spaql.SpaqlError, match=said):
        rules_of(large, spaql.law(spaql.from_gym(Line(d=2), horizon=5, names=["a", "q"]), {"a": 1.0}))


def test_tests_of_one_variable_and_of_several_move_with_their_variables():
    tree = law_policies()["P2"].rules
    moved = with_variables(tree, [3, 0, 2], 4)
    x = np.random.default_rng(0).uniform(-1, 1, (50, 3))
    wide = np.stack([x[:, 1], np.full(50, 7.0), x[:, 2], x[:, 0]], axis=1)
    np.testing.assert_array_equal(decide(moved, wide), decide(tree, x))
