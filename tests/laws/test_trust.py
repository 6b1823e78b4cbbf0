"""What the model says about a controller, in numbers."""

from dataclasses import replace

import numpy as np
import pytest

import spaql
from spaql.gp.hidden import Advice
from spaql.laws.trust import Tried, Trust
from spaql.learners.atlas.state import Grown
from spaql.learners.law_files import ScoredTree
from spaql.plants.problem import constant_actions
from spaql.trees.edits import constant

RETURNS = np.random.default_rng(0).normal(-150.0, 90.0, (8, 50))


def trust(begun, returns=RETURNS):
    return Trust(1000, begun, returns, -1200.0, None, {}, {})


def width(one):
    low, high = one.mean_interval
    return high - low


def test_few_beginnings_say_little_about_the_mean():
    assert width(trust(4)) > 2 * width(trust(16)) > 0
    low, high = trust(15).mean_interval
    assert low < -150.0 < high
    assert width(trust(15)) == pytest.approx(2 * 2.14 * 90.0 / np.sqrt(15), rel=0.25)


def test_functions_that_differ_say_little_about_it_either():
    apart = RETURNS + np.linspace(-100, 100, 8)[:, None]
    assert width(trust(1000, apart)) > 5 * width(trust(1000))


def test_few_jumps_of_a_reference_say_little_about_it_either():
    few = replace(trust(1000), rare=50.0)
    assert width(few) == pytest.approx(2 * 1.96 * np.hypot(width(trust(1000)) / 3.92, 50.0), rel=0.01)


def test_models_that_lack_some_data_and_disagree_say_little_about_it_either():
    mean = trust(1000).mean
    apart = replace(trust(1000), others=mean - np.array([0.0, 40.0, 50.0, 60.0, 300.0]))
    assert width(apart) == pytest.approx(2 * 1.96 * np.hypot(width(trust(1000)) / 3.92, 2 * 50.0), rel=0.01)


def test_rewards_beyond_all_that_were_seen_are_within_the_interval():
    low, high = trust(15).mean_interval
    beyond = replace(trust(15), ends=(trust(15).mean - 100.0, trust(15).mean + 30.0), most=0.0)
    assert beyond.mean_interval == pytest.approx((low - 100.0, min(high + 30.0, 0.0)))


@pytest.mark.parametrize(("others", "doubted"), [([-150, -149, -160, -151, -900], False), ([-150, -300, -150, -151, -280], True)])
def test_two_of_five_models_that_lack_some_data_and_call_the_controller_worse_are_a_doubt(others, doubted):
    one = Trust(1000, 30, np.full((8, 50), -150.0), -1200.0, tried(-150.0), {}, {}, others=np.array(others, float))
    told = ["it rests on few episodes, models without a fifth of the data say -300 to -150: more samples"]
    assert list(one.doubts) == (told if doubted else [])


def test_noise_is_a_doubt_until_laws_have_earned_as_predicted_for_a_hundred_steps():
    noisy = Trust(1000, 30, np.full((8, 50), -150.0), -1200.0, None, {"speed": 0.7, "angle": 0.1}, {})
    line = "the model cannot predict speed (70 %): measure what drives it, or more samples"
    assert noisy.doubts[-1] == line
    assert replace(noisy, tried=tried(-150.0)).doubts == ()  # 800 steps
    assert replace(noisy, tried=replace(tried(-150.0), steps=60)).doubts == (line,)
    assert replace(noisy, tried=tried(-300.0, predicted=-150.0)).doubts[-1] == line


def test_what_is_not_observed_is_a_doubt_and_no_noise():
    advice = Advice(("past(speed, 1)",), {"speed": (0.7, 0.1)})
    (line,) = Trust(1000, 30, np.full((8, 50), -150.0), -1200.0, tried(-150.0), {"speed": 0.7}, {}, advice=advice).doubts
    remembered = "something is not observed: a model that remembers the steps before would miss 10 % of the changes of speed"
    assert line == f"{remembered} instead of 70 %: measure it, or agent.with_memory()"
    assert "instead of 100 %" in str(Advice(("past(speed, 1)",), {"speed": (1.03, 0.1)}))  # worse than a guess of the mean


def test_it_is_said_with_the_number_of_beginnings():
    assert "(95 %: -2" in str(trust(15))
    assert "1,000 samples, 15 starts)" in str(trust(15))


def tried(earned, predicted=None, explained=None, promised=None, still=-1000.0, episodes=8, share=0.5):
    """Episodes of 100 steps that have earned so much each; by default every model is right about them."""
    told = [earned if one is None else one for one in (predicted, explained, promised)]
    arrays = [np.full((3, episodes), one) for one in (*told, still)]
    return Tried(100 * episodes, np.full(episodes, earned), *arrays, share)


def doubts(one):
    return Trust(1000, 30, np.full((8, 50), -150.0), -1200.0, one, {}, {}).doubts


def test_trials_disappoint_if_the_plant_pays_on_average_what_the_model_calls_rare():
    promised = np.tile(np.linspace(-60.0, -50.0, 8), (3, 1))

    def disappoint(earned, episodes):
        return tried(earned, promised[:, :episodes], episodes=episodes).disappoints(45.0)

    assert disappoint(-81.0, 8)
    assert not disappoint(-57.0, 8)
    assert not disappoint(-81.0, 1)  # one episode may be an unlucky one
    assert disappoint(-110.0, 1)


def test_trials_as_predicted_are_no_doubt():
    assert doubts(tried(-150.0)) == ()


def test_trials_that_the_model_before_them_got_wrong_are_a_doubt():
    (line,) = doubts(tried(-300.0, predicted=-150.0))
    assert line == "laws earned -300 on the plant, -150 were predicted: learn once more"


def test_trials_that_even_the_model_of_all_data_cannot_explain_are_a_doubt():
    (line,) = doubts(tried(-300.0, predicted=-150.0, explained=-150.0))
    assert line.startswith("laws earned -300 on the plant, the model explains -150: measure what differs")


def test_laws_that_promise_far_more_than_any_have_earned_are_a_doubt():
    (line,) = doubts(tried(-900.0, promised=-150.0))
    assert line == "untried, laws have earned -900 on the plant, and these promise -150: learn once more"


def test_a_return_that_comes_after_the_last_step_that_laws_have_controlled_is_a_doubt():
    (line,) = doubts(tried(-100.0, still=-100.0))
    assert line == "untried, in the 800 steps of its trials a constant action would have earned about as much: learn once more"


def test_no_return_is_expected_above_what_all_steps_together_could_pay():
    wide = Trust(300, 3, RETURNS, -1200.0, None, {}, {}, most=0.0)
    assert wide.mean_interval[1] == 0.0
    assert trust(3).mean_interval[1] > 0.0


def test_leaving_the_states_that_were_seen_is_a_doubt():
    one = Trust(1000, 30, np.full((8, 50), -150.0), -1200.0, tried(-150.0), {}, {}, leaving=0.3)
    assert one.doubts == ("it leaves the data in 30 % of the episodes: more samples, or a limit",)
    assert replace(one, leaving=0.05).doubts == ()


def test_it_is_told_in_eight_lines_at_most():
    many = {f"speed in {i} ... {i + 1}": 0.5 for i in range(20)}
    one = Trust(300, 8, np.full((8, 50), 90.0), -2.0, tried(20.0), {}, {"speed": 1.0}, broken=many, leaving=1.0)
    assert len(one.doubts) > 20
    assert len(str(one).splitlines()) == 8
    assert "more: trust().doubts" in str(one)
    assert len(str(replace(one, broken={}, leaving=0.0, tried=tried(90.0))).splitlines()) == 5


def test_every_doubt_says_what_to_do():
    one = Trust(300, 8, RETURNS, -160.0, None, {"speed": 0.9}, {}, leaving=1.0, broken={"speed < 1": 0.3})
    assert len(one.doubts) > 5
    assert all(": " in line for line in one.doubts)


def test_a_table_has_no_doubts_about_trials_which_only_laws_have():
    table = Trust(300, 8, np.full((8, 50), 90.0), -2.0, None, {}, {}, table=True)
    assert table.doubts == ()
    assert replace(table, table=False).doubts != ()


def test_no_return_is_expected_below_what_all_steps_together_could_cost():
    assert replace(trust(3), least=-200.0).mean_interval[0] == -200.0
    assert trust(3).mean_interval[0] < -200.0


def test_a_controller_that_is_a_constant_action_but_for_rounding_is_no_better_than_one():
    one = Trust(300, 8, np.full((8, 50), 90.0), 90.0 - 1e-9, tried(40.0, promised=90.0, still=90.0), {}, {})
    assert one.doubts == ("in the model it is no better than a constant action: more samples",)
    left = replace(one, leaving=1.0)
    assert left.doubts[0].startswith("it leaves the data in 100 % of the episodes")
    assert left.doubts[1:] == one.doubts


@pytest.mark.slow
def test_the_best_constant_action_earns_in_the_model_what_is_said_of_it():
    """A constant that was judged in other episodes was now better than itself, now worse, and had absurd doubts."""
    agent = spaql.Atlas(spaql.make("pendulum"), seed=0, controller="laws")
    agent.learn(samples=60)
    told = []
    for action in constant_actions(agent.problem):
        agent.state.laws, agent.state.trust = Grown(60, ScoredTree(constant(3, action), 0.0)), None
        told.append(agent.trust())
    best = max(told, key=lambda one: one.mean)
    assert best.mean == pytest.approx(best.floor, rel=1e-12)
    assert best.doubts[-1] == "in the model it is no better than a constant action: more samples"
