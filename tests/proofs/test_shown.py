"""A theorem stands where its controller is shown: in `why`, on the page, on top of exported code."""

import json
from dataclasses import replace

import pytest

import spaql
from spaql.report.explanation import write_explanation


@pytest.fixture(scope="module")
def policy():
    problem = spaql.make("cartpole-500")
    return spaql.law(problem, {"position": 1.0, "velocity": 1.95, "angle": 16.1, "angular velocity": 4.25})


@pytest.fixture(scope="module")
def proven(policy):
    return policy.with_proof(policy.prove())


def test_it_stands_in_why_and_in_exported_code_with_both_hashes(proven):
    claim = proven.proof.claim
    for text in (str(proven.why([0.0, 0.0, 0.05, 0.0])), proven.to_c(), proven.to_st()):
        assert "PROVEN" in text
        assert claim.policy[:12] in text
        assert claim.plant[:12] in text
        assert "angle in [-0.12" in text


def test_the_same_theorem_proven_again_gives_the_same_bytes(proven, policy):
    assert policy.with_proof(policy.prove()).to_c() == proven.to_c()


def test_it_stands_on_the_page(proven, tmp_path):
    write_explanation(proven, proven, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert 'aria-label="Proof"' in page
    assert proven.proof.claim.plant[:12] in page


def test_a_file_is_checked_first(proven, policy, tmp_path):
    path = tmp_path / "x.json"
    proven.proof.save(path)
    assert policy.with_proof(path).proof.holds
    content = json.loads(path.read_text())
    content["evidence"][0]["rest"][1] *= 0.9
    path.write_text(json.dumps(content))
    with pytest.raises(spaql.SpaqlError, match="is refused"):
        policy.with_proof(path)


def test_words_in_a_file_cannot_leave_the_comment(proven, policy, tmp_path):
    path = tmp_path / "x.json"
    proven.proof.save(path)
    content = json.loads(path.read_text())
    content["method"] = "*/ int evil; /* \n *) evil := 1; (*"
    path.write_text(json.dumps(content))
    hostile = policy.with_proof(path)
    assert "*/ int evil" not in hostile.to_c()
    assert "*) evil" not in hostile.to_st()


def test_its_picture_shows_starts_bounds_and_what_is_open(proven, tmp_path):
    proven.proof.plot(tmp_path / "x.svg")
    proven.proof.plot(tmp_path / "y.png", x="angle", y="angular velocity")
    part = replace(proven.proof, open=(((0.0, 0.05),) * 4,))
    axes = part.plot(x="angle", y="position").axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("angle", "position")
    words = [entry.get_text() for entry in part.plot().legends[0].get_texts()]
    assert words == ["starts that are proven", "open", "never left"]
    for name in ("angel", "angle"):
        with pytest.raises(spaql.SpaqlError, match=r"choose among position|two different variables"):
            proven.proof.plot(x=name, y="angle")
    with pytest.raises(spaql.SpaqlError, match="choose a name that ends with"):
        proven.proof.plot(tmp_path / "x.txt")


def test_a_proof_of_another_controller_is_refused(proven):
    other = spaql.law(proven.problem, {"angle": 5.0, "angular velocity": 1.0})
    with pytest.raises(spaql.SpaqlError, match="another controller"):
        other.with_proof(proven.proof)
    with pytest.raises(spaql.SpaqlError, match=r"policy\.prove"):
        other.with_proof(3)


def test_it_does_not_go_over_to_other_rules(proven):
    assert proven.tree().proof is None
