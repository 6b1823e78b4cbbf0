"""Teachers of Laws: anything that can be asked for an action."""

import gymnasium
import numpy as np
import pytest

import spaql
from gym_envs import Line
from law_examples import law_policies
from spaql.laws.lessons import own_lessons, tried_actions
from spaql.laws.search import Search
from spaql.laws.stages import cycle_of, plan_of
from spaql.laws.teacher import lessons_of
from spaql.laws.trials import Trials, seeds_of
from spaql.laws.vector import measured_units
from spaql.plants.problem import Continuous, Finite

TINY = {"max_leaves": 1, "effort": 0.02}


class Model:
    """What Stable-Baselines3 has."""

    def __init__(self, function):
        self.function = function

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        return self.function(observation), state


def swing(x):
    """P2, by hand."""
    cos, sin, velocity = x
    return np.clip([-14 * sin - 3 * velocity if cos >= -0.08 else 8 * sin + 4 * velocity], -2, 2)


def taught(teacher, problem="pendulum", **options):
    agent = spaql.Laws(spaql.make(problem), teacher=teacher, **TINY | options)
    agent.learn(iterations=1)
    return agent


@pytest.mark.filterwarnings("ignore::spaql.SpaqlWarning")
@pytest.mark.slow
def test_a_function_a_model_and_a_policy_that_do_the_same_teach_the_same():
    policy = law_policies()["P2"]
    agents = [taught(teacher) for teacher in (swing, Model(swing), policy)]
    lessons = [agent.state.taught for agent in agents]
    assert np.array_equal(lessons[0], lessons[1])
    for agent in agents:
        states, actions = agent.state.taught[:, :3], agent.state.taught[:, 3:]
        assert len(states) > 500
        np.testing.assert_allclose(actions, policy.decide(states), atol=1e-12)


@pytest.mark.filterwarnings("ignore::spaql.SpaqlWarning")
def test_an_agent_is_a_teacher():
    agent = spaql.SPAQL(spaql.make("cartpole"), seed=0)
    agent.learn(20, rollouts=5)
    learned = taught(agent, "cartpole")
    d = len(agent.problem.state)
    assert np.array_equal(learned.state.taught[:, d:], agent.policy().decide(learned.state.taught[:, :d]))


def test_every_step_of_a_teacher_is_counted():
    class Counting(gymnasium.Wrapper):
        steps = 0

        def step(self, action):
            self.steps += 1
            return super().step(action)

    env = Counting(Line(length=10))
    trials = Trials(spaql.from_gym(env, horizon=10))
    lessons, exams = lessons_of(trials, lambda x: -x, 0)
    assert trials.samples == env.steps > 0
    assert np.isfinite(exams).all()
    np.testing.assert_allclose(lessons.actions, np.clip(-lessons.states, -1, 1))


def test_a_small_budget_is_not_spent_on_the_teacher():
    trials = Trials(spaql.make("pendulum"), 100_000)
    lessons_of(trials, law_policies()["P2"], 0)
    assert trials.samples <= 20_000


WRONG = [
    (lambda x: [0.0, 1.0], r"the teacher must return one number for an action, not \[0.0, 1.0\]"),
    (lambda x: None, "the teacher must return one number for an action, not None"),
    (lambda x: "left", "the teacher must return one number for an action, not left"),
    (lambda x: float("nan"), "the teacher returned nan: actions must be finite"),
    (lambda x: 2.5, r"the teacher returned 2.5, outside \[-2.0\] ... \[2.0\] .*clip its actions"),
    (lambda x: 1 / 0, "the teacher failed at the observation .*ZeroDivisionError"),
    (Model(lambda x: np.zeros((3, 1))), "the teacher must return one number for an action"),
]


@pytest.mark.parametrize(("teacher", "message"), WRONG)
def test_a_teacher_that_is_wrong_is_one_clear_line(teacher, message):
    with pytest.raises(spaql.SpaqlError, match=message) as raised:
        taught(teacher)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 400


def test_a_teacher_must_know_the_actions_and_the_variables():
    with pytest.raises(spaql.SpaqlError, match="the teacher returned 7, which is not one of 0, 1"):
        taught(lambda x: 7, "cartpole")
    with pytest.raises(spaql.SpaqlError, match="the teacher looks at 2 variables, pendulum has 3"):
        taught(law_policies()["C2"])
    with pytest.raises(spaql.SpaqlError, match=r"a teacher has predict\(observation\), or is a function .* not int"):
        spaql.Laws(spaql.make("pendulum"), teacher=3)


@pytest.mark.filterwarnings("ignore::spaql.SpaqlWarning")
@pytest.mark.slow
def test_a_loaded_agent_goes_on_with_the_same_bits_without_its_teacher(tmp_path):
    agent = taught(swing, max_leaves=2)
    agent.save(tmp_path / "agent.spaql")
    loaded = spaql.load(tmp_path / "agent.spaql")
    assert loaded.teacher is None
    assert np.array_equal(loaded.state.taught, agent.state.taught)
    assert loaded.notes == agent.notes
    for one in (agent, loaded):
        one.learn(iterations=2)
    assert agent.policy().to_json() == loaded.policy().to_json()


def test_laws_that_are_worse_than_their_teacher_come_with_a_warning():
    with pytest.warns(spaql.SpaqlWarning, match="the laws are significantly worse than their teacher .*max_leaves"):
        agent = taught(law_policies()["P2"])
    assert agent.policy().notes == agent.notes != ()


def test_where_no_law_is_better_than_a_constant_action_a_warning_says_so():
    class Idle(Line):
        def reward(self):
            return 1.0

    agent = spaql.Laws(spaql.from_gym(Idle(length=5), horizon=5), **TINY)
    with pytest.warns(spaql.SpaqlWarning, match="no law better than one constant action was found"):
        agent.learn(iterations=1)


def test_large_trees_come_soon_where_they_are_wanted():
    first, cycle = cycle_of(8)
    assert first == [("fresh", 1), ("fresh", 2), *[("distil", 8)] * 4]
    assert [plan_of(stage, 8) for stage in range(len(first) + len(cycle))] == first + cycle
    assert {what for what, size in cycle if size > 4} == {"distil"}
    assert cycle_of(4)[0] == [("fresh", 1), ("fresh", 4), ("regrow", 4), ("regrow", 4)]


def test_own_lessons_are_better_than_what_was_done():
    policy = law_policies()["P2"]
    trials = Trials(policy.problem)
    units = measured_units(policy.problem, policy.usage.states)
    lessons = own_lessons(Search(trials, units, 0, 0, 0.1), policy.rules, 4)
    changed = (lessons.actions != policy.decide(lessons.states)).any(axis=1)
    assert 0.05 < changed.mean() < 1.0
    assert trials.samples > 0
    assert (lessons.weights > 0.0).all()


def test_an_environment_cannot_go_on_from_a_moment_and_gives_no_lessons_of_its_own():
    trials = Trials(spaql.from_gym(Line(length=5), horizon=5))
    units = measured_units(trials.problem, np.linspace(-1, 1, 9)[:, None])
    tree = Search(trials, units, 0, 0).proposals.leaf(1.0)
    assert own_lessons(Search(trials, units, 0, 0, 0.1), tree, 4) is None
    assert trials.returns(tree, seeds_of(0, 1, 0, 2)).shape == (2,)


def test_not_too_many_actions_are_tried():
    assert len(tried_actions(Continuous((-1.0,), (1.0,)))) == 9
    assert len(tried_actions(Continuous((-1.0,) * 2, (1.0,) * 2))) == 25
    assert len(tried_actions(Continuous((-1.0,) * 4, (1.0,) * 4))) == 16
    assert len(tried_actions(Finite(tuple(range(100))))) <= 33
