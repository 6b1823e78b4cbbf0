"""Names and units of what an environment shows, nested observations as one vector, and how much measuring costs."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import spaql
from gym_envs import Box, Discrete, Line, Wide
from helpers import assert_same
from spaql.plants.answers import DOCUMENTED
from spaql.plants.catalog import CATALOG


class Nested(Line):
    """A robot: position in the plane, a gear, a switch, and a speed."""

    def __init__(self, **parts):
        super().__init__()
        self.observation_space = spaces.Dict(
            {"speed": Box(-5.0, 5.0, (1,), np.float64), "gear": Discrete(2, start=1), "place": spaces.Tuple([Box(-1.0, 1.0, (2,), np.float64)]), **parts}
        )

    def see(self):
        return {"speed": 5 * self.x, "gear": 1 + int(self.x[0] > 0), "place": (np.array([self.x[0], -self.x[0]]),)}


def told(problem):
    return [(axis.name, axis.unit) for axis in problem.state]


# -- names and units ---------------------------------------------------------------------------------------------------


def test_variables_and_actions_have_the_names_given():
    problem = spaql.from_gym(
        "Pendulum-v1", horizon=20, names=["cos", "sin", "velocity"], units=["", "", "rad/s"], action_names=["torque"], action_units=["N m"]
    )  # fmt: skip
    assert told(problem) == [("cos", ""), ("sin", ""), ("velocity", "rad/s")]
    assert (problem.actions.names, problem.actions.units) == (("torque",), ("N m",))
    agent = spaql.SPAQL(problem, seed=0)
    agent.learn(20, rollouts=1)
    assert "torque" in agent.policy().to_text()


def test_names_alone_or_units_alone_can_be_given():
    assert told(spaql.from_gym(Line(), horizon=5, names=["place"])) == [("place", "")]
    assert told(spaql.from_gym(Line(), horizon=5, units=["m"])) == [("x0", "m")]
    assert spaql.from_gym(Line(actions=Discrete(3)), horizon=5, action_names=["push"]).actions.names == ("push",)


def test_names_change_nothing_but_words():
    agents = [spaql.SPAQL(spaql.from_gym(Wide(), horizon=10, **words), seed=1) for words in ({}, {"names": ["a", "b", "c"]})]
    for agent in agents:
        agent.learn(5, rollouts=2)
    assert_same(*agents, episodes=3)
    assert [axis.slope for axis in agents[0].problem.state] == [axis.slope for axis in agents[1].problem.state]


def test_our_own_plants_can_be_renamed():
    problem = spaql.from_gym("spaql/Pendulum-v0", names=["a", "b", "c"])
    assert [axis.name for axis in problem.state] == ["a", "b", "c"]
    assert [axis.low for axis in problem.state] == [axis.low for axis in spaql.make("pendulum").state]


def test_names_of_gymnasiums_documentation_can_be_asked_for():
    problem = spaql.from_gym("CartPole-v1", names=True)
    assert told(problem) == [("position", "m"), ("velocity", "m/s"), ("angle", "rad"), ("angular velocity", "rad/s")]
    assert problem.actions.names == ("push",)
    assert problem.env_id == "CartPole-v1"
    assert told(spaql.from_gym("MountainCar-v0", names=True, units=["km", "km/h"])) == [("position", "km"), ("velocity", "km/h")]


@pytest.mark.parametrize("env_id", sorted({*DOCUMENTED, *(entry.gym_id for entry in CATALOG.values() if entry.gym_id)}))
def test_every_documented_environment_has_as_many_names_as_variables(env_id):
    try:
        gymnasium.make(env_id).close()
    except Exception as error:  # MuJoCo or Box2D are extras
        pytest.skip(str(error))
    problem = spaql.from_gym(env_id, names=True, measure=20)
    assert problem.actions.names
    assert "x0" not in [axis.name for axis in problem.state]


def test_names_that_nobody_has_documented_are_refused():
    with pytest.raises(spaql.SpaqlError, match=r"names=True: there are no names for the variables of Line, only for Acrobot-v1, .*: give a list"):
        spaql.from_gym(Line(), horizon=5, names=True)


def test_functions_are_told_the_names():
    with pytest.raises(spaql.SpaqlError, match=r"the observation \(place\), then the action \(push\), then the next observation \(place\)"):
        spaql.from_gym(Line(), horizon=5, names=["place"], action_names=["push"], reward=lambda a: 0.0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"names": ["a", "b"]}, "names must be a list of 1 texts, one per observed variable"),
        ({"names": "a"}, "names must be a list of 1 texts"),
        ({"names": [3]}, "names must be a list of 1 texts"),
        ({"names": [""]}, "every variable has a name of its own"),
        ({"units": []}, "units must be a list of 1 texts"),
        ({"action_names": ["a", "b"]}, "action_names must be a list of 1 texts, one per action axis"),
        ({"action_units": 4}, "action_units must be a list of 1 texts"),
        ({"flatten": "yes"}, "flatten must be True or False"),
        ({"measure": 0}, "measure must be a whole number from 1"),
    ],
)
def test_wrong_names_are_one_clear_line(words, message):
    with pytest.raises(spaql.SpaqlError, match=message):
        spaql.from_gym(Line(), horizon=5, **words)


def test_two_variables_of_one_name_are_refused():
    with pytest.raises(spaql.SpaqlError, match="every variable has a name of its own"):
        spaql.from_gym(Wide(), horizon=5, names=["a", "a", "b"])


# -- nested observations -----------------------------------------------------------------------------------------------


def test_nested_observations_are_flattened_and_named_by_their_keys():
    problem = spaql.from_gym(Nested(), horizon=10, flatten=True)
    names = [axis.name for axis in problem.state]
    assert sorted(names) == ["gear_is_1", "gear_is_2", "place_0_0", "place_0_1", "speed"]
    observation, _ = problem.open_env().reset(seed=0)
    seen = dict(zip(names, observation, strict=True))
    assert seen["place_0_0"] == -seen["place_0_1"] == pytest.approx(seen["speed"] / 5)
    assert seen["gear_is_1"] + seen["gear_is_2"] == 1
    assert seen["gear_is_2"] == (seen["speed"] > 0)


def test_they_can_be_learned():
    problem = spaql.from_gym(Nested(), horizon=10, flatten=True, units=[""] * 5)
    agent = spaql.SPAQL(problem, seed=0)
    assert len(agent.learn(3, rollouts=1)) == 3


def test_an_id_whose_observations_were_flattened_is_not_made_again_by_its_id():
    gymnasium.register("Nested-v0", Nested, max_episode_steps=9)
    problem = spaql.from_gym("Nested-v0", flatten=True)
    assert (problem.name, problem.env_id, problem.horizon) == ("Nested-v0", None, 9)


def test_known_functions_are_checked_on_the_flat_vector():
    problem = spaql.from_gym(Nested(), horizon=10, flatten=True)
    speed = [axis.name for axis in problem.state].index("speed")
    source = f"lambda {', '.join('abcdefghijk')}: -abs({'ghijk'[speed]}) / 5"
    assert spaql.from_gym(Nested(), horizon=10, flatten=True, reward=eval(source)).known is not None


def test_a_picture_is_a_vector_too():
    class Picture(Line):
        def __init__(self):
            super().__init__()
            self.observation_space = Box(-1.0, 1.0, (2, 2), np.float64)

        def see(self):
            return np.full((2, 2), self.x[0])

    assert [axis.name for axis in spaql.from_gym(Picture(), horizon=5, flatten=True).state] == ["x0", "x1", "x2", "x3"]


def test_flatten_leaves_a_vector_as_it_is():
    env = Line()
    assert spaql.from_gym(env, horizon=5, flatten=True).env is env


def test_without_flatten_nested_observations_are_refused():
    with pytest.raises(spaql.SpaqlError, match="give flatten=True"):
        spaql.from_gym(Nested(), horizon=5)


def test_what_has_no_fixed_length_cannot_be_flattened():
    with pytest.raises(spaql.SpaqlError, match="cannot be flattened: their number changes"):
        spaql.from_gym(Nested(list=spaces.Sequence(Discrete(3))), horizon=5, flatten=True)


# -- measuring ---------------------------------------------------------------------------------------------------------


def test_measuring_takes_a_few_hundred_steps_of_several_episodes():
    env = Wide()
    problem = spaql.from_gym(env, horizon=20)
    assert problem.map_samples == 500 == sum(env.lengths)
    assert [length for length in env.lengths if length] == [100] * 5


def test_measuring_can_be_cheaper_or_as_thorough_as_before():
    assert spaql.from_gym(Wide(), horizon=20, measure=60).map_samples == 60
    assert spaql.from_gym(Wide(), horizon=20, measure=5000).map_samples == 5000


def test_environments_of_short_episodes_have_the_map_of_before():
    """Twenty random episodes of CartPole are 458 steps: less than the limit, then and now."""
    assert spaql.from_gym("CartPole-v1").state == spaql.from_gym("CartPole-v1", measure=5000).state
