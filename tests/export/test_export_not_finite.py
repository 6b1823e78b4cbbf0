"""Inputs that are no numbers: an exported controller never gives NaN, keeps to all bounds, and goes on afterwards."""

import subprocess
from dataclasses import replace

import numpy as np
import pytest

import spaql
from exported_programs import COMPILERS, STRICT, compiled, needs_compiler
from law_examples import NAMES, applied_by_python, law_policies, law_states
from loop_controllers import LOOPS, TARGET, controller, inputs_and_applied, structured_loop
from loops import motor
from spaql.export import export
from spaql.ground.checks import FAR
from structured_text import LawBlock

FORMS = ("ifs", "table")
ODD = [np.nan, np.inf, -np.inf, 1e308, -1e308]
LOCKS = [
    spaql.Interlock("current", above=6.0, high=3.0), spaql.Interlock("current", below=-6.0, low=-3.0),
    spaql.Interlock("speed_error", below=-20.0, high=10.0),
]  # fmt: skip
MORE = LOOPS | {
    "interlocks without memory": {"memory": [], "interlocks": LOCKS},
    "interlocks that exclude each other": {
        "interlocks": [spaql.Interlock("speed", above=40.0, high=-1.0), spaql.Interlock("speed", below=-40.0, low=1.0)]
    },
    "no zero among the actions": {"rates": 1.0, "memory": []},
}


# -- without memory ----------------------------------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize("name", NAMES)
def test_whatever_comes_in_one_of_the_actions_comes_out(tmp_path, name, monkeypatch):
    """Neither NaN, nor something beside the actions: the same in all languages."""
    policy, rng = law_policies()[name], np.random.default_rng(0)
    states, actions = law_states(policy, 3000), policy.problem.actions
    states = np.where(rng.random(states.shape) < 0.4, rng.choice([*ODD, 0.0], states.shape), states)
    got = [compiled(tmp_path, export(policy, "c", form=form))(states, actions.axes) for form in FORMS]
    got.append(applied_by_python(export(policy, "python"), states))
    if name != "deep laws":
        block = LawBlock(export(policy, "st"))
        got.append(np.array([block.run(state) for state in states.tolist()]))
    monkeypatch.setattr("spaql.export.python.DEEPEST", -1)
    got.append(applied_by_python(export(policy, "python"), states))
    for made in got:
        np.testing.assert_array_equal(made, got[0])
    low, high = actions.bounds
    assert ((got[0] >= low) & (got[0] <= high)).all()
    assert isinstance(actions, spaql.Continuous) or np.isin(got[0], actions.values).all()


@needs_compiler
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("precision", ["double", "single"])
def test_a_law_without_a_number_applies_what_is_nearest_to_zero(tmp_path, form, precision):
    actions = spaql.Continuous((-2.0, 1.0, -5.0), (2.0, 3.0, -4.0))
    policy = spaql.law(replace(spaql.cube(1, 3, horizon=5), actions=actions), [[1.0], [2.0], [3.0]])
    act = compiled(tmp_path, export(policy, "c", form=form, precision=precision))
    assert act(np.array([[np.nan]]), 3).tolist() == [[0.0, 1.0, -4.0]]


# -- in a loop ---------------------------------------------------------------------------------------------------------


@pytest.fixture(params=MORE, scope="module")
def spoiled(request):
    """A controller, an episode of its inputs in which some are no numbers, and what is to be applied."""
    policy = controller(MORE[request.param])
    if request.param == "no zero among the actions":
        weak = replace(motor(), actions=spaql.Continuous((5.0,), (24.0,), ("voltage",)))
        policy = spaql.law(spaql.loop(weak, references=[TARGET], **MORE[request.param]), [0.1, 0.2, 0.3, 0.4])
    rows, rng = np.array(inputs_and_applied(policy)[0]), np.random.default_rng(1)
    bad = rng.random(rows.shape) < 0.15
    bad[:2, 0] = True  # before the first good step, too
    bad[20:25] = True  # and for a while
    rows = np.where(bad, rng.choice(ODD, rows.shape), rows).tolist()
    applied = wanted(policy, rows)
    assert len(set(applied)) > 5  # it does something
    return policy, rows, applied


def wanted(policy, rows):
    """The rule, written once more: hold, keep what is remembered but for actions, and take unknown interlocks as active."""
    signals, z, last, applied = policy.problem.signals, None, list(policy.problem.signals.neutral), []
    f, names = signals.functions, [one.name for one in signals.registers]
    past = [0.0, *[last[0]] * 9]  # actions, the newest second: names count from 1
    for given in rows:
        known = dict(zip([axis.name for axis in signals.inputs], given, strict=True))
        known = {name: value for name, value in known.items() if abs(value) <= FAR}
        if len(known) == len(given):
            z = list(f.first(*given)) if z is None else z
            z = [past[int(name.split()[1])] if name.startswith("voltage") else value for name, value in zip(names, z, strict=True)]
            action = policy.decide(np.array([f.seen(*given, *z)]))[0]
            u = f.applied(*given, *z, *action.tolist())[0]
            z = list(f.after(*given, *z, u))
        else:
            u = past[1]
            if "target" in known and "speed" in known:
                known["speed_error"] = known["target"] - known["speed"]
            for lock in signals.interlocks:
                others = [one for one in signals.interlocks if max(one.low, lock.low) > min(one.high, lock.high)]
                value = known.get(lock.when, dict(zip(["speed", "current", "target"], given, strict=True)).get(lock.when))
                active = lock.when not in known and not others
                if value is not None:
                    active |= value >= lock.above if lock.above is not None else value <= lock.below
                u = min(max(u, lock.low), lock.high) if active else u
        past = [0.0, u, *past[1:-1]]
        applied.append(u)
    return applied


@needs_compiler
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_c_holds_the_last_action_and_keeps_its_memory(spoiled, compiler, level, tmp_path):
    policy, rows, applied = spoiled
    assert run(policy.to_c(main=True), rows, tmp_path, compiler, level) == applied


def test_python_and_structured_text_do_the_same(spoiled):
    policy, rows, applied = spoiled
    scope, block = {}, structured_loop(policy.to_st())
    exec(policy.to_python(), scope)
    memory = scope["controller_init"]()
    assert [scope["controller_step"](memory, given) for given in rows] == applied
    assert [block(given) for given in rows] == applied


@needs_compiler
@pytest.mark.parametrize("precision", ["double", "single"])
def test_every_output_is_a_number_within_bounds_rates_and_interlocks(spoiled, precision, tmp_path):
    policy, rows, _ = spoiled
    signals, applied = policy.problem.signals, run(policy.to_c(main=True, precision=precision), rows, tmp_path)
    low, high = signals.actuator.bounds
    assert all(low[0] <= value <= high[0] for value in applied)
    if signals.rates and not signals.interlocks:
        assert np.abs(np.diff([*signals.neutral, *applied])).max() <= signals.rates[0] * (1 + 1e-6)
    for lock in (one for one in signals.interlocks if one.when == "current"):
        for (_, current, _), value in zip(rows, applied, strict=True):
            beyond = current >= lock.above if lock.above is not None else current <= lock.below
            assert lock.low <= value <= lock.high or not (beyond or np.isnan(current) or abs(current) > FAR)


@needs_compiler
def test_after_the_last_bad_input_control_goes_on_as_without_it(tmp_path):
    policy = controller(LOOPS["no memory"])
    rows, applied = inputs_and_applied(policy)
    spoiled = [[np.nan, *row[1:]] if 5 <= k < 30 else row for k, row in enumerate(rows)]
    assert run(policy.to_c(main=True), spoiled, tmp_path) == [*applied[:5], *[applied[4]] * 25, *applied[30:]]


@needs_compiler
def test_an_input_that_the_controller_does_not_use_may_be_anything(tmp_path):
    policy = spaql.law(spaql.loop(motor(), observe=["current"]), [2.0])
    assert run(policy.to_c(main=True), [[np.nan, 3.0], [np.inf, 4.0]], tmp_path) == [6.0, 8.0]
    policy = spaql.law(spaql.loop(motor(), memory=["previous(voltage)"], observe=["previous(voltage)"]), [2.0], 1.0)
    assert run(policy.to_c(main=True), [[np.nan, 3.0], [np.inf, np.nan]], tmp_path) == [1.0, 3.0]


def run(source, rows, tmp_path, compiler=None, level="-O2"):
    """What the program applies, given these inputs."""
    (tmp_path / "controller.c").write_text(source)
    program = tmp_path / "controller"
    subprocess.run([compiler or COMPILERS[0], *STRICT, level, tmp_path / "controller.c", "-o", program], check=True)
    text = "\n".join(" ".join(map(repr, given)) for given in rows)
    told = subprocess.run([program], input=text, text=True, capture_output=True, check=True).stdout
    return [float(value) for value in told.split()]
