"""Boards: the plants and scores of RealAIGym, and what a store of boards says in tables."""

import math

import numpy as np
import pytest

import spaql
from made_runs import made_checked
from spaql_studies import protocol
from spaql_studies.boards import BOARDS, DOUBLE_PENDULUMS, TASKS, board_tables
from spaql_studies.load import others, published_json
from spaql_studies.runs import double_pendulum as plant
from spaql_studies.runs.compute import agent_of
from spaql_studies.study import QUICK, WHOLE, Effort, Part, Results

NUMBERS = (*protocol.NUMBERS, 0.0)
LAW = {"sin1": 9.0, "velocity1": -0.5, "velocity2": -0.3, "energy": -4.0}


def law(robot, gains=LAW):
    return spaql.law(plant.board_problem(robot), gains, 0.5)


def test_the_scores_are_those_that_the_board_has_published():
    """Costs and scores of AR-EAPO's acrobot and of History-SAC's pendubot."""
    acrobot = plant.score(1.394, 8.322843658448338, 1.5169970532884, 0.008076883429364525, 117.96157720290056)
    pendubot = plant.score(1.152, 7.673973574502183, 2.359531440786147, 0.007146586919567306, 62.072620040729596)
    assert acrobot == pytest.approx(0.6326131852346231, abs=1e-12)
    assert pendubot == pytest.approx(0.6823779743749803, abs=1e-12)


def test_a_step_is_that_of_the_boards_trajectories():
    """The first two states that the board has published of History-SAC's acrobot."""
    after = plant.moved(0.0, 0.0, 0.0, 0.0, 0.0, 1.294787406921386719, 0.002, *NUMBERS)
    published = (-1.146439067627389032e-04, 2.376449660276681950e-04, -1.146404630125795326e-01, 2.376380908618881405e-01)
    assert after == pytest.approx(published, abs=1e-13)


def test_without_torque_energy_stays_and_is_zero_where_it_stands():
    state = (math.pi + 0.4, -0.3, 0.5, -1.0)

    def energy(q1, q2, w1, w2):
        return plant.stored(math.cos(q1), math.sin(q1), math.cos(q2), math.sin(q2), w1, w2)

    before = energy(*state)
    for _ in range(500):
        state = plant.moved(*state, 0.0, 0.0, 0.002, *NUMBERS)
    assert energy(*state) == pytest.approx(before, abs=1e-6)
    assert energy(math.pi, 0.0, 0.0, 0.0) == pytest.approx(0.0)
    assert energy(0.0, 0.0, 0.0, 0.0) == pytest.approx(-2.0)


def test_an_episode_that_fails_earns_less_than_nothing():
    returns = law("acrobot", {}).evaluate(3).returns
    assert ((returns < 0.0) & (returns >= -plant.HINT)).all()
    assert protocol.nominal(law("acrobot", {})).value == 0.0


def test_the_kernel_of_the_protocol_does_what_the_law_says():
    policy, state, smooth = law("acrobot"), (0.0, 0.0, 0.0, 0.0), []
    for _ in range(200):
        q1, q2, w1, w2 = state
        seen = np.array([math.cos(q1), math.sin(q1), math.cos(q2), math.sin(q2), w1, w2])
        smooth.append(float(policy.predict(seen)[0][0]))
        state = plant.moved(*state, 0.0, smooth[-1], protocol.DT, *NUMBERS)
    still = protocol.Case(np.array([*protocol.NUMBERS, *[0.0] * 5]), np.zeros((protocol.STEPS, 3)), np.zeros(protocol.STEPS))
    assert protocol.played(policy, still)[1][200] == pytest.approx(state, abs=1e-9)


def test_every_share_has_the_episodes_of_the_protocol():
    cases = protocol.cases_of(0)
    count = {name: (len(several), len(several[0])) for name, several in cases.items()}
    assert count == {
        "model": (210, 1), "velocity_noise": (21, 10), "torque_noise": (21, 10), "motor": (21, 1), "delay": (21, 1), "pushes": (50, 1),
    }  # fmt: skip
    assert [several[0].delay for several in cases["delay"]][::5] == [0, 5, 10, 15, 20]
    assert cases["velocity_noise"][-1][0].noise[:, :2].std() == pytest.approx(0.5, rel=0.05)


def test_every_board_has_others_and_ten_seeds():
    assert set(others("boards")) == set(TASKS) == set(BOARDS.other_parts)
    for name in TASKS:
        assert {spec.seed for spec in BOARDS.specs(name, WHOLE, {})} == set(range(1000, 1010))
        assert len(BOARDS.specs(name, QUICK, {})) == 1


def test_a_double_pendulum_is_learned_on_as_it_is_written():
    name = DOUBLE_PENDULUMS[1]
    (spec,) = BOARDS.specs(name, Effort(quick=True), {})
    agent = agent_of(spec)
    assert agent.problem.name == name
    assert agent.problem.horizon * plant.DT == plant.SECONDS
    assert agent.searched.looked_at == (*plant.SEEN, *plant.FEATURES)


def test_tables_show_the_score_beside_the_published_ones(monkeypatch):
    monkeypatch.setattr("spaql_studies.boards.robustness", lambda policy, seed: protocol.Shares(*[0.5] * 6))
    (spec,) = BOARDS.specs(DOUBLE_PENDULUMS[0], QUICK, {})
    run = made_checked(spec, 0.3, controller=law("acrobot").to_json())
    tables = {table.name: table for table in board_tables(Results({Part("boards", DOUBLE_PENDULUMS[0]): [run]}))}
    (row,) = tables["boards"].rows
    assert row["reached"] == protocol.nominal(law("acrobot")).value
    others_too = [(line["problem"], line["who"]) for line in tables["boards-others"].rows]
    assert others_too[:3] == [
        ("RealAIGym, acrobot", who) for who in ("History-SAC", "AR-EAPO", "spaql: 1 law, tuned for score, 11 numbers")
    ]
    assert len(tables["boards-pendulums"].rows) == 5
    assert all(line["pushes"] == 0.5 for line in tables["boards-pendulums"].rows)
    assert all(line["controller"].startswith("torque = clip(") for line in tables["boards-laws"].rows)


@pytest.mark.parametrize(("robot", "score"), [("acrobot", 0.55), ("pendubot", 0.59)])
def test_the_tuned_laws_of_the_package_earn_what_the_page_says(robot, score):
    tuned = published_json("double_pendulums")[robot]
    policy = spaql.law(plant.board_problem(robot), tuned["score"]["gains"], tuned["score"]["offset"])
    assert protocol.nominal(policy).value == pytest.approx(score, abs=0.01)
    robust = spaql.law(plant.board_problem(robot), tuned["robustness"]["gains"], tuned["robustness"]["offset"])
    cases = [several[0] for several in protocol.cases_of(1)["torque_noise"]][::5]
    assert protocol.stood(robust, cases) == 1.0
