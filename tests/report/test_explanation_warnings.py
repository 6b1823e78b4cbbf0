"""What is worse than it should be is said on the page, on the command line and in the JSON of both."""

import json
from dataclasses import replace

import pytest

import spaql
from command_line import run
from law_examples import law_policies
from spaql.report.explanation import write_explanation

NOTE = "the tree with one leaf is significantly worse than the table it was made from (-800 against -150): allow more leaves"


def test_the_page_has_a_visible_line(tmp_path):
    policy = law_policies()["P2"]
    for notes in ((), (NOTE,)):
        write_explanation(policy, replace(policy, notes=notes), tmp_path / "page.html")
        text = (tmp_path / "page.html").read_text("utf-8")
        assert ("significantly worse" in text) == bool(notes)
        assert ('class="remarks warning"' in text) == bool(notes)
    assert f"Warning: {NOTE}." in text


@pytest.fixture(scope="module")
def agent_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("warned") / "agent.spaql"
    agent = spaql.Laws(spaql.make("pendulum"), max_leaves=1, effort=0.02, teacher=law_policies()["P2"])
    with pytest.warns(spaql.SpaqlWarning, match="worse than their teacher"):
        agent.learn(iterations=1)
    agent.save(path)
    return path


def test_explain_says_it_in_text_and_json(agent_file):
    assert "Warning: the laws are significantly worse than their teacher" in run("explain", str(agent_file)).stdout.replace("\n", " ")
    assert "worse than their teacher" in " ".join(json.loads(run("explain", str(agent_file), "--json").stdout)["warnings"])


def test_laws_or_constant_actions_can_be_asked_for_only_of_compressed_trees(agent_file):
    failed = run("explain", str(agent_file), "--no-laws")
    assert "--laws and --no-laws go with compressed trees" in failed.stderr
