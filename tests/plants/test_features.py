"""Features: variables that are formulas of others, the same in plants, environments, loops, code, files and proofs."""

import copy
import math
import pickle
import re

import gymnasium
import numpy as np
import pytest

import spaql
from command_line import refused, told
from exported_policies import deep_chain
from exported_programs import compiled, needs_compiler
from law_examples import law_states
from spaql.plants.known import check_known
from spaql.trees.tree import make_tree

GRAVITY = 15.0


def energy(cos, velocity):
    return 0.5 * velocity**2 + GRAVITY * cos - GRAVITY


def all_there_is(cos, sin, velocity):
    """Every function and sign that a formula may have."""
    angle = math.atan2(sin, cos) + math.tan(0.1 * cos) + math.asin(0.5 * sin) - np.arccos(cos / 2)
    size = math.exp(-abs(velocity)) / math.sqrt(1 + sin**2) + math.log(2 + math.tanh(angle)) + math.atan(sin)
    if angle > 0.5:
        return max(size, -velocity, 0.1) * math.cos(angle) - 2
    return min(size, sin) if velocity <= 1 else -(math.sin(velocity) ** 3) / (1.5 - cos)


FEATURES = {"energy": spaql.Feature(energy, unit="J"), "pump": "-velocity*energy", "all": all_there_is}


@pytest.fixture(scope="module")
def problem():
    return spaql.make("pendulum", features=FEATURES)


@pytest.fixture(scope="module")
def pumping(problem):
    return spaql.law(problem, {"sin": -20.0, "pump": 20.0, "all": 0.5})


def test_a_feature_is_a_variable_behind_the_others(problem):
    assert [axis.name for axis in problem.state] == ["cos", "sin", "velocity", "energy", "pump", "all"]
    assert problem.state[3].unit == "J"
    assert problem.reference[3] == 0.0
    low, high = problem.state[3].usual
    assert (low, high) == pytest.approx((-30.0, 32.0), rel=0.05)
    assert "energy = 0.5 * velocity**2 + 15 * cos - 15" in str(problem)


def test_the_formula_is_what_the_function_says(problem):
    for row in law_states(spaql.law(spaql.make("pendulum"), {"sin": 1.0}), 300).tolist():
        cos, sin, velocity, *features = problem.features.values(row)
        assert features[0] == pytest.approx(energy(cos, velocity), rel=1e-14)
        assert features[1] == -velocity * features[0]
        assert features[2] == pytest.approx(all_there_is(cos, sin, velocity), rel=1e-12, abs=1e-12)


def test_the_law_with_a_pump_swings_up():
    problem = spaql.make("pendulum", features={"pump": lambda cos, velocity: -velocity * energy(cos, velocity)})
    assert spaql.law(problem, {"sin": -20.0, "pump": 20.0}).evaluate(1000).mean > -155


def test_an_environment_shows_what_the_compiled_plant_shows(pumping):
    env = spaql.from_gym("spaql/Pendulum-v0", features=FEATURES)
    other = spaql.law(env, {"sin": -20.0, "pump": 20.0, "all": 0.5})
    np.testing.assert_allclose(other.evaluate(3).returns, pumping.evaluate(3).returns, rtol=1e-6)
    with spaql.from_gym("Pendulum-v1", names=True, features={"energy": energy}).open_env() as plain:
        seen, _ = plain.reset(seed=3)
        assert seen[3] == pytest.approx(energy(seen[0], seen[2]))
        assert seen.shape == plain.observation_space.shape


def test_what_is_measured_is_enough_to_predict_and_to_ask_why(pumping, problem):
    for row in law_states(pumping, 5).tolist():
        whole = problem.features.values(row[:3])
        assert pumping.predict(row[:3])[0] == pumping.predict(whole)[0]
        assert pumping.predict([row[:3]])[0] == pumping.predict([whole])[0]
    said = str(pumping.why([1.0, 0.0, 0.3]))
    assert "energy = 0.045 J" in said
    assert "where pump = -velocity * energy" in said


def test_a_loop_has_features_of_what_its_controller_sees():
    looped = spaql.loop(spaql.make("pendulum"), memory=["previous(torque)"], noise={"velocity": 0.1}, features={"energy": energy})
    assert [axis.name for axis in looped.state] == ["cos", "sin", "velocity", "previous(torque)", "energy"]
    law = spaql.law(looped, {"sin": -2.0, "energy": 0.1})
    seen = law.episode().observations
    np.testing.assert_allclose(seen[:, 4], 0.5 * seen[:, 2] ** 2 + 15 * seen[:, 0] - 15, rtol=1e-12, atol=1e-12)
    applied, memory = law.predict([1.0, 0.1, 0.2], state=law.memory())
    again, _ = law.predict([1.0, 0.1, 0.2], state=memory)
    assert applied == again == law.predict([[1.0, 0.1, 0.2, 0.0]])[0][0]
    text = law.to_c()
    assert "const double energy = 0.5 * (velocity * velocity)" in text
    assert "obs[3] = " in text


def test_limits_hold_for_features_too():
    problem = spaql.make("pendulum", features={"energy": energy}, limits=[spaql.Limit("energy", high=10.0)])
    assert spaql.law(problem, {"sin": -1.0}).evaluate(5).limits[0].variable == "energy"


# -- programs and files ------------------------------------------------------------------------------------------------


@needs_compiler
def test_programs_compute_features_from_what_is_measured(tmp_path, pumping, problem):
    states = law_states(pumping, 2000)[:, :3]
    whole = problem.features.rows(states)
    wanted = pumping.decide(whole)
    near = {"rtol": 1e-12, "atol": 1e-10}
    for form in ("ifs", "table"):
        np.testing.assert_allclose(compiled(tmp_path, pumping.to_c(form=form))(states, 1), wanted, **near)
        single = compiled(tmp_path, pumping.to_c(form=form, precision="single"))(states, 1)
        assert np.median(np.abs(single - wanted)) < 1e-4
    text = pumping.to_python()
    assert "import math" in text
    act = {}
    exec(text, act)
    np.testing.assert_allclose([[act["controller"](row)] for row in states.tolist()], wanted, **near)


def test_a_tree_too_deep_for_ifs_computes_them_too(problem):
    chain = deep_chain(80)
    energetic = spaql.make("pendulum", features={"energy": energy})
    nodes = chain.rules.nodes.copy()
    nodes["feature"][nodes["feature"] == 0] = 3
    tree = make_tree(nodes, np.clip(chain.rules.actions, -2, 2), 4, np.zeros((len(nodes), 4)))
    policy = spaql.Policy(energetic, tree, "law tree", "hand")
    states = law_states(spaql.law(spaql.make("pendulum"), {"sin": 1.0}), 200)
    act = {}
    exec(policy.to_python(), act)
    assert [act["controller"](row) for row in states.tolist()] == policy.decide(states)[:, 0].tolist()


def test_structured_text_says_the_same(pumping, problem):
    text = re.sub(r"\(\*.*?\*\)|LREAL#", "", pumping.to_st())
    body = text.split("END_VAR")[-1].replace("END_FUNCTION_BLOCK", "").replace(":=", "~").replace(" = ", " == ").replace("~", "=")
    scope = {name.upper(): getattr(math, name) for name in ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "exp", "sqrt")}
    scope |= {"LN": math.log, "ABS": abs, "MIN": min, "MAX": max, "SEL": lambda test, no, yes: yes if test else no}
    scope |= {"LIMIT": lambda low, value, high: min(max(value, low), high)}
    assert "0.5*" not in body  # numbers are literals of the language
    for row in law_states(pumping, 100)[:, :3].tolist():
        variables = dict(zip(("cos_value", "sin_value", "velocity"), row, strict=True))
        for line in body.replace(";", "").split("\n"):
            exec(line.strip(), scope, variables)
        assert variables["torque"] == pytest.approx(pumping.predict(row)[0][0], rel=1e-12, abs=1e-10)


def test_only_what_a_law_needs_is_computed(problem):
    text = spaql.law(problem, {"pump": 1.0}).to_c()
    assert "const double pump" in text
    assert "const double energy" in text
    assert "sin_value" not in text
    assert "math.h" not in text


def test_json_brings_features_back(pumping):
    text = pumping.to_json()
    again = spaql.Policy.from_json(text)
    assert again.to_json() == text
    np.testing.assert_array_equal(again.evaluate(5).returns, pumping.evaluate(5).returns)
    assert again.predict([1.0, 0.1, 0.2])[0] == pumping.predict([1.0, 0.1, 0.2])[0]
    for wrong in ("import os", "velocity.real", "[velocity]", "open(velocity)", "nowhere"):
        with pytest.raises(spaql.SpaqlError, match="damaged"):
            spaql.Policy.from_json(text.replace("-velocity * energy", wrong))


def test_agents_keep_features_in_their_files(tmp_path, problem):
    agent = spaql.Laws(problem, max_leaves=1, seed=0)
    agent.learn(samples=300_000)
    agent.save(tmp_path / "a.spaql")
    again = spaql.load(tmp_path / "a.spaql")
    assert again.problem.features == problem.features
    assert again.evaluate(3).mean == agent.evaluate(3).mean
    with pytest.raises(spaql.SpaqlError, match="its state differs"):
        spaql.load(tmp_path / "a.spaql", problem=spaql.make("pendulum"))


def test_problems_with_features_go_to_other_processes(problem):
    again = pickle.loads(pickle.dumps(problem))
    assert again.features == problem.features
    assert again.state == problem.state
    assert copy.deepcopy(problem).plant is problem.plant


def test_what_is_known_of_a_plant_stays_known(problem):
    rows = spaql.record(problem, episodes=2)
    names = [axis.name for axis in problem.state]
    seen, after = rows[names].to_numpy(), rows[[f"next_{name}" for name in names]].to_numpy()
    check_known(problem, seen, rows["torque"].to_numpy(), rows["reward"].to_numpy(), after, np.zeros(len(rows)))


# -- proofs ------------------------------------------------------------------------------------------------------------


def test_a_law_of_features_balances_for_ever(tmp_path):
    def lean(position, velocity, angle, angular_velocity):
        return position + 1.95 * velocity + 16.1 * angle + 4.25 * angular_velocity + 0.01 * angle**2

    problem = spaql.make("cartpole-500", features={"lean": lean})
    law = spaql.law(problem, {"lean": 1.0})
    proof = law.prove(seconds=30)
    assert proof.holds
    assert not proof.claim.single  # formulas in single precision are not covered
    proof.save(tmp_path / "x.proof.json")
    assert spaql.check_proof(tmp_path / "x.proof.json", law).holds
    other = spaql.make("cartpole-500", features={"lean": "position + 1.95*velocity + 16.1*angle + 4.26*angular_velocity"})
    with pytest.raises(spaql.SpaqlError, match="another plant"):
        spaql.check_proof(tmp_path / "x.proof.json", spaql.law(other, {"lean": 1.0}))


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("features", "said"),
    [
        ({"velocity": "cos*sin"}, "has the name of a variable or an action"),
        ({"torque": "cos*sin"}, "has the name of a variable or an action"),
        ({"e": lambda speed: speed}, "speed is not observed: choose among cos, sin, velocity"),
        ({"e": "0.5*speed"}, "speed is not observed"),
        ({"e": lambda cos: 1 / 0 * cos}, "cannot be written as a formula: ZeroDivisionError"),
        ({"e": lambda cos: int(2 * cos)}, "cannot be written as a formula"),
        ({"e": lambda cos: [cos]}, "must return a number, not list"),
        ({"e": lambda cos: cos and 1.0}, "compare a variable with a number"),
        ({"e": lambda cos: math.nan * cos}, "cannot stand in a formula|no number|no formula|is not observed"),
        ({"e": "sqrt(cos)"}, "is no number at cos = -"),
        ({"e": "1/(cos - cos)"}, "is no number at"),
        ({"e": lambda cos: 3.0}, "depends on no variable"),
        ({"e": "cos - cos"}, "is always 0: it says nothing"),
        ({"e": "cos +"}, "is no formula"),
        ({"e": "cos**0.3"}, "powers are whole numbers from 2 to 8"),
        ({"e": "__import__('os')"}, "cannot stand in a formula"),
        ({"e": 3}, "give a text such as"),
        ({"e": spaql.Feature("cos*sin", low=5.0, high=6.0)}, r"goes from -0\.\d+ to 0\.\d+: give such a range"),
        (["cos*sin"], "features are formulas by name"),
        ({"": "cos*sin"}, "features are formulas by name"),
        ({"e": lambda cos=1.0: cos}, "without defaults"),
    ],
)
def test_a_bad_feature_is_refused_in_one_line(features, said):
    with pytest.raises(spaql.SpaqlError, match=said) as error:
        spaql.make("pendulum", features=features)
    assert "\n" not in str(error.value)


def test_features_are_stated_once_and_in_the_loop(problem):
    with pytest.raises(spaql.SpaqlError, match=r"state them in spaql.loop"):
        spaql.loop(problem, memory=["previous(torque)"])
    with pytest.raises(spaql.SpaqlError, match="two ends"):
        spaql.Feature("cos", low=1.0)


def test_a_name_that_means_two_variables_is_no_name():
    env = gymnasium.make("CartPole-v1")
    problem = spaql.from_gym(env, names=["a b", "a_b", "angle", "rate"], features={"lean": "angle + rate"})
    assert problem.features.raw == 4
    with pytest.raises(spaql.SpaqlError, match="a_b is not observed: choose among angle, rate"):
        spaql.from_gym(env, names=["a b", "a_b", "angle", "rate"], features={"lean": "angle + a_b"})


def test_the_command_line_takes_features(tmp_path):
    words = ("train", "pendulum", "laws", "--samples", 200_000, "--fresh", 3, "--quiet", "--out", tmp_path)
    told(*words, "--json", "--feature", "energy = 0.5*velocity**2 + 15*cos - 15", "--feature", "pump=-velocity*energy")
    assert spaql.load(tmp_path / "agent.spaql").problem.features.texts["pump"] == "-velocity * energy"
    assert "is not observed" in refused(*words, "--feature", "energy=mass*2")
    assert "energy is given twice" in refused(*words, "--feature", "energy=cos", "--feature", "energy=sin")
    assert "--feature takes NAME=FORMULA" in refused(*words, "--feature", "cos")
