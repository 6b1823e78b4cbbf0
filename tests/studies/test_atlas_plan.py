"""Atlas' contest as data: fair seeds, the same samples for all, keys that leave older runs alone."""

import hashlib
import json
from dataclasses import asdict, replace

import pytest

import spaql
from spaql_studies.atlas import ABLATION, ABLATIONS, ATLAS, CONTESTS, RIVALS
from spaql_studies.few import FEW
from spaql_studies.parts import chosen_parts, specs_of
from spaql_studies.runs.compute import compute
from spaql_studies.runs.spec import Spec, spec_from
from spaql_studies.study import QUICK, WHOLE, Effort, Part

OURS = (*ATLAS.parts, *RIVALS.parts)


@pytest.mark.parametrize("part", OURS, ids=str)
def test_what_is_reported_uses_seeds_that_nobody_tuned_on(part):
    specs = specs_of(part, WHOLE)
    assert min(spec.seed for spec in specs) == 1000
    for algorithm in {spec.algorithm for spec in specs}:
        seeds = {spec.seed for spec in specs if spec.algorithm == algorithm}
        assert len(seeds) == (10 if algorithm == "SAC" else 20)


def test_it_is_not_part_of_the_paper():
    for tuned in (False, True):
        assert not set(chosen_parts((), tuned)) & set(OURS)
    assert set(chosen_parts(("atlas",), tuned=False)) == {*ATLAS.parts, *FEW.parts}


def test_a_quick_look_has_fewer_agents_unless_their_number_is_given():
    assert {spec.seed for spec in specs_of(Part("atlas", "cartpole"), QUICK)} == {1000, 1001, 1002}
    assert {spec.seed for spec in specs_of(Part("atlas", "cartpole"), Effort(quick=True, seeds=2))} == {1000, 1001}


@pytest.mark.parametrize("part", OURS, ids=str)
def test_a_quick_look_is_the_beginning_of_the_whole(part):
    whole = {(spec.algorithm, spec.options): spec.checkpoints for spec in specs_of(part, WHOLE)}
    for spec in specs_of(part, QUICK):
        full = whole[spec.algorithm, spec.options]
        assert spec.checkpoints[-1] <= max(0.1 * full[-1], full[0])
        assert part == ABLATION or spec.checkpoints == full[: len(spec.checkpoints)]


@pytest.mark.parametrize("problem", CONTESTS)
def test_checkpoints_rise_and_the_rivals_get_at_least_as_many_samples_as_half_of_atlas(problem):
    atlas, *others = CONTESTS[problem]
    assert atlas.algorithm == "Atlas"
    for task in (atlas, *others):
        assert list(task.samples) == sorted(set(task.samples))
    assert all(task.samples[-1] >= atlas.samples[-1] / 2 for task in others)


def test_every_ablation_takes_one_thing_away():
    assert sorted(map(len, ABLATIONS.values())) == [0, *[1] * (len(ABLATIONS) - 1)]
    kinds = {(spec.problem, spec.options) for spec in specs_of(ABLATION, WHOLE)}
    assert len(kinds) == 2 * len(ABLATIONS) - 1  # CartPole's two actions have no levels


@pytest.mark.parametrize("part", [Part("atlas", "pendulum"), ABLATION, Part("rivals", "cartpole")], ids=str)
def test_these_specs_survive_json_with_the_kinds_of_their_options(part):
    for spec in specs_of(part, QUICK):
        again = spec_from(json.loads(json.dumps(asdict(spec))))
        assert again == spec
        assert [type(value) for _, value in again.options] == [type(value) for _, value in spec.options]
        assert again.key == spec.key


def test_runs_without_checkpoints_keep_the_keys_they_had():
    spec = Spec("cartpole", "SPAQL", 3, 4, 2, 6, (("xi", 20.0),))
    fields = {
        "problem": "cartpole",
        "algorithm": "SPAQL",
        "seed": 3,
        "iterations": 4,
        "rollouts": 2,
        "fresh": 6,
        "options": [["xi", 20.0]],
    }
    text = json.dumps(fields | {"code": "then"}, sort_keys=True)
    assert spec.key_by("then") == hashlib.sha256(text.encode()).hexdigest()[:20]
    assert replace(spec, checkpoints=(100,)).key_by("then") != spec.key_by("then")


def test_an_unknown_algorithm_is_said():
    with pytest.raises(spaql.SpaqlError, match="unknown algorithm 'Nobody'"):
        compute(Spec("cartpole", "Nobody", 1000, 0, 0, 10, checkpoints=(100,)))
