"""A certificate: the failure rate is at most so much; said wherever the policy is shown."""

import json

import pytest
from scipy import stats

import spaql
from spaql.policy.certificate import Certificate, bound_text, rate_bound
from spaql.policy.policy import Policy

DATE = "2026-02-03"


@pytest.fixture(scope="module")
def policy():
    agent = spaql.SPAQLTS(spaql.make("cartpole", limits=[spaql.Limit("position", -2.0, 2.0)]), seed=0)
    agent.learn(60, rollouts=10)
    return agent.policy().tree()


@pytest.fixture(scope="module")
def certified(policy):
    return policy.certify(200, seed=11, date=DATE)


@pytest.mark.parametrize(("count", "episodes", "confidence"), [(0, 1000, 0.95), (3, 200, 0.99), (199, 200, 0.9)])
def test_the_bound_is_exact(count, episodes, confidence):
    expected = stats.binomtest(count, episodes, alternative="less").proportion_ci(confidence, method="exact").high
    assert rate_bound(count, episodes, confidence) == pytest.approx(expected, rel=1e-9)
    assert rate_bound(episodes, episodes) == 1.0


def test_the_text_never_promises_more_than_the_bound():
    for rate in (0.0029910, 0.01, 0.1234501, 0.5, 0.9999, 1.0, 1e-7):
        assert float(bound_text(rate).removesuffix(" %")) / 100 >= rate
    assert bound_text(rate_bound(0, 1000)) == "0.3 %"


def test_it_tells_episodes_failures_plant_seed_date_and_version(policy, certified):
    found = certified.certificate
    failures = policy.evaluate(200, seed=11).failures
    assert (found.episodes, found.failures, found.plant, found.seed, found.date) == (200, failures.count, "cartpole", 11, DATE)
    assert found.version == spaql.__version__
    text = str(found)
    assert f"after 200 fresh episodes with {failures.count} failures the failure rate is at most" in text
    assert "with 95 % confidence" in text
    assert "A failure is an episode that ends within 200 steps or violates a limit." in text
    assert max(map(len, text.splitlines())) <= 80


def test_changed_parameters_are_part_of_the_plants_name():
    agent = spaql.Random(spaql.make("cartpole", force=5.0))
    assert agent.evaluate(5).certificate(date=DATE).plant == "cartpole with force=5"


def test_it_stands_in_why_and_on_top_of_programs(certified):
    line = f"Certified {DATE} by spaql {spaql.__version__} on cartpole, seed 11:"
    assert line in str(certified.why([0.0, 0.0, 0.01, 0.0]))
    for form in ("c", "python", "st"):
        assert line in certified.export(form)
    assert certified.to_c() == certified.to_c()


def test_without_one_nothing_is_said(policy):
    assert "Certified" not in policy.to_c() + policy.to_json() + str(policy.why([0.0, 0.0, 0.01, 0.0]))


def test_it_travels_in_json(certified):
    again = Policy.from_json(certified.to_json())
    assert again.certificate == certified.certificate
    assert again.to_c().splitlines()[3:] == certified.to_c().splitlines()[3:]


@pytest.mark.parametrize(
    "change",
    [{"failures": 201}, {"failures": -1}, {"episodes": 0}, {"confidence": 1.0}, {"date": "today"}, {"plant": 3}, {"more": 1}, {"seed": 0.5}],
)
def test_a_certificate_in_a_file_is_not_trusted(certified, change):
    told = json.loads(certified.to_json())
    told["certificate"] |= change
    with pytest.raises(spaql.SpaqlError, match="not a spaql policy, or it is damaged"):
        Policy.from_json(json.dumps(told))


def test_the_same_rules_keep_it_and_other_rules_do_not(certified):
    assert certified.tree().certificate is certified.certificate
    assert certified.compress(max_leaves=2, laws=False, budget=200_000).certificate is None


def test_it_stands_on_the_page(certified, tmp_path):
    from spaql.report.explanation import write_explanation

    write_explanation(certified, certified, tmp_path / "page.html")
    assert f"Certified {DATE} by spaql" in (tmp_path / "page.html").read_text("utf-8")


def test_where_nothing_can_fail_nothing_is_certified():
    with pytest.raises(spaql.SpaqlError, match=r"say what a failure is with limits=\[spaql.Limit"):
        spaql.SPAQL(spaql.make("pendulum")).policy().certify(10)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 2.0, "much"])
def test_a_confidence_is_between_nothing_and_certainty(policy, confidence):
    with pytest.raises(spaql.SpaqlError, match="confidence must be"):
        policy.evaluate(5).certificate(confidence)


def test_a_date_is_a_date():
    with pytest.raises(spaql.SpaqlError, match="written like 2026-01-31"):
        Certificate(10, 0, 0.95, "fails", "plant", 0, "yesterday", "1")
