"""Policies in JSON that somebody has tampered with: each is refused in one line, or is a sound policy."""

import copy

import pytest

import spaql
from spaql.policy.policy import Policy

JUNK = [
    None, True, False, 0, -1, 1, 10**30, 1e308, "", "x", "\ud800", "a\nb", [], [1], {}, {"a": 1}, 0.5, "9" * 2000, [[[]]],
    -(2**31), 2**31, [None] * 21,
]  # fmt: skip


def checked(error):
    message = str(error)
    assert message
    assert "\n" not in message
    assert len(message) < 500
    return message


def refused(text, problem=None):
    with pytest.raises(spaql.SpaqlError) as error:
        Policy.from_json(text, problem)
    return checked(error.value)


def loaded_or_refused(text):
    try:
        return Policy.from_json(text)
    except spaql.SpaqlError as error:
        checked(error)
        return None


def places(told, at=()):
    """The paths of everything inside."""
    yield at
    inside = told.items() if isinstance(told, dict) else enumerate(told) if isinstance(told, list) else ()
    for key, value in inside:
        yield from places(value, (*at, key))


def mutated(told, rng):
    """With something in it replaced, removed, doubled or swapped."""
    told = copy.deepcopy(told)
    paths = [path for path in places(told) if path]
    for _ in range(int(rng.integers(1, 4))):
        path = paths[int(rng.integers(len(paths)))]
        parent = told
        try:
            for key in path[:-1]:
                parent = parent[key]
            how = rng.integers(4)
            if how == 0:
                parent[path[-1]] = JUNK[int(rng.integers(len(JUNK)))]
            elif how == 1:
                del parent[path[-1]]
            elif how == 2 and isinstance(parent, list):
                parent.insert(path[-1], copy.deepcopy(parent[path[-1]]))
            else:
                keys = list(parent) if isinstance(parent, dict) else range(len(parent))
                other = list(keys)[int(rng.integers(len(keys)))]
                parent[path[-1]], parent[other] = parent[other], parent[path[-1]]
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change has taken the place away
    return told
