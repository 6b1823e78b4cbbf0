"""Exported controllers in a loop hold their memory themselves: C, Structured Text, Python and `predict` agree with the
plant over whole episodes."""

import subprocess
from dataclasses import replace

import numpy as np
import pytest

import spaql
from exported_programs import COMPILERS, STRICT, needs_compiler
from loop_controllers import LOOPS, controller, inputs_and_applied, structured_loop
from loops import motor
from spaql.ground.errors import SpaqlError
from spaql.plants.signals import signals_of


@pytest.fixture(params=LOOPS, scope="module")
def made(request):
    policy = controller(LOOPS[request.param])
    rows, applied = inputs_and_applied(policy)
    assert len(set(applied)) > 20  # it does something
    return policy, rows, applied


def test_predict_carries_the_memory(made):
    policy, rows, applied = made
    memory, found = policy.memory(), []
    for given in rows:
        action, memory = policy.predict(given, state=memory)
        found.append(action.item())
    assert found == applied


def test_predict_forgets_where_an_episode_starts(made):
    policy, rows, applied = made
    memory = policy.memory()
    for given in rows[:5]:
        _, memory = policy.predict(given, state=memory)
    assert policy.predict(rows[0], state=memory, episode_start=np.array([True]))[0].item() == applied[0]


def test_python_holds_the_memory(made):
    policy, rows, applied = made
    scope = {}
    exec(policy.to_python(), scope)
    memory = scope["controller_init"]()
    assert [scope["controller_step"](memory, given) for given in rows] == applied


@needs_compiler
@pytest.mark.parametrize("compiler", COMPILERS)
def test_c_holds_the_memory_in_a_struct(made, compiler, tmp_path):
    policy, rows, applied = made
    source, program = tmp_path / "controller.c", tmp_path / "controller"
    source.write_text(policy.to_c(main=True))
    subprocess.run([compiler, *STRICT, "-O2", source, "-o", program], check=True)
    text = "\n".join(" ".join(map(repr, given)) for given in rows)
    told = subprocess.run([program], input=text, text=True, capture_output=True, check=True).stdout
    assert [float(value) for value in told.split()] == applied


@needs_compiler
def test_c_in_single_precision_compiles_and_is_near(made, tmp_path):
    policy, rows, applied = made
    source, program = tmp_path / "controller.c", tmp_path / "controller"
    source.write_text(policy.to_c(main=True, precision="single"))
    subprocess.run([COMPILERS[0], *STRICT, source, "-o", program], check=True)
    text = "\n".join(" ".join(map(repr, given)) for given in rows)
    told = subprocess.run([program], input=text, text=True, capture_output=True, check=True).stdout
    assert [float(value) for value in told.split()] == pytest.approx(applied, rel=1e-3, abs=1e-3)


def test_structured_text_holds_the_memory_in_a_block(made):
    policy, rows, applied = made
    run = structured_loop(policy.to_st())
    assert [run(given) for given in rows] == applied


def test_memory_of_another_controller_is_refused(made):
    policy, rows, _ = made
    other = spaql.policy.memory.Memory((("something", 1.0),))
    with pytest.raises(SpaqlError, match="another controller"):
        policy.predict(rows[0], state=other)


def test_inputs_that_are_not_numbers_are_refused(made):
    policy, rows, _ = made
    for given in (rows[0][:-1], [np.nan, *rows[0][1:]]):
        with pytest.raises(SpaqlError, match="inputs must"):
            policy.predict(given, state=policy.memory())


def test_what_may_be_inputs_or_an_observation_is_refused():
    """Three inputs (speed, current, target), three variables that the law sees, and both are lists of three numbers."""
    policy = controller(LOOPS["rate limit and interlock"])
    words = r"3 numbers may be inputs of the controller in its loop \(speed, current, target\) or what its law sees \(speed_error, .*state=policy.memory"
    table, atlas = spaql.SPAQL(policy.problem), spaql.Atlas(policy.problem)
    own = spaql.Controller(policy.problem, lambda error, integral, current: 0.1 * error)
    for one in (policy, table, atlas, own):
        with pytest.raises(SpaqlError, match=words):
            one.predict([10.0, 0.0, 1.0])
        assert one.predict([[10.0, 0.0, 1.0]] * 2)[0].shape == (2, 1)  # a table is of observations
    for one in (table, atlas, own):
        with pytest.raises(SpaqlError, match="a memory goes with a policy"):
            one.predict([10.0, 0.0, 1.0], state=policy.memory())
    assert policy.predict([10.0, 0.0, 1.0], state=policy.memory())[0].shape == (1,)


def test_an_interlock_is_not_passed_by_inputs_without_a_memory():
    """What is measured is what the law sees; only with a memory the interlock is applied."""
    policy = spaql.law(spaql.loop(motor(), interlocks=[spaql.Interlock("current", above=6.0, high=3.0)]), [0.0, 1.0])
    with pytest.raises(SpaqlError, match="2 numbers may be inputs"):
        policy.predict([0.0, 9.0])
    assert policy.predict([0.0, 9.0], state=policy.memory())[0].tolist() == [3.0]
    assert policy.predict([[0.0, 9.0]])[0].tolist() == [[9.0]]


def test_what_means_the_same_either_way_is_taken():
    policy = spaql.law(spaql.loop(motor(), noise={"speed": 1.0}), [0.0, 1.0])
    assert policy.predict([0.0, 9.0])[0] == policy.predict([0.0, 9.0], state=policy.memory())[0]
    fewer = spaql.law(spaql.loop(motor(), observe=["current"], interlocks=[spaql.Interlock("current", above=6.0, high=3.0)]), [1.0])
    assert fewer.predict([9.0])[0].tolist() == [9.0]  # one number is what the law sees: inputs are two


def test_a_problem_without_a_loop_has_no_memory():
    with pytest.raises(SpaqlError, match="not in a loop"):
        spaql.law(motor(), {"speed": -1.0}).memory()


def test_a_controller_from_json_keeps_its_memory(made):
    policy, rows, applied = made
    again = spaql.Policy.from_json(policy.to_json())
    memory, found = again.memory(), []
    for given in rows:
        action, memory = again.predict(given, state=memory)
        found.append(action.item())
    assert found == applied
    assert again.to_c() == policy.to_c()
    assert again.to_json() == policy.to_json()


def test_an_agent_file_keeps_the_memory(tmp_path):
    problem = controller(LOOPS["rate limit and interlock"]).problem
    agent = spaql.Laws(problem, max_leaves=1)
    agent.learn(samples=100_000)
    agent.save(tmp_path / "agent.npz")
    assert spaql.load(tmp_path / "agent.npz").policy().to_c() == agent.policy().to_c()
    assert spaql.load(tmp_path / "agent.npz", problem=problem).evaluate(10).mean == agent.evaluate(10).mean


def test_damaged_signals_are_refused(made):
    text = made[0].to_json()
    for old, new in (('"dt": 0.01', '"dt": -1'), ('"memory": [', '"memory": [3, '), ('"hold": [10, 20]', '"hold": [20, 10]')):
        assert old in text or "memory" in old
        with pytest.raises(SpaqlError, match="not a spaql policy, or it is damaged"):
            spaql.Policy.from_json(text.replace(old, new))


@needs_compiler
def test_names_that_look_like_code_stay_names(tmp_path):
    hostile = ['"""\nimport os #', "*/ int evil; /*", "a??/b", "*) END_VAR (*", "\\"]
    axes = [spaql.Axis(name, -1.0, 1.0) for name in hostile]
    problem = replace(spaql.cube(5, 1, 10), state=tuple(axes))
    signals = signals_of(measured=problem.state, actuator=problem.actions, memory=(f"past({hostile[2]}, 1)",))
    policy = spaql.law(replace(problem, state=signals.state, signals=signals), np.linspace(0.1, 0.6, len(signals.state)))
    scope, memory = {}, policy.memory()
    exec(policy.to_python(), scope)
    source = tmp_path / "controller.c"
    source.write_text(policy.to_c(main=True))
    subprocess.run([COMPILERS[0], *STRICT, "-trigraphs", source, "-o", tmp_path / "controller"], check=True)
    given = [0.1, 0.2, 0.3, 0.4, 0.5]
    text = " ".join(map(repr, given))
    told = subprocess.run([tmp_path / "controller"], input=text, text=True, capture_output=True, check=True).stdout
    applied = policy.predict(given, state=memory)[0].item()
    assert float(told) == applied == scope["controller_step"](scope["controller_init"](), given)
    assert structured_loop(policy.to_st())(given) == applied


def test_a_policy_as_json_holds_its_loop(made):
    policy, rows, applied = made
    again = spaql.Policy.from_json(policy.to_json())
    assert again.problem.signals == policy.problem.signals
    assert again.to_c() == policy.to_c()
    memory = again.memory()
    first, _ = again.predict(rows[0], state=memory)
    assert first == pytest.approx(applied[0])


def test_an_agents_file_holds_its_loop(tmp_path):
    finite = spaql.loop(spaql.make("mountain-car"), memory=["previous(pedal)"], interlocks=[spaql.Interlock("position", below=-1.0, low=1)])
    for told in (*LOOPS.values(), None):
        problem = finite if told is None else controller(told).problem
        agent = spaql.Laws(problem, max_leaves=1)
        agent.save(tmp_path / "a.spaql")
        assert spaql.load(tmp_path / "a.spaql").problem.signals == problem.signals


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"dt": 0.01', '"dt": -1'),
        ('"memory": ["integral(speed_error, 5)"', '"memory": ["integral(__import__, 5)"'),
        ('"rates": [4.0]', '"rates": [4.0, 4.0]'),
        ('"rates": [4.0]', '"rates": ["4.0"]'),
        ('"hold": [10, 20]', '"hold": [10, 20, 30]'),
        ('"above": 6.0', '"above": "6.0"'),
        ('"kind": "continuous", "low"', '"kind": "other", "low"'),
        ('"shown": ["speed_error"', '"shown": ["target"'),
    ],
)
def test_a_damaged_loop_is_refused(old, new):
    text = controller(LOOPS["rate limit and interlock"]).to_json()
    assert old in text
    with pytest.raises(SpaqlError, match="not a spaql policy, or it is damaged"):
        spaql.Policy.from_json(text.replace(old, new, 1))
