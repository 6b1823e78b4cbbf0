"""A plant that is wrong is named in one line, at once where possible."""

import math
import random
from random import gauss

import numpy as np
import pytest

import spaql
from helpers import LEARNERS, QUICK, quick_first

PUSH = spaql.Continuous((-1.0,), (1.0,))
LINE = [spaql.Axis("place", -2.0, 2.0)]


@spaql.reset
def begin(u):
    return (u,)


@spaql.step
def go(x, push):
    return (x,), 0.0, False


def problem(step=go, reset=begin, **options):
    return spaql.from_plant(reset, step, **{"state": LINE, "actions": PUSH, "horizon": 10, "name": "mine", "reference": (0.0,), **options})


def fails(message, *functions, **options):
    with pytest.raises(spaql.SpaqlError, match=message):
        problem(*functions, **options)


def test_functions_must_be_decorated():
    fails(r"@spaql\.step", lambda x, a: ((x,), 0.0, False))
    fails(r"@spaql\.reset", go, lambda u: (u,))
    fails(r"@spaql\.observe", observe=lambda x: (x,))


def test_decorators_must_not_be_mixed_up():
    fails(r"@spaql\.step", begin)
    fails(r"@spaql\.reset", go, go)


@pytest.mark.parametrize("thing", [3, None, math.sin, int])
def test_decorators_take_functions(thing):
    with pytest.raises(spaql.SpaqlError, match="plain Python function"):
        spaql.step(thing)


def test_parameters_are_plain_numbers():
    for function in (lambda x, a=1.0: None, lambda *x: None, lambda **x: None, lambda x, *, a: None):
        with pytest.raises(spaql.SpaqlError, match="without defaults"):
            spaql.step(function)


@spaql.step
def no_tuple(x, push):
    return x


@spaql.step
def two_values(x, push):
    return (x,), 0.0


@spaql.step
def bare_state(x, push):
    return x, 0.0, False


@spaql.step
def more_state(x, push):
    return (x, x), 0.0, False


@spaql.step
def number_as_end(x, push):
    return (x,), 0.0, 1.0


@spaql.step
def text_reward(x, push):
    return (x,), "good", False


@spaql.step
def nan_reward(x, push):
    return (x,), math.nan, False


@spaql.step
def infinite_state(x, push):
    return (math.inf,), 0.0, False


@spaql.step
def too_few(x):
    return (x,), 0.0, False


@spaql.step
def raising(x, push):
    return (1.0 / (push - push),), 0.0, False


WRONG = [no_tuple, two_values, bare_state, more_state, number_as_end, text_reward, nan_reward, infinite_state, too_few, raising]


@pytest.mark.parametrize("step", WRONG, ids=lambda step: step.python.__name__)
def test_a_step_that_returns_the_wrong_thing_is_named_at_once(step):
    fails(step.python.__name__, step)


@pytest.mark.parametrize("result", [1.0, (), ("a",), (math.nan,), [0.0], None])
def test_a_reset_that_returns_the_wrong_thing_is_named_at_once(result):
    @spaql.reset
    def start(u):
        return result

    fails("reset start", go, start)


def test_an_observe_that_does_not_fit_is_named_at_once():
    @spaql.observe
    def two(x, y):
        return (x,)

    @spaql.observe
    def wrong(x):
        return x

    fails("observe two", observe=two)
    fails("observe wrong", observe=wrong)


def test_state_must_describe_what_is_observed():
    fails("shows 1 variables.*describes 2", state=LINE * 2)


@spaql.step
def python_only(x, push):
    text = str(x) + "!"
    return (x,), float(len(text)), False


@spaql.step
def with_a_dict(x, push):
    table = {"a": x}
    return (table["a"],), sum(sorted([x, push])), bool([])


@pytest.mark.parametrize("step", [python_only, pytest.param(with_a_dict, marks=pytest.mark.slow)], ids=lambda step: step.python.__name__)
def test_a_step_that_does_not_compile_is_named_when_it_is_first_used(step):
    agent = spaql.SPAQL(problem(step))
    with pytest.raises(spaql.SpaqlError, match=f"{step.python.__name__}.*does not compile"):
        agent.learn(1)
    with pytest.raises(spaql.SpaqlError, match=f"{step.python.__name__}.*does not compile"):
        agent.evaluate(1)


@spaql.step
def with_a_helper(x, push):
    return (x,), counted(x), False


def counted(x):
    return float(sum([x, 1.0]))


@spaql.step
def importing(x, push):
    import os

    return (x,), float(len(os.sep)), False


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (with_a_dict, r"with_a_dict, line \d+ of test_own_plant_errors.py \(.*table.*\) does not compile: lists, dictionaries, arrays and texts cannot be compiled; use numbers"),
        (with_a_helper, r"counted, line \d+ of test_own_plant_errors.py \(return float\(sum\(\[x, 1.0\]\)\)\) does not compile: lists, dictionaries"),
        (importing, r"importing, line \d+ of test_own_plant_errors.py \(import os\) does not compile: Use of unsupported opcode \(IMPORT_NAME\) found; use numbers"),
    ],
    ids=lambda one: getattr(getattr(one, "python", None), "__name__", ""),
)  # fmt: skip
def test_what_does_not_compile_is_told_with_its_line_and_the_cause(step, said):
    with pytest.raises(spaql.SpaqlError, match=said) as caught:
        problem(step).plant.batch  # noqa: B018
    assert "[1m" not in str(caught.value)


def test_a_reward_that_does_not_compile_or_fails_is_named_as_the_reward():
    target = spaql.Reference("target", -1.0, 1.0, of="place")

    def listed(place_error):
        return sum([place_error, 1.0])

    looped = spaql.loop(problem(), references=[target], reward=listed)
    with pytest.raises(spaql.SpaqlError, match=r"^the reward listed, line \d+ of test_own_plant_errors.py \(return sum.* does not compile"):
        looped.plant.batch  # noqa: B018
    with pytest.raises(spaql.SpaqlError, match=r"^the reward failed with place_error = -0.5: ValueError\('math domain error'\)"):
        spaql.loop(problem(), references=[target], reward=lambda place_error: -math.sqrt(place_error))
    env = spaql.from_gym("Pendulum-v1", horizon=5)
    inside = spaql.loop(env, references=[spaql.Reference("turn", 0.5, 1.0, of="x2")], reward=lambda x2: math.sqrt(x2 - 9.0))
    with pytest.raises(spaql.SpaqlError, match=r"the reward of the loop failed with x2 = .*: ValueError"):
        spaql.law(inside, {"x2": 1.0}).evaluate(1)


@spaql.step
def leaving(x, push):
    return (x + 0.5,), 0.0, False


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_plant_that_leaves_its_bounds_is_an_error_that_says_where(learner):
    with pytest.raises(spaql.SpaqlError, match=r"mine left its declared bounds: place = 2\.\d+ is not in -2 ... 2 .*step \d+.*slope"):
        LEARNERS[learner](problem(leaving)).learn(5, rollouts=3)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_state_that_becomes_not_a_number_is_an_error(learner):
    @spaql.step
    def broken(x, push):
        return ((x - 0.2) ** 0.5,), 0.0, False

    with pytest.raises(spaql.SpaqlError, match=r"mine gave a state that is not finite: place is nan .*step \d+"):
        LEARNERS[learner](problem(broken)).learn(5, rollouts=3)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_slope_does_not_hide_a_state_that_is_not_a_number(learner):
    @spaql.step
    def broken(x, push):
        return ((x - 0.2) ** 0.5,), 0.0, False

    with pytest.raises(spaql.SpaqlError, match="mine gave a state that is not finite: place is nan"):
        LEARNERS[learner](problem(broken, state=[spaql.Axis("place", slope=0.1)])).learn(5, rollouts=3)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_reward_that_is_not_finite_is_an_error(learner, value):
    @spaql.step
    def greedy(x, push):
        return (x,), value if x != 0.5 else 0.0, False  # the trial run starts at 0.5

    with pytest.raises(spaql.SpaqlError, match="mine gave a reward that is not finite"):
        LEARNERS[learner](problem(greedy)).learn(5, rollouts=3)


@spaql.step
def own_numbers(x, push):
    return (x + random.random(),), 0.0, False


@spaql.reset
def own_start(u):
    return (np.random.random(),)


def test_a_plant_that_is_not_deterministic_is_named_at_once():
    fails("step own_numbers is not deterministic: given .* twice.*Let it take uniform numbers as parameters", own_numbers)
    fails("reset own_start is not deterministic", go, own_start)


def gust():
    return np.random.normal()


@spaql.step
def hidden_gust(x, push):
    return (x + gust() if x < 0.4 else x,), 0.0, False  # the trial run starts at 0.5


@spaql.step
def hidden_draw(x, push):
    return (gauss(x, 1.0) if x < 0.4 else x,), 0.0, False


@pytest.mark.parametrize(("step", "name"), [(hidden_gust, "gust"), (hidden_draw, "hidden_draw")])
def test_random_numbers_of_its_own_are_found_in_helpers_and_branches_too(step, name):
    with pytest.raises(spaql.SpaqlError, match=f"{name} draws random numbers of its own, which no seed determines"):
        spaql.SPAQL(problem(step)).learn(1)


def test_start_states_outside_the_bounds_are_an_error():
    @spaql.reset
    def far(u):
        return (4.0 * u,)

    with pytest.raises(spaql.SpaqlError, match=r"mine left its declared bounds.*step 0"):
        spaql.SPAQL(problem(go, far)).learn(5, rollouts=20)


@pytest.mark.parametrize("learner", quick_first(LEARNERS, QUICK))
def test_the_agent_keeps_its_history_and_predicts_after_an_error(learner):
    @spaql.step
    def rarely(x, push, luck):
        return (9.0 if luck > 0.995 else x,), luck, False

    agent = LEARNERS[learner](problem(rarely), seed=3)
    with pytest.raises(spaql.SpaqlError, match="left its declared bounds"):
        agent.learn(10**6, rollouts=2)
    assert len(agent.history) > 0
    assert np.isfinite(agent.history.table).all()
    assert agent.predict([0.1])[0].shape == (1,)
    assert agent.leaves()["q"].shape == (agent.arms,)


@pytest.mark.parametrize("horizon", [0, -1, 1.5, "10", None, 10**7])
def test_the_horizon_is_a_whole_number_of_steps(horizon):
    fails("horizon", horizon=horizon)


def test_axes_must_make_sense():
    for options in ({"low": 1.0, "high": -1.0}, {"low": 0.0}, {"low": math.nan, "high": 1.0}):
        with pytest.raises(spaql.SpaqlError, match="speed: give finite low <= high"):
            spaql.Axis("speed", **options)
    for slope in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(spaql.SpaqlError, match="speed: the slope"):
            spaql.Axis("speed", slope=slope)
