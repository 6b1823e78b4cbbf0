"""The worst of the points that stand for episodes: uniform numbers of a start, and keys of the streams of their parts.

An evolution strategy begins with points that are known to be bad, with random ones, and with some on the edges of the
cube, where ranges end; then it mixes and moves the worst. How far it moves them is drawn anew for every child, over
three orders of magnitude, so that nothing must be tuned.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.progress import at_work

SEARCHED = "searching for the worst episode"
GENERATION = 128  # episodes at a time, at least: as many as run side by side
GENERATIONS = 64  # of a long search
KEPT = 16  # of the worst episodes, from which the next ones are made
EXPLORED = 0.25  # share of the episodes that do not come from others
NEW = 0.1  # share of a generation that does not come from others
EDGE = 0.001  # numbers stay so far from 0 and 1: what is normal is then at most 3.7 standard deviations away
SMALLEST, LARGEST = 0.001, 0.5  # standard deviations of moves
LIKELY = 0.5  # chances where one thing is as good as another


class Points(NamedTuple):
    """Episodes on a compiled plant, a row each."""

    starts: Array  # (n, numbers of a start) uniform numbers
    blocks: Array  # uint64 (n, parts) keys of streams

    def take(self, rows: Any) -> "Points":
        return Points(self.starts[rows], self.blocks[rows])


class Outcomes(NamedTuple):
    """What came of them."""

    returns: Array
    rows: Array  # of the tally
    badness: Array  # what is searched for: the higher, the worse

    def take(self, rows: Any) -> "Outcomes":
        return Outcomes(*(column[rows] for column in self))


Trial = Callable[[Points], Outcomes]


def search(
    trial: Trial, known: Points, noisy: bool, episodes: int, rng: np.random.Generator
) -> tuple[Points, Outcomes]:
    """The worst point, and what came of it. `known`: where to begin; `noisy`: steps are random too, not only starts."""
    size, parts = known.starts.shape[1], known.blocks.shape[1]
    kept, outcomes, tried, usual = known.take(slice(0, 0)), None, 0, max(GENERATION, episodes // GENERATIONS)
    while tried < episodes:
        at_work(SEARCHED, tried, episodes)
        n = min(usual, episodes - tried)
        if outcomes is None:
            points = _together(known.take(slice(0, n)), _random(max(0, n - len(known.starts)), size, parts, rng))
        elif tried < EXPLORED * episodes:
            points = _random(n, size, parts, rng)
        else:
            new = int(NEW * n)
            points = _together(_children(kept, n - new, noisy, rng), _random(new, size, parts, rng))
        came = trial(points)
        points = _together(kept, points)
        if outcomes is not None:
            came = Outcomes(*(np.concatenate(pair) for pair in zip(outcomes, came, strict=True)))
        order = _worst_different(points, came.badness)
        kept, outcomes, tried = points.take(order), came.take(order), tried + n
    assert outcomes is not None
    return kept.take(slice(0, 1)), outcomes.take(slice(0, 1))


def _worst_different(points: Points, badness: Array) -> list[int]:
    """Which are kept: the worst, each once, or copies of one would soon be all."""
    different: dict[tuple[bytes, bytes], int] = {}
    for row in np.argsort(-badness, kind="stable").tolist():
        different.setdefault((points.starts[row].tobytes(), points.blocks[row].tobytes()), row)
        if len(different) == KEPT:
            break
    return list(different.values())


def _together(first: Points, other: Points) -> Points:
    return Points(np.concatenate([first.starts, other.starts]), np.concatenate([first.blocks, other.blocks]))


def _random(n: int, size: int, parts: int, rng: np.random.Generator) -> Points:
    """Half of them anywhere, half of them with some numbers at the ends of their ranges."""
    starts = rng.uniform(EDGE, 1.0 - EDGE, (n, size))
    ends = np.where(rng.random((n, size)) < LIKELY, EDGE, 1.0 - EDGE)
    at_end = (rng.random((n, size)) < LIKELY) & (rng.random((n, 1)) < LIKELY)
    return Points(np.where(at_end, ends, starts), _keys((n, parts), rng))


def _keys(shape: tuple[int, int], rng: np.random.Generator) -> Array:
    return rng.integers(0, 2**64, shape, np.uint64)


def _children(kept: Points, n: int, noisy: bool, rng: np.random.Generator) -> Points:
    """Each from one of the worst: mixed with another one or not, its start moved, or another part of it drawn anew."""
    size, parts = kept.starts.shape[1], kept.blocks.shape[1]
    parent, other = kept.take(rng.integers(0, len(kept.starts), n)), kept.take(rng.integers(0, len(kept.starts), n))
    mixed = rng.random((n, 1)) < LIKELY
    starts = np.where(mixed & (rng.random((n, size)) < LIKELY), other.starts, parent.starts)
    later = np.arange(parts) >= rng.integers(0, parts + 1, (n, 1))  # from some part on the other one's
    blocks = np.where(mixed & later, other.blocks, parent.blocks)
    redraw = (rng.random((n, 1)) < LIKELY) & noisy | (size == 0)
    drawn = np.arange(parts) == rng.integers(0, parts, (n, 1))
    blocks = np.where(redraw & drawn, _keys((n, parts), rng), blocks)
    scale = np.exp(rng.uniform(np.log(SMALLEST), np.log(LARGEST), (n, 1)))
    alone = np.arange(size) == rng.integers(0, max(size, 1), (n, 1))
    moves = ~redraw & (alone | (rng.random((n, 1)) < LIKELY))  # one number of the start, or all
    moved = np.clip(starts + scale * rng.normal(size=(n, size)), EDGE, 1.0 - EDGE)
    return Points(np.where(moves, moved, starts), blocks)
