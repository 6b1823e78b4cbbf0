"""Values at support points, interpolated in between by convex weights. See docs/atlas-table.md."""

from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import inlined, kernel
from spaql.learners.atlas.cell_model import CellModel, cell_of, predict, width_of
from spaql.learners.atlas.support import Support
from spaql.trees.tree import LEAF

# in (24): how much weights prefer near support points to an exact centre of gravity
LOCALITY_WEIGHT = 0.5
WEIGHT_SWEEPS = 20  # of the coordinate descent for the weights, at most
WEIGHT_TOLERANCE = 1e-3  # it ends when no weight has changed by more; smaller weights are dropped
# sweeps that evaluate a policy before the next is chosen; even, so that choosing ones alternate
EVALUATION_SWEEPS = 6


class Work(NamedTuple):
    """Working memory of one interpolation: K nearest support points and their weights."""

    neighbour: Array  # (K,) nearest support points, nearest first
    distance: Array  # (K,) squared
    weight: Array  # (K,)
    gram: Array  # (K, K) quadratic form of (24)
    stack: Array  # nodes that wait in the search for neighbours
    vectors: Array  # (3, width of the maps) states


def new_work(support: Support, k: int) -> Work:
    stack = np.zeros(len(support.nodes), np.int64)
    vectors = np.zeros((3, width_of(support.points.shape[1])))
    return Work(np.zeros(k, np.int64), np.zeros(k), np.zeros(k), np.zeros((k, k)), stack, vectors)


@inlined
def _box_distance(support: Support, node: int, z: Array, limit: float) -> float:
    """Squared distance from z to the box of the points below a node, or at least `limit`."""
    total = 0.0
    for j in range(len(z)):
        gap = max(support.low[node, j] - z[j], z[j] - support.high[node, j], 0.0)
        total += gap * gap
        if total >= limit:
            break
    return total


@inlined
def nearest(support: Support, z: Array, work: Work) -> int:
    """The K nearest support points, nearest first, into `work`. Returns how many."""
    k, count = len(work.neighbour), 0
    work.stack[0] = 0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = work.stack[waiting]
        limit = work.distance[k - 1] if count == k else np.inf
        if _box_distance(support, node, z, limit) >= limit:
            continue
        while support.nodes[node].feature != LEAF:  # the side of z first; the other side waits
            low, high = support.nodes[node].low, support.nodes[node].high
            above = z[support.nodes[node].feature] >= support.nodes[node].cut
            node = high if above else low
            work.stack[waiting] = low if above else high
            waiting += 1
        point, total = support.of_node[node], 0.0
        for j in range(len(z)):
            gap = z[j] - support.points[point, j]
            total += gap * gap
        if count < k or total < work.distance[k - 1]:
            place = count if count < k else k - 1
            count = min(count + 1, k)
            while place > 0 and work.distance[place - 1] > total:
                work.distance[place] = work.distance[place - 1]
                work.neighbour[place] = work.neighbour[place - 1]
                place -= 1
            work.distance[place], work.neighbour[place] = total, point
    return count


@inlined
def weigh(support: Support, z: Array, n: int, work: Work) -> None:
    """(24) Convex weights of the n nearest support points, w >= 0, sum w = 1, with the least
    |sum w D|^2 + h^2 (sum w - 1)^2 + LOCALITY_WEIGHT sum |D|^2 w^2,
    where D = support point - z and h is the largest |D|.

    Coordinate descent; weights become exactly convex by dividing by their sum.
    """
    d, h2, total = len(z), max(work.distance[n - 1], 1e-12), 0.0
    for i in range(n):
        for j in range(i + 1):
            product = h2
            for q in range(d):
                gap = support.points[work.neighbour[i], q] - z[q]
                product += gap * (support.points[work.neighbour[j], q] - z[q])
            if i == j:
                product += LOCALITY_WEIGHT * work.distance[i] + 1e-6 * h2
            work.gram[i, j] = work.gram[j, i] = product
        work.weight[i] = 1.0 / (work.distance[i] + 0.01 * h2)
        total += work.weight[i]
    for i in range(n):
        work.weight[i] /= total
    for _ in range(WEIGHT_SWEEPS):
        moved = 0.0
        for i in range(n):
            slope = -h2
            for j in range(n):
                slope += work.gram[i, j] * work.weight[j]
            new = max(0.0, work.weight[i] - slope / work.gram[i, i])
            moved = max(moved, abs(new - work.weight[i]))
            work.weight[i] = new
        if moved < WEIGHT_TOLERANCE:
            break
    total = 0.0
    for i in range(n):
        work.weight[i] = work.weight[i] if work.weight[i] >= WEIGHT_TOLERANCE else 0.0
        total += work.weight[i]
    for i in range(n):
        work.weight[i] /= total


class Links(NamedTuple):
    """Where every action leads from every support point, and what it earns on the way."""

    reward: Array  # (m, actions) R of (25)
    discount: Array  # (m, actions) gamma^k of (26); 0 where the episode ends
    arrivals: Array  # (m, actions) number of support points with a weight
    target: Array  # (m, actions, K) these support points
    weight: Array  # (m, actions, K) their weights


def new_links(m: int, actions: int, neighbours: int) -> Links:
    shape = (m, actions)
    counts, targets = np.zeros(shape, np.int32), np.zeros((*shape, neighbours), np.int32)
    return Links(np.zeros(shape), np.zeros(shape), counts, targets, np.zeros((*shape, neighbours)))


@kernel
def link(
    model: CellModel, support: Support, gamma: float, hold: int, links: Links, work: Work
) -> None:  # fmt: skip
    """Apply every action at every support point until its cell is left, at most `hold` steps.

    A state in the same cell would take its value from where it came from: values would blur.
    """
    d = support.points.shape[1]
    z, after = work.vectors[0, :d], work.vectors[1]
    for i in range(len(support.points)):
        if support.ended[i] == 1:
            continue
        home = cell_of(support.cells, support.points[i])
        for action in range(len(model.features)):
            for j in range(d):
                z[j] = support.points[i, j]
            earned, g, ended = 0.0, 1.0, False
            for _ in range(hold):
                reward = predict(model, cell_of(model.nodes, z), z, model.features[action], after)
                earned += g * reward  # (25)
                end = cell_of(model.ends, after)
                if model.ending[end] == 1:
                    earned += g * model.last_reward[end]
                    ended = True
                    break
                g *= gamma
                for j in range(d):
                    z[j] = after[j]
                if cell_of(support.cells, z) != home:
                    break
            links.reward[i, action], links.discount[i, action] = earned, 0.0 if ended else g
            kept = 0
            if not ended:
                n = nearest(support, z, work)
                weigh(support, z, n, work)
                for j in range(n):
                    if work.weight[j] > 0.0:
                        links.target[i, action, kept] = work.neighbour[j]
                        links.weight[i, action, kept] = work.weight[j]
                        kept += 1
            links.arrivals[i, action] = kept


@inlined
def _q_of(links: Links, bonus: Array, value: Array, i: int, a: int) -> float:
    """(26) Q(i, a) = R + gamma^k sum w V. A `bonus` is earned on arrival instead of R."""
    own = len(bonus) == 0
    future, earned = 0.0, links.reward[i, a] if own else 0.0
    for j in range(links.arrivals[i, a]):
        weight, target = links.weight[i, a, j], links.target[i, a, j]
        future += weight * value[target]
        if not own:
            earned += weight * bonus[target]
    q: float = earned + links.discount[i, a] * future
    return q


@kernel
def iterate(
    links: Links, ended: Array, bonus: Array, value: Array, q: Array, best: Array, sweeps: int,
    tolerance: float
) -> int:  # fmt: skip
    """Modified policy iteration, Gauss-Seidel, to and fro: (27) in one sweep, then cheap sweeps of
    the chosen actions alone. Returns the sweeps it took.
    """
    m, actions = len(value), links.reward.shape[1]
    for sweep in range(sweeps):
        greedy = sweep % (1 + EVALUATION_SWEEPS) == 0
        moved, low, high = 0.0, np.inf, -np.inf
        for place in range(m):
            i = place if sweep % 2 == 0 else m - 1 - place
            if ended[i] == 1:
                continue
            if greedy:
                for a in range(actions):
                    q[i, a] = _q_of(links, bonus, value, i, a)
                    best[i] = a if a == 0 or q[i, a] > q[i, best[i]] else best[i]
                new = q[i, best[i]]  # (27) V(i) = max_a Q(i, a)
                moved = max(moved, abs(new - value[i]))
                low, high = min(low, new), max(high, new)
            else:
                new = _q_of(links, bonus, value, i, best[i])
            value[i] = new
        if greedy and moved <= tolerance * (high - low):
            return sweep + 1
    return sweeps


class Outlook(NamedTuple):
    """A model, and the values of the states it leads to."""

    model: CellModel
    support: Support
    value: Array  # (m,) by support point
    gamma: float
    rewarded: bool  # whether rewards count beside the values


@kernel
def look_ahead(outlook: Outlook, z: Array, q: Array, after: Array, work: Work) -> int:
    """One step with every action, then the interpolated value, into `q`. Returns the best action."""
    model, support, value, gamma = outlook.model, outlook.support, outlook.value, outlook.gamma
    cell, best, outputs = cell_of(model.nodes, z), 0, work.vectors[2]
    for action in range(len(model.features)):
        reward = predict(model, cell, z, model.features[action], outputs)
        for j in range(len(z)):
            after[action, j] = outputs[j]
        end, future = cell_of(model.ends, after[action]), 0.0
        if model.ending[end] == 1:
            reward += model.last_reward[end]
        else:
            n = nearest(support, after[action], work)
            weigh(support, after[action], n, work)
            for j in range(n):
                future += work.weight[j] * value[work.neighbour[j]]
        q[action] = reward + gamma * future if outlook.rewarded else future  # (29)
        if q[action] > q[best]:
            best = action
    return best


@kernel
def look_ahead_all(outlook: Outlook, states: Array, q: Array, after: Array, work: Work) -> None:
    """`look_ahead` at every state; Q into the rows of `q`."""
    for i in range(len(states)):
        look_ahead(outlook, states[i], q[i], after, work)


@kernel
def values_at(support: Support, value: Array, states: Array, values: Array, work: Work) -> None:
    """The value of the support point nearest to each state."""
    for i in range(len(states)):
        nearest(support, states[i], work)
        values[i] = value[work.neighbour[0]]


@kernel
def count_near(support: Support, data: Array, radius: float, counts: Array, work: Work) -> None:
    """How many states of the data lie within the radius of each support point."""
    limit = radius * radius
    for i in range(len(data)):
        work.stack[0] = 0
        waiting = 1
        while waiting > 0:
            waiting -= 1
            node = work.stack[waiting]
            if _box_distance(support, node, data[i], 2.0 * limit) > limit:
                continue
            if support.nodes[node].feature == LEAF:
                point, total = support.of_node[node], 0.0
                for j in range(data.shape[1]):
                    gap = data[i, j] - support.points[point, j]
                    total += gap * gap
                counts[point] += 1.0 if total <= limit else 0.0
            else:
                work.stack[waiting] = support.nodes[node].low
                work.stack[waiting + 1] = support.nodes[node].high
                waiting += 2
