"""Counter-based random numbers: any number of any stream at any time, so nothing depends on the order of computing.

A stream is a 64-bit key; its i-th number is a hash of key and i (SplitMix64). Keys are derived from the seed by
purpose, iteration and rollout.
"""

import numpy as np

from spaql.ground.compiling import entry, inlined

# Purposes of streams: training and selection never share a stream with the evaluation that is reported.
TRAIN_PLANT = 1  # start states and noise of training episodes
TRAIN_ACTION = 2  # exploration in training episodes
SELECT_PLANT = 3  # start states and noise of the evaluation rollouts that select the best agent
SELECT_ACTION = 4  # actions of these rollouts
FRESH_PLANT = 5  # start states and noise of `evaluate`
FRESH_ACTION = 6  # actions of `evaluate`
PREDICT = 7  # actions of `predict`
PLAN = 9  # not 8: another number would be another stream for every seed
# of the search for laws: none of its parts is judged on episodes that another part has seen
LAWS_SEARCHED = 21  # episodes of the generations of optimisers
LAWS_CHOSEN = 22  # on which candidates are ranked
LAWS_MINED = 23  # among which hard starts are looked for
LAWS_TIDIED = 24  # on which tidying is judged
LAWS_POLISHED = 25  # on which tidying polishes
LAWS_CONFIRMED = 26  # on which tidy trees are compared
LAWS_REST = 27  # that use up a budget
LAWS_TAUGHT = 28  # of a teacher
LAWS_PLANNED = 29  # of sampled look-ahead
FALSIFIED = 30  # of the search for the worst episode
LAWS_PROVABLE = 31  # changes of a law of which more shall be proven

# Offsets within a purpose: parts that share a purpose never share an episode, or a seed.
STAGE_EPISODES = 2**32  # the episodes of a stage of laws begin at its number times this
LESSON_STAGE = 2**16  # added to a stage's number: its searches that follow lessons
FIRST_STAGE = 2**20  # the number of what comes before the first stage: units, constant actions
PRICE_STAGE = 2**21  # of a search for the price of limits, and its first episode
RACE_EPISODES = 2**40  # first episode of a race in a slow simulator
FRESH_SEED = 2**41  # seed of start states that neither the search for small trees nor usage has seen
ARENA_SEED = 2**42  # added to the seed: start states of searches for small trees
GRID_EPISODES = 2**61  # first episode of a grid of P and PI laws
RECORDED_EPISODES = 2**62  # first episode recorded for a local linear model

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_SALT = np.uint64(0xD1342543DE82EF95)
_30, _27, _31, _11, _33 = (np.uint64(n) for n in (30, 27, 31, 11, 33))


@inlined
def _scramble(z: np.uint64) -> np.uint64:
    z = (z ^ (z >> _30)) * _MIX1
    z = (z ^ (z >> _27)) * _MIX2
    return z ^ (z >> _31)


@entry
def derive(key: np.uint64, index: int) -> np.uint64:
    """The key of sub-stream `index`."""
    return _scramble((key ^ _SALT) + np.uint64(index) * _STEP) ^ _scramble(key + _MIX1)


@inlined
def uniform(key: np.uint64, index: int) -> float:
    """The `index`-th number of a stream, in [0, 1)."""
    bits = _scramble(key + (np.uint64(index) + np.uint64(1)) * _STEP) >> _11
    return float(np.int64(bits)) * (1.0 / 9007199254740992.0)  # 53 bits, times 2**-53


@entry
def stream(seed: int, purpose: int, iteration: int) -> np.uint64:
    """The key of one purpose in one iteration."""
    return derive(derive(derive(np.uint64(0), seed), purpose), iteration)


@entry
def plant_seed(seed: int, purpose: int, iteration: int) -> np.uint64:
    """Seed of the plant: 31 bits, because that is what every Gymnasium environment's `reset(seed=...)` accepts."""
    return stream(seed, purpose, iteration) >> _33


def key_of(seed: int, purpose: int, iteration: int) -> np.uint64:
    """`stream` for Python: compiled functions return plain integers, which would not be unsigned again."""
    return np.uint64(stream(seed, purpose, iteration))


def sub_key(key: np.uint64, index: int) -> np.uint64:
    """`derive` for Python."""
    return np.uint64(derive(key, index))
