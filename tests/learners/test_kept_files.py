"""Agents and policies that earlier versions have saved load, and go on with the bits they would have had then."""

import json

import pytest

from kept_files import EXPECTED, KEPT, POLICY, what_comes_of, what_policy_comes_of
from spaql.learners.registry import learners

TOLD = json.loads((KEPT / EXPECTED).read_text())


def test_there_is_a_file_of_every_learner_of_that_version():
    kept = {told["agent"].split()[0] for told in TOLD["agents"].values()}
    assert kept == {"AQL", "Atlas", "NBQL", "Random", "SPAQL", "SPAQL-TS", "ZoomRL"} <= {card.name for card in learners()}
    assert sorted(path.name for path in KEPT.glob("*.spaql")) == sorted(TOLD["agents"])


@pytest.mark.parametrize("name", TOLD["agents"])
def test_a_kept_agent_loads_and_goes_on_with_the_same_bits(name):
    came, told = what_comes_of(KEPT / name), TOLD["agents"][name]
    new = set(came["options"]) - set(told["options"])  # options that later versions have added
    assert came | {"options": {key: value for key, value in came["options"].items() if key not in new}} == told


def test_a_kept_policy_runs_and_is_written_as_before():
    assert what_policy_comes_of((KEPT / POLICY).read_text()) == TOLD["policy"]
