"""Agent files taken apart, changed and put together again, as a hostile hand would."""

import io
import json
import zipfile

import numpy as np

import spaql

NASTY_VALUES = (
    None, True, -1, 0, 10**30, 1e308, float("nan"), float("inf"), "x", "", [], {}, [1] * 50, {"a": 1}, "9" * 1000, 2**31, -0.0,
)  # fmt: skip
NASTY_FLOATS = (0.0, -1.0, 1e99, -1e99, 1e300, -1e300, 1e-320, 1e18, np.nan, np.inf)


# -- files and their members -------------------------------------------------------------------------------------------


def members(content):
    """The files in the zip archive that an agent's file is."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(parts):
    """The bytes of an agent's file with these members: their checksums are right."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def array_bytes(array):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), allow_pickle=False)
    return buffer.getvalue()


def array_of(data):
    return np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)


def load_bytes(folder, content):
    path = folder / "x.spaql"
    path.write_bytes(content)
    return spaql.load(path)


# -- mutations ---------------------------------------------------------------------------------------------------------


def mutated_bytes(content, rng):
    """The file with a few bytes changed, cut out or put in."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at = rng.randrange(len(data))
        kind = rng.randrange(4)
        if kind == 0:
            data[at] = rng.randrange(256)
        elif kind == 1:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            del data[at : at + rng.randrange(1, 50)]
        else:
            data[at:at] = rng.randbytes(rng.randrange(1, 20))
    return bytes(data)


def mutated_json(value, rng):
    """The same structure with one leaf replaced by something nasty."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        if rng.random() < 0.1:
            return {k: v for k, v in value.items() if k != key}
        return value | {key: mutated_json(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        return [*value[:at], mutated_json(value[at], rng), *value[at + 1 :]]
    return rng.choice(NASTY_VALUES)


def mutated_array(array, rng):
    """The array with a few nasty numbers, or cut off."""
    array = array.copy()
    for _ in range(rng.choice((1, 1, 10))):
        if array.dtype == np.int32:
            nasty = [0, 1, -1, 2**31 - 1, -(2**31), rng.randrange(array.size)]
            array.flat[rng.randrange(array.size)] = rng.choice(nasty)
        else:
            array.flat[rng.randrange(array.size)] = rng.choice(NASTY_FLOATS)
    return array[: rng.randrange(len(array) + 1)] if rng.random() < 0.1 else array


def mutated_description(content, rng):
    """The file with something nasty in its description, and sound checksums."""
    parts = members(content)
    return packed(parts | {"meta.json": json.dumps(mutated_json(json.loads(parts["meta.json"]), rng))})


def mutated_numbers(content, rng, names=None):
    """The file with nasty numbers in one of its arrays, or in one of the named ones, and sound checksums."""
    parts = members(content)
    name = rng.choice(names or [name for name in parts if name.endswith(".npy")])
    return packed(parts | {name: array_bytes(mutated_array(array_of(parts[name]), rng))})


# -- what must come of it ----------------------------------------------------------------------------------------------


def exercise(agent):
    """Everything compiled code does with a loaded agent."""
    agent.predict(np.zeros(len(agent.problem.state)))
    if not agent.card.model_based:
        agent.leaves()
    elif agent.state.memory.n:  # without data it has nothing to show
        agent.leaves()
        agent.policy().why(np.zeros(len(agent.problem.state)))
    if agent.problem.can_run:
        agent.learn(1, rollouts=2 if agent.card.judged else None)
        agent.evaluate(2)


def refusals(contents, folder):
    """How many of these files our own error refuses; the others are used, and nothing else may come of any."""
    refused = 0
    for content in contents:
        try:
            exercise(load_bytes(folder, content))
        except spaql.SpaqlError:
            refused += 1
    return refused
