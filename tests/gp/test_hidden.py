"""What is not observed shows in what was seen and applied before; noise does not."""

import numpy as np
import pytest

from spaql.gp.hidden import hidden_in
from spaql.gp.model import learn_model, numbers_of
from spaql.gp.transitions import Data, shifts_of, without_begins

LOW, HIGH = np.array([-1.0]), np.array([1.0])


def episodes(step, hidden, noise=0.0, count=8, length=30, seed=0):
    """Random actions, each held for up to three steps; only the first variable is seen. `hidden(rng)`: the others."""
    rng, rows = np.random.default_rng(seed), []
    for _ in range(count):
        x, u, others, seen = rng.uniform(-1, 1), 0.0, hidden(rng), None
        for k in range(length):
            u = rng.uniform(-1, 1) if k % 3 == 0 else u
            before = x + noise * rng.standard_normal() if seen is None else seen
            x, others = step(x, u, others)
            seen = x + noise * rng.standard_normal()
            rows.append(([before], [u], -x * x, [seen], False))
    return Data(*(np.array(column) for column in zip(*rows, strict=True)))


def found_in(data):
    return hidden_in(learn_model(data, LOW, HIGH, paid=False, ends=False), data, [0])


def late(x, u, queue):
    """What is applied arrives three steps later."""
    return 0.9 * x + 0.2 * queue[0], [*queue[1:], u]


def loaded(x, u, load):
    """A load that differs from episode to episode."""
    return 0.9 * x + 0.2 * u + load, load


def plain(x, u, nothing):
    return 0.9 * x + 0.2 * u, nothing


def test_a_dead_time_is_seen_in_the_actions_before():
    (hidden,) = found_in(episodes(late, lambda rng: [0.0, 0.0, 0.0]))
    assert hidden.variable == 0
    assert hidden.remaining < 0.05
    assert hidden.missed > 0.3
    assert [(value.applied, value.steps) for value in hidden.recalled] == [(True, 3)]


def test_a_load_is_seen_in_the_step_before():
    (hidden,) = found_in(episodes(loaded, lambda rng: rng.uniform(-0.1, 0.1)))
    assert hidden.remaining < 0.05
    assert hidden.missed > 0.2
    assert {(value.applied, value.steps) for value in hidden.recalled} == {(False, 1), (True, 1)}


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.1])
def test_nothing_is_hidden_behind_noise_of_a_sensor(noise):
    assert found_in(episodes(plain, lambda rng: None, noise)) == []


def test_episodes_of_few_steps_tell_nothing():
    assert found_in(episodes(late, lambda rng: [0.0, 0.0, 0.0], count=60, length=4)) == []


def test_what_is_remembered_follows_exactly():
    data = episodes(loaded, lambda rng: rng.uniform(-0.1, 0.1))
    kept = np.arange(len(data.states)) % 30 > 0  # not the first steps: nothing was before them
    before = np.column_stack([data.states, np.roll(data.states, 1, axis=0), np.roll(data.actions, 1, axis=0)])
    after = np.column_stack([data.nexts, data.states, data.actions])
    steps = Data(before[kept], data.actions[kept], data.rewards[kept], after[kept], data.ended[kept])
    assert shifts_of(steps).tolist() == [-1, 0, 3]
    learned = learn_model(steps, LOW, HIGH, paid=False, ends=False)
    numbers = numbers_of(learned, steps, steps.states[:5], 1, np.zeros((0, 4)), np.random.default_rng(0))
    assert numbers.shift.tolist() == [0, 1, 4]
    for j in (1, 2):
        assert numbers.weights[j].size == 0
        assert numbers.noise[j] == numbers.blur[j] == 0.0


def remembering(data, length=30):
    """What was seen and applied before, too; at the beginning of an episode as a loop has it, which is made up."""
    first = np.arange(len(data.states)) % length == 0
    seen, applied = np.roll(data.states, 1, axis=0), np.roll(data.actions, 1, axis=0)
    seen[first], applied[first] = data.states[first], 0.0
    states, nexts = np.column_stack([data.states, seen, applied]), np.column_stack([data.nexts, data.states, data.actions])
    return Data(states, data.actions, data.rewards, nexts, data.ended), first


def test_first_steps_whose_memory_is_made_up_are_not_learned_from():
    data, first = remembering(episodes(loaded, lambda rng: rng.uniform(-0.1, 0.1)))
    shifts = shifts_of(data)
    assert np.array_equal(without_begins(data, shifts).states, data.states[~first])
    (scales, *_) = learn_model(data, LOW, HIGH, paid=False, ends=False).scales
    assert np.exp(scales.noise) < 0.01  # with what came before, the load is known


def test_a_memory_of_a_memory_begins_a_step_later():
    data, first = remembering(episodes(plain, lambda rng: None, length=5, count=4), 5)
    older = np.roll(data.states[:, 1:2], 1, axis=0)
    deep = data._replace(states=np.column_stack([data.states, older]), nexts=np.column_stack([data.nexts, data.states[:, 1]]))
    late = np.arange(len(first)) % 5 >= 2
    assert np.array_equal(without_begins(deep, np.array([-1, 0, 4, 1])).states, deep.states[late])


def test_without_memory_every_step_counts():
    data = episodes(plain, lambda rng: None)
    assert len(without_begins(data, np.array([-1])).states) == len(data.states)


def test_a_switch_that_happens_to_follow_another_is_no_memory():
    rng = np.random.default_rng(0)
    one = rng.integers(0, 2, 50).astype(float)
    data = Data(np.column_stack([one, one]), rng.uniform(-1, 1, (50, 1)), one, np.column_stack([1 - one, one]), np.zeros(50, bool))
    assert shifts_of(data).tolist() == [-1, -1]
