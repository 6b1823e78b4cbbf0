"""Long tests are skipped unless `--slow` is given. One browser serves all tests of pages. Searches can be made quick."""

import os
import signal
from collections import Counter

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: on small matrices its threads wait for each other

import pytest

import spaql
from browser import browser  # noqa: F401
from spaql.laws import in_model

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # so shells start what runs in the background of a script
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests press Ctrl-C, here and in processes they start


# Of these tests, which have many parameters and take long, the first few run every time, and all by `make test-all`.
FEW = {
    "test_number_of_leaves_at_checkpoints": 4,
    "test_every_learner_on_every_problem": 40,
    "test_slopes_of_both_hold_the_mean_value_theorem": 4,
    "test_no_point_is_outside_of_its_enclosure": 4,
    "test_ranges_hold_exact_values": 3,
    "test_c_does_what_the_policy_does_on_a_million_states_to_the_bit": 4,
    "test_c_in_single_precision_differs_by_rounding_alone": 4,
    "test_python_does_what_the_policy_does": 8,
    "test_structured_text_does_what_the_policy_does": 4,
    "test_it_does_what_the_policy_does": 4,
    "test_no_state_is_outside_of_the_sets_after_some_steps": 3,
    "test_boxes_hold_every_difference_that_dense_sampling_finds": 20,
    "test_every_box_has_a_difference_in_it": 10,
    "test_a_full_disk_is_one_line_that_says_what_to_do_and_leaves_nothing_half": 3,
    "test_what_a_step_gives_is_defined_everywhere": 2,
    "test_a_goal_without_an_inside_is_not_reached": 1,
    "test_spaql_train_trains_it": 3,
    "test_c_holds_the_last_action_and_keeps_its_memory": 4,
    "test_whatever_comes_in_one_of_the_actions_comes_out": 4,
    "test_a_signal_while_modules_are_loaded_is_one_line": 3,
    "test_a_file_teaches_what_updates_teach": 4,
    "test_a_certificate_that_says_more_of_what_is_reached_is_refused": 6,
    "test_no_damage_makes_a_certificate_say_more": 1,
    "test_what_an_episode_breaks_by_a_billionth_is_never_proven": 1,
    "test_seventy_actions_are_divided_until_each_is_alone": 2,
    "test_next_state_is_gymnasiums": 5,
    "test_greedy_leaf_is_the_last_of_the_best": 5,
    "test_without_next_columns_the_next_row_serves": 6,
    "test_no_change_is_left_out_within_the_bounds": 4,
    "test_the_returns_are_those_of_one_by_one": 3,
    "test_predict_carries_the_memory": 1,
    "test_what_goes_wrong_in_a_worker_is_one_clear_message": 1,
    "test_observations_that_are_not_finite_are_refused_in_one_line": 24,
    "test_the_compiled_plant_and_gymnasiums_loop_teach_the_same_bits": 12,
    "test_saved_and_loaded_in_the_middle_learning_goes_on_as_if_nothing_had_happened": 24,
    "test_same_seed_same_bits_in_the_compiled_loop_and_in_gymnasiums": 30,
    "test_it_keeps_its_promises_in_random_episodes": 6,
    "test_boltzmann_probabilities": 10,
    "test_they_act_and_explain_the_same": 8,
    "test_one_to_six_state_variables": 20,
    "test_several_continuous_actions": 8,
    "test_a_killed_program_has_its_log_to_the_last_step_and_the_machine_stops": 1,
}


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="also run the tests marked slow")


def pytest_collection_modifyitems(config, items):
    items.sort(key=lambda item: "test_docs.py" not in item.nodeid)  # the longest first: at the end one worker would wait
    if config.getoption("--slow"):
        return
    skip, seen = pytest.mark.skip(reason="long; run with --slow"), Counter()
    for item in items:
        seen[item.location[0], item.originalname] += 1
        beyond = seen[item.location[0], item.originalname] > FEW.get(item.originalname, len(items))
        if beyond or item.get_closest_marker("slow"):
            item.add_marker(skip)


@pytest.fixture
def quick_search(monkeypatch):
    """A three-hundredth of the search for laws in a model: for tests that are not about the last tenth of the return.

    And no doubts after `learn`, which ask the model for seconds; `trust()` is as always.
    """
    monkeypatch.setattr(spaql.Atlas, "remarks", lambda agent, hurry=False, fresh=None: ())
    monkeypatch.setattr(in_model, "SEARCH_KERNELS", 2e7)
    monkeypatch.setattr(in_model, "LOOK_AHEAD_KERNELS", 1e7)
