"""What the engineer knows: reward and end of an episode as plain functions, compiled, and checked against what is paid."""

import copy
import math
import pickle

import cloudpickle
import gymnasium
import numba
import numpy as np
import pytest

import spaql
from gym_envs import Discrete, Line
from spaql.plants.catalog import CATALOG
from spaql.plants.environment import PlantEnv
from spaql.plants.gym import random_steps
from spaql.plants.known import DONE, REWARD


def swing_cost(cos, sin, rate, torque, next_cos, next_sin, next_rate):
    return -(math.atan2(sin, cos) ** 2 + 0.1 * rate**2 + 0.001 * torque**2)


def never(cos, sin, rate, torque, next_cos, next_sin, next_rate):
    return False


def one(x, v, angle, w, push, next_x, next_v, next_angle, next_w):
    return 1.0


def out(x, v, angle, w, push, next_x, next_v, next_angle, next_w):
    return abs(next_x) > 2.4 or abs(next_angle) > 12 * math.pi / 180


def distance(x, push, next_x):
    return -abs(next_x)


def line(env=None, **functions):
    return spaql.from_gym(env or Line(dtype=np.float64), horizon=10, **functions)


def fails(message, made=line, **functions):
    with pytest.raises(spaql.SpaqlError, match=message) as error:
        made(**functions)
    assert "\n" not in str(error.value)


# -- what is given is there, compiled ----------------------------------------------------------------------------------


def test_a_problem_knows_what_it_is_given():
    known = spaql.from_gym("CartPole-v1", reward=one, terminated=out).known
    assert known.functions == {"reward": one, "terminated": out}
    before, action = np.zeros((3, 4)), np.ones((3, 1))
    after = np.array([[2.5, 0, 0, 0], [0, 0, 0.3, 0], [2.3, 0, 0.2, 0]])
    rewards, done = known.outcomes(before, action, after)
    assert rewards.tolist() == [1.0, 1.0, 1.0]
    assert done.tolist() == [1.0, 1.0, 0.0]


def test_both_functions_take_observation_action_and_next_observation_in_this_order():
    def told(x, y, push, next_x, next_y):
        return x + 10 * y + 100 * push + 1000 * next_x + 10000 * next_y

    known = spaql.plants.known.known_outcome(
        told, lambda x, y, push, next_x, next_y: next_y > 4, [spaql.Axis("x", 0, 9), spaql.Axis("y", 0, 9)], spaql.Finite((1, 3))
    )
    rewards, done = known.outcomes([[1, 2]], [[3]], [[4, 5]])
    assert (rewards[0], done[0]) == (54321.0, 1.0)


def test_without_functions_nothing_is_known():
    assert line().known is None


@numba.njit
def looked_ahead(outcome, x, out, steps):
    total = 0.0
    for _ in range(steps):
        x[2] = 0.5 * x[0]
        outcome(x, out)
        total += out[0]
        if out[1] != 0.0:
            break
        x[0] = x[2]
    return total


def test_a_kernel_calls_the_compiled_outcome_at_every_step():
    """One kernel serves all problems: the compiled functions are of one type."""
    x, result = np.array([1.0, 0.0, 0.0]), np.zeros(2)
    near = line(reward=distance, terminated=lambda x, push, next_x: abs(next_x) > 2).known
    assert looked_ahead(near.compiled, x, result, 3) == -(0.5 + 0.25 + 0.125)
    assert (result[REWARD], result[DONE]) == (-0.125, 0.0)
    assert numba.typeof(near.compiled) == numba.typeof(line(reward=distance).known.compiled)


def test_what_is_not_given_is_not_a_number():
    rewards, done = line(reward=distance).known.outcomes([[0.0]], [[0.0]], [[0.5]])
    assert rewards.tolist() == [-0.5]
    assert np.isnan(done).all()
    rewards, done = line(terminated=lambda x, push, next_x: False).known.outcomes([[0.0]], [[0.0]], [[0.5]])
    assert np.isnan(rewards).all()
    assert done.tolist() == [0.0]


def test_compiled_and_plain_functions_agree():
    known = spaql.from_gym("Pendulum-v1", reward=swing_cost, terminated=never).known
    rng = np.random.default_rng(0)
    before, action, after = rng.normal(size=(50, 3)), rng.normal(size=(50, 1)), rng.normal(size=(50, 3))
    plain = [swing_cost(*row) for row in np.hstack([before, action, after]).tolist()]
    np.testing.assert_allclose(known.outcomes(before, action, after)[0], plain, rtol=1e-14)


def test_shapes_that_do_not_fit_are_named():
    known = line(reward=distance).known
    with pytest.raises(spaql.SpaqlError, match="actions must have shape 2 x 1, not 3 x 1"):
        known.outcomes(np.zeros((2, 1)), np.zeros((3, 1)), np.zeros((2, 1)))


# -- a wrong function is told at once ----------------------------------------------------------------------------------


def test_a_reward_that_differs_is_told_with_the_step_the_place_and_both_values():
    fails(
        r"^reward <lambda> is wrong at step 0: observation \(x0 = \S+\), action \(\S+\), next observation \(x0 = \S+\): "
        r"Line paid -0\.\d+, <lambda> says 0\.\d+; correct it, or leave it out if what is observed does not decide it$",
        reward=lambda x, push, next_x: abs(next_x),
    )


def test_a_wrong_end_is_told():
    def early(x, push, next_x):
        return abs(next_x) > 0.3

    fails(r"terminated early is wrong at step \d+: .*: Line went on, early says it ends", terminated=early)
    fails(
        r"terminated <lambda> is wrong at step \d+: .*: CartPole-v1 ended the episode, <lambda> says it goes on",
        lambda **functions: spaql.from_gym("CartPole-v1", **functions),
        terminated=lambda x, v, angle, w, push, next_x, next_v, next_angle, next_w: False,
    )


def test_a_reward_of_something_hidden_is_told():
    class Tiring(Line):
        def reward(self):
            return super().reward() - self.steps

    fails("Tiring paid .* leave it out if what is observed does not decide it", reward=distance, env=Tiring())


def test_the_number_of_arguments_and_their_order_are_told():
    order = r"the observation \(x0, x1\), then the action \(2 numbers\), then the next observation \(x0, x1\)$"
    box = gymnasium.spaces.Box(-1.0, 1.0, (2,))
    for kind in ("reward", "terminated"):
        fails(f"{kind} <lambda> takes 2 numbers, but must take 6: {order}", env=Line(d=2, actions=box), **{kind: lambda x, y: 0.0})


def nothing_below(x, push, next_x):
    if next_x > -5:
        return -abs(next_x)


WRONG = {
    "raises": (lambda x, push, next_x: 1 / (x - x), r"reward <lambda>\(.*\) failed: ZeroDivisionError"),
    "not a number": (lambda x, push, next_x: math.nan, r"reward <lambda>\(.*\) must return a finite number, not nan"),
    "text": (lambda x, push, next_x: "good", "must return a finite number, not 'good'"),
    "nothing": (lambda x, push, next_x: None, "must return a finite number, not None"),
    "tuple": (lambda x, push, next_x: (-abs(next_x),), "must return a finite number, not"),
    "nothing in a branch": (nothing_below, "nothing_below returns nothing in some branch"),
    "does not compile": (lambda x, push, next_x: -abs(next_x) + 0 * len(str(x) + "!" * int(x)), r"^the reward, line \d+ of .* does not compile: lists, dictionaries, .*; use numbers"),
    "draws": (lambda x, push, next_x: -abs(next_x) + 0 * np.random.random(), "draws random numbers of its own"),
    "default": (lambda x, push, next_x=0.0: 0.0, "without defaults"),
    "any number": (lambda *numbers: 0.0, "without defaults"),
    "number": (3.0, "reward must be a plain Python function of numbers, not float"),
    "built in": (math.sin, "reward must be a plain Python function of numbers"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_function_that_cannot_be_used_is_named_in_one_line(what):
    function, message = WRONG[what]
    fails(message, reward=function)


def test_an_end_is_true_or_false():
    fails(r"terminated <lambda>\(.*\) must return True or False, not 0.5", terminated=lambda x, push, next_x: 0.5)
    fails("must return True or False, not None", terminated=lambda x, push, next_x: None)
    assert line(terminated=lambda x, push, next_x: 0).known is not None


# -- what counts as the same -------------------------------------------------------------------------------------------


def test_rewards_of_single_precision_may_differ_by_their_rounding():
    spaql.from_gym("Pendulum-v1", reward=swing_cost)
    fails("is wrong at step", env=Line(), reward=lambda x, push, next_x: -abs(next_x) - 1e-3)


def test_in_double_precision_a_millionth_is_told():
    line(reward=lambda x, push, next_x: -abs(next_x) - 1e-9)
    fails("is wrong at step 0", reward=lambda x, push, next_x: -abs(next_x) - 1e-5)


def test_check_known_names_the_first_step_that_differs():
    problem = line(reward=distance, terminated=lambda x, push, next_x: next_x > 0.9)
    before, after = np.zeros((4, 1)), np.array([[0.1], [0.2], [0.3], [0.95]])
    paid, ended = np.array([-0.1, -0.2, -0.3, -0.95]), np.array([False, False, False, True])
    spaql.check_known(problem, before, np.zeros(4), paid, after, ended)
    with pytest.raises(spaql.SpaqlError, match=r"reward distance is wrong at step 2: .* Line paid -0\.4, distance says -0\.3"):
        spaql.check_known(problem, before, np.zeros(4), [-0.1, -0.2, -0.4, -0.9], after, ended)
    with pytest.raises(spaql.SpaqlError, match="terminated <lambda> is wrong at step 1"):
        spaql.check_known(problem, before, np.zeros(4), [-0.1, -0.2, -0.4, -0.95], after, [False, True, False, True])
    with pytest.raises(spaql.SpaqlError, match="neither reward nor end of Line is known: give reward="):
        spaql.check_known(line(), before, np.zeros(4), paid, after, ended)


def test_the_check_takes_another_environment_of_the_same_id():
    problem = spaql.from_gym("MountainCar-v0", reward=lambda x, v, pedal, next_x, next_v: -1.0)
    with pytest.raises(gymnasium.error.ResetNeeded):
        problem.env.step(0)  # nobody has reset it


def test_actions_of_a_finite_set_are_given_as_their_value():
    env = Line(actions=Discrete(3, start=5), dtype=np.float64)

    def moved(x, choice, next_x):
        return -abs(0.9 * x + 0.1 * (choice - 6))

    assert line(env, reward=moved).known.action_dim == 1


def test_mujocos_inverted_pendulum():
    pytest.importorskip("mujoco")

    def upright(x, angle, v, w, force, next_x, next_angle, next_v, next_w):
        return abs(next_angle) <= 0.2

    problem = spaql.from_gym(
        "InvertedPendulum-v5", reward=upright, terminated=lambda x, a, v, w, u, x2, a2, v2, w2: abs(a2) > 0.2
    )
    assert problem.known.outcomes(np.zeros((1, 4)), [[1.0]], [[0, 0.1, 0, 0]]) == (1.0, 0.0)


# -- plants ------------------------------------------------------------------------------------------------------------


@spaql.reset
def begin(u):
    return 2 * u - 1, 0.0


@spaql.step
def roll(place, speed, push, wind):
    speed = speed + 0.1 * push + 0.01 * wind
    place = place + speed
    return (place, speed), math.exp(-place * place), abs(place) > 2


@spaql.observe
def see(place, speed):
    return (place,)


def near(place, push, next_place):
    return math.exp(-next_place * next_place)


def gone(place, push, next_place):
    return abs(next_place) > 2


def cart(**functions):
    axis, push = spaql.Axis("place", slope=0.5), spaql.Continuous((-1.0,), (1.0,), ("push",))
    return spaql.from_plant(begin, roll, observe=see, state=[axis], actions=push, horizon=30, name="cart", **functions)


def test_a_plant_of_your_own_takes_them_too():
    problem = cart(reward=near, terminated=gone)
    assert problem.known.outcomes([[0.0]], [[0.0]], [[3.0]])[1] == 1.0
    spaql.check(problem)
    assert cart().known is None


def test_they_are_checked_against_the_plant():
    fails(r"reward <lambda> is wrong at step 0: observation \(place = .*: cart paid", cart, reward=lambda x, u, y: math.exp(-x * x))
    fails("terminated <lambda> is wrong at step .*: cart ended the episode", cart, terminated=lambda x, u, y: False)
    order = r"the observation \(place\), then the action \(push\), then the next observation \(place\)"
    fails(f"takes 1 numbers, but must take 3: {order}", cart, reward=lambda x: 0.0)


def test_a_plant_that_becomes_not_a_number_is_named_by_training_as_before():
    @spaql.step
    def broken(place, push):
        return ((place - 0.2) ** 0.5,), 0.0, False

    @spaql.reset
    def start(u):
        return (u,)

    push, options = spaql.Continuous((-1.0,), (1.0,)), {"state": [spaql.Axis("place", -2, 2)], "horizon": 5, "name": "mine"}
    problem = spaql.from_plant(start, broken, actions=push, reward=lambda x, u, y: 0.0, **options)
    with pytest.raises(spaql.SpaqlError, match="mine gave a state that is not finite"):
        spaql.Random(problem).learn(5)


@pytest.mark.parametrize("name", CATALOG)
def test_of_our_plants_all_is_known(name):
    problem = spaql.make(name)
    assert set(problem.known.functions) == {"reward", "terminated"}
    spaql.check_known(problem, *random_steps(problem, PlantEnv(problem)))


def test_the_known_reward_follows_the_parameters():
    upright = np.array([[0.0, 0.0, 0.0, -1.0, 0.0]])
    beside = np.array([[0.25, 0.0, 0.0, -1.0, 0.0]])
    for width in (0.25, 0.5):
        known = spaql.make("cartpole-swing-up", width=width).known
        rewards, done = known.outcomes(upright, [[0.0]], beside)
        assert rewards == pytest.approx(math.exp(-0.5 * (0.25 / width) ** 2))
        assert done.tolist() == [0.0]


def test_what_the_observation_does_not_tell_is_not_known():
    assert spaql.make("pendulum", observation_noise=0.01).known is None
    assert spaql.make("pendulum", max_speed=spaql.Between(4, 8)).known is None
    noisy = spaql.make("pendulum", process_noise={"velocity": 0.1})
    spaql.check_known(noisy, *random_steps(noisy, PlantEnv(noisy)))


def test_our_plants_as_environments_know_it_too_unless_a_wrapper_pays_otherwise():
    assert spaql.from_gym("spaql/CartPole-v0").known is not None
    twice = gymnasium.wrappers.TransformReward(gymnasium.make("spaql/CartPole-v0"), lambda reward: 2 * reward)
    assert spaql.from_gym(twice).known is None
    assert spaql.from_gym("spaql/CartPole-v0", reward=one).known.functions == {"reward": one}


# -- copies and files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda known: pickle.loads(pickle.dumps(known))], ids=["copied", "pickled"])
def test_copies_are_found_by_name_and_compile_anew(copied):
    for known in (cart(reward=near, terminated=gone).known, spaql.make("pendulum", m=2.0).known):
        d = known.observation_dim
        step = np.full((1, d), 0.1), [[0.2]], np.full((1, d), 0.3)
        assert copied(known).outcomes(*step) == known.outcomes(*step)


def test_worker_processes_get_functions_without_a_name():
    packed = cloudpickle.dumps(line(reward=lambda x, push, next_x: -abs(next_x)).known)
    assert cloudpickle.loads(packed).outcomes([[0.0]], [[0.0]], [[0.5]])[0] == -0.5


def test_an_agent_is_saved_without_them_and_loaded_with_the_problem(tmp_path):
    problem = spaql.from_gym("CartPole-v1", horizon=20, reward=one, terminated=out)
    agent = spaql.SPAQL(problem, seed=1)
    agent.learn(2, rollouts=2)
    agent.save(tmp_path / "agent.spaql")
    again = spaql.load(tmp_path / "agent.spaql", problem=problem)
    assert again.problem.known is problem.known
    again.learn(1, rollouts=2)
    alone = spaql.load(tmp_path / "agent.spaql")
    assert alone.predict(np.zeros(4))[0] == agent.predict(np.zeros(4))[0]
    with pytest.raises(spaql.SpaqlError, match="load the file with problem="):
        alone.learn(1)


def test_an_agent_of_the_catalog_knows_it_again_from_its_file(tmp_path):
    spaql.SPAQL(spaql.make("pendulum", m=2.0)).save(tmp_path / "agent.spaql")
    assert spaql.load(tmp_path / "agent.spaql").problem.known is not None
