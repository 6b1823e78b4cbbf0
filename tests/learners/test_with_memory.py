"""An agent that remembers has the data of another one, as a loop with memory would have shown it."""

import numpy as np
import pytest

import spaql
from spaql.gp.learned_problem import imagined, model_of, predicted
from spaql.plants.environment import PlantEnv

pytestmark = pytest.mark.usefixtures("quick_search")


@spaql.reset
def warm(u1):
    return 20.0 + 10.0 * u1, 0.0, 0.0


@spaql.step
def heat(temperature, first, second, power):
    """What is applied arrives two steps later."""
    temperature = temperature + 6.0 * second - 0.1 * (temperature - 15.0)
    return (temperature, power, first), -abs(temperature - 40.0) / 10.0, False


@spaql.observe
def thermometer(temperature, first, second):
    return (temperature,)


def oven(horizon=60):
    state = [spaql.Axis("temperature", 0.0, 100.0)]
    actions = spaql.Continuous((0.0,), (1.0,), ("power",))
    return spaql.from_plant(warm, heat, observe=thermometer, state=state, actions=actions, horizon=horizon, name="oven")


def recorded(problem, episodes=6, steps=30):
    """An agent that was told what random powers do."""
    agent, env, rng = spaql.Atlas(problem, controller="laws"), PlantEnv(problem), np.random.default_rng(0)
    for k in range(episodes):
        here, _ = env.reset(seed=k)
        for h in range(steps):
            action = rng.uniform(0.0, 1.0, 1)
            after, reward, ended, _, _ = env.step(action)
            agent.update(here, action, reward, after, ended, step=h)
            here = after
    return agent


@pytest.fixture(scope="module")
def agent():
    return recorded(oven())


def test_the_data_tell_what_to_remember(agent):
    assert [axis.name for axis in agent.with_memory().problem.state] == ["temperature", "previous(power)", "previous(power, 2)"]


def test_the_data_are_those_that_a_loop_with_this_memory_shows(agent):
    memory = ["last(temperature, 2)", "previous(power)", "integral(temperature)", "average(temperature, 3)"]
    made, shown = agent.with_memory(memory).state.memory, recorded(spaql.loop(oven(), memory=memory)).state.memory
    assert made.n == shown.n == 180
    for name in ("states", "nexts", "actions", "rewards", "flags"):
        np.testing.assert_allclose(getattr(made, name)[:180], getattr(shown, name)[:180], rtol=1e-12)


def test_nothing_is_lost_or_changed(agent):
    made = agent.with_memory()
    assert (made.options, made.seed) == (agent.options, agent.seed)
    np.testing.assert_array_equal(made.state.outer, agent.state.outer)
    assert [axis.name for axis in agent.problem.state] == ["temperature"]
    assert agent.state.memory.n == 180


@pytest.mark.slow
def test_it_learns_on_and_can_be_saved(agent, tmp_path):
    made = agent.with_memory()
    made.learn(samples=60)
    assert made.state.memory.n == 240
    assert made.evaluate(100).mean > -12.0  # -25 without memory: who cannot know what is on its way heats for too long
    made.save(tmp_path / "agent.spaql")
    assert spaql.load(tmp_path / "agent.spaql", problem=made.problem).state.memory.n == 240


def test_a_loop_can_be_given_more_memory():
    made = recorded(spaql.loop(oven(), memory=["previous(power)"])).with_memory(["previous(power, 2)"])
    assert [axis.name for axis in made.problem.state] == ["temperature", "previous(power)", "previous(power, 2)"]


def test_what_is_remembered_already_is_not_advised_again():
    half = recorded(spaql.loop(oven(), memory=["previous(power)", "past(temperature, 1)"]))
    names = ["temperature", "previous(power)", "past(temperature, 1)", "previous(power, 2)"]
    assert [axis.name for axis in half.with_memory().problem.state] == names


@pytest.mark.slow
def test_in_the_model_memory_follows_to_the_last_bit(agent):
    made = agent.with_memory()
    data, problem = made.state.memory.data(180), made.problem_told
    learned = imagined(problem, model_of(problem, data), data, data.states[:1], np.random.default_rng(0), functions=3)
    after = predicted(learned, data.states[:100], data.actions[:100])
    np.testing.assert_array_equal(after[:, 1], data.actions[:100, 0])
    np.testing.assert_array_equal(after[:, 2], data.states[:100, 1])
    plain = learned.plant.in_functions()
    assert plain.step.python(*data.states[7], 0.0, 0.0, *data.actions[7], 0.5, 0.5, 0.5)[0][1:3] == (data.actions[7, 0], data.states[7, 1])


@pytest.mark.slow
def test_trust_says_so(agent):
    trust = agent.trust()
    assert trust.doubts[0].startswith("something is not observed: a model that remembers the steps before would miss ")
    assert trust.doubts[0].endswith(": measure it, or agent.with_memory()")
    assert trust.advice.memory == ("previous(power, 1)", "previous(power, 2)")


def test_a_plant_that_shows_everything_needs_no_memory():
    whole = recorded(spaql.loop(oven(), memory=["previous(power)", "previous(power, 2)"]))
    with pytest.raises(spaql.SpaqlError, match="do not show anything that is not observed"):
        whole.with_memory()


@pytest.mark.parametrize(
    ("memory", "said"),
    [("past(temperature)", "a list of names"), ([3], "a list of names"), (None, "a list of names"), (5, "a list of names"), (["past(speed)"], "'speed' is not a variable"), (["sum(power)"], "memory is chosen by names")],
)
def test_bad_memory_is_refused(agent, memory, said):
    with pytest.raises(spaql.SpaqlError, match=said):
        agent.with_memory(memory)


def test_data_that_a_loop_has_changed_cannot_be_kept():
    slow = spaql.Atlas(spaql.loop(oven(), rates=0.1), controller="laws")
    slow.learn(samples=20)
    with pytest.raises(spaql.SpaqlError, match="not applied as they are, so the data cannot be kept: give memory="):
        slow.with_memory(["previous(power)"])


def test_what_a_loop_hides_is_remembered_through_what_it_shows():
    blind = spaql.Atlas(spaql.loop(spaql.make("mountain-car-continuous"), observe=["position"]), controller="laws")
    blind.learn(samples=120)
    made = blind.with_memory(["past(position, 1)", "previous(force)"])
    assert [axis.name for axis in made.problem.state] == ["position", "past(position, 1)", "previous(force)"]
    data = made.state.memory.data(120)
    np.testing.assert_array_equal(data.nexts[:, 1], data.states[:, 0])
    with pytest.raises(spaql.SpaqlError, match=r"past\(velocity, 1\) cannot be computed from what is observed: .* position"):
        blind.with_memory(["past(velocity, 1)"])


def test_without_data_there_is_nothing_to_remember():
    with pytest.raises(spaql.SpaqlError, match="no data yet"):
        spaql.Atlas(oven(), controller="laws").with_memory()
    few = spaql.Atlas(oven(), controller="laws")
    few.update([20.0], 0.5, 0.0, [21.0])
    with pytest.raises(spaql.SpaqlError, match="too few to tell what to remember"):
        few.with_memory()
