"""Values on support points, interpolated in between: convex weights make value iteration a contraction."""

import math
from typing import NamedTuple

import numpy as np

from spaql.arrays import Array
from spaql.compiling import inlined, kernel
from spaql.explain.tree import LEAF
from spaql.learners.atlas.model import Model, cell_of, predict

LOCALITY = 0.5  # how much weights prefer near support points to an exact centre of gravity
SWEEPS, SETTLED = 40, 1e-4  # of the search for weights


class Support(NamedTuple):
    """Support points of the value function: one in each planning cell."""

    cells: Array  # tree of planning cells
    of_cell: Array  # by node of `cells`: its support point, -1 for inner nodes
    points: Array  # (m, d) support points of cells, then those where episodes have ended
    ended: Array  # (m,) 1 where the episode has ended
    nodes: Array  # tree for the search of neighbours, one point per leaf
    of_node: Array  # by node of `nodes`: its support point
    low: Array  # (nodes, d) box of the support points below each node
    high: Array


class Work(NamedTuple):
    """Working memory of one look-ahead."""

    found: Array  # (K,) nearest support points
    distance: Array  # (K,) squared
    weight: Array  # (K,)
    gram: Array  # (K, K)
    stack: Array  # (depth,) nodes
    vectors: Array  # (4, d)


def new_work(neighbours: int, d: int) -> Work:
    k = neighbours
    return Work(np.zeros(k, np.int64), np.zeros(k), np.zeros(k), np.zeros((k, k)), np.zeros(4096, np.int64), np.zeros((4, max(d, 1))))


@inlined
def _box_distance(support: Support, node: int, z: Array, limit: float) -> float:
    total = 0.0
    for j in range(len(z)):
        gap = max(max(support.low[node, j] - z[j], z[j] - support.high[node, j]), 0.0)
        total += gap * gap
        if total >= limit:
            break
    return total


@inlined
def nearest(support: Support, z: Array, work: Work) -> int:
    """The K nearest support points, nearest first, into `work`. Returns how many."""
    k, found = len(work.found), 0
    work.stack[0] = 0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = work.stack[waiting]
        limit = work.distance[k - 1] if found == k else np.inf
        if _box_distance(support, node, z, limit) >= limit:
            continue
        while support.nodes[node].feature != LEAF:  # the nearer side first, the other one later
            low, high = support.nodes[node].low, support.nodes[node].high
            above = z[support.nodes[node].feature] >= support.nodes[node].cut
            node = high if above else low
            work.stack[waiting] = low if above else high
            waiting += 1
        point, total = support.of_node[node], 0.0
        for j in range(len(z)):
            gap = z[j] - support.points[point, j]
            total += gap * gap
        if found < k or total < work.distance[k - 1]:
            place = found if found < k else k - 1
            found = min(found + 1, k)
            while place > 0 and work.distance[place - 1] > total:
                work.distance[place], work.found[place] = work.distance[place - 1], work.found[place - 1]
                place -= 1
            work.distance[place], work.found[place] = total, point
    return found


@inlined
def weigh(support: Support, z: Array, n: int, work: Work) -> None:
    """Convex weights of the n nearest support points: w >= 0, sum 1, with the least
    |sum w D|^2 + h^2 (sum w - 1)^2 + LOCALITY sum |D|^2 w^2, D = support point - z, h the distance of the last one."""
    d, h2 = len(z), max(work.distance[n - 1], 1e-12)
    total = 0.0
    for i in range(n):
        for j in range(i + 1):
            product = h2
            for q in range(d):
                product += (support.points[work.found[i], q] - z[q]) * (support.points[work.found[j], q] - z[q])
            if i == j:
                product += LOCALITY * work.distance[i] + 1e-6 * h2
            work.gram[i, j] = work.gram[j, i] = product
        work.weight[i] = 1.0 / (work.distance[i] + 0.01 * h2)
        total += work.weight[i]
    for i in range(n):
        work.weight[i] /= total
    for _ in range(SWEEPS):
        moved = 0.0
        for i in range(n):
            slope = -h2
            for j in range(n):
                slope += work.gram[i, j] * work.weight[j]
            new = max(0.0, work.weight[i] - slope / work.gram[i, i])
            moved = max(moved, abs(new - work.weight[i]))
            work.weight[i] = new
        if moved < SETTLED:
            break
    total = 0.0
    for i in range(n):
        total += work.weight[i]
    for i in range(n):
        work.weight[i] /= total


class Links(NamedTuple):
    """What every action leads to from every support point, for value iteration."""

    reward: Array  # (m, actions), discounted sum until it arrives
    discount: Array  # (m, actions), of what comes after; 0 where the episode ends
    target: Array  # (m, actions, K)
    weight: Array  # (m, actions, K)


@kernel
def link(model: Model, support: Support, gamma: float, hold: int, first: int, last: int, links: Links, work: Work) -> None:
    """Play every action at support points `first` ... `last - 1` until their cell is left, at most `hold` steps."""
    d, k = support.points.shape[1], len(work.found)
    z, after = work.vectors[0, :d], work.vectors[1, :d]
    for i in range(first, last):
        if support.ended[i] == 1:
            continue
        home = cell_of(support.cells, support.points[i])
        for action in range(len(model.features)):
            for j in range(d):
                z[j] = support.points[i, j]
            earned, g, ended = 0.0, 1.0, False
            for _ in range(hold):
                earned += g * predict(model, cell_of(model.nodes, z), z, action, after)
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
            n = 0
            if not ended:
                n = nearest(support, z, work)
                weigh(support, z, n, work)
            for j in range(k):
                links.target[i, action, j] = work.found[j] if j < n else 0
                links.weight[i, action, j] = work.weight[j] if j < n else 0.0


@kernel
def iterate(links: Links, fixed: Array, bonus: Array, own: bool, value: Array, q: Array, sweeps: int, tolerance: float) -> int:
    """Value iteration, Gauss-Seidel, up and down in turn. `own`: rewards of the model; otherwise `bonus` at arrival."""
    m, actions, k = links.target.shape
    for sweep in range(sweeps):
        moved, low, high = 0.0, np.inf, -np.inf
        for place in range(m):
            i = place if sweep % 2 == 0 else m - 1 - place
            if fixed[i] == 1:
                continue
            best = -np.inf
            for a in range(actions):
                total, arrival = 0.0, 0.0
                for j in range(k):
                    w, target = links.weight[i, a, j], links.target[i, a, j]
                    total += w * value[target]
                    arrival += w * bonus[target]
                q[i, a] = (links.reward[i, a] if own else arrival) + links.discount[i, a] * total
                best = max(best, q[i, a])
            moved = max(moved, abs(best - value[i]))
            value[i] = best
            low, high = min(low, best), max(high, best)
        if moved <= tolerance * max(high - low, 1e-300):
            return sweep + 1
    return sweeps


@kernel
def look_ahead(model: Model, support: Support, value: Array, gamma: float, greedy: bool, z: Array, q: Array, work: Work) -> int:
    """Value of every action at a state: one step in the model, then the interpolated value. Returns the best action.

    `greedy`: rewards count, and values after the end of the episode are what the last step earns; otherwise only `value` does.
    """
    d, cell, best = len(z), cell_of(model.nodes, z), 0
    after = work.vectors[2, :d]
    for action in range(len(model.features)):
        reward = predict(model, cell, z, action, after)
        end, future = cell_of(model.ends, after), 0.0
        if model.ending[end] == 1:
            reward += model.last_reward[end]
        else:
            n = nearest(support, after, work)
            weigh(support, after, n, work)
            for j in range(n):
                future += work.weight[j] * value[work.found[j]]
        q[action] = reward + gamma * future if greedy else future
        if q[action] > q[best]:
            best = action
    return best


@kernel
def count_near(support: Support, data: Array, radius: float, counts: Array, work: Work) -> None:
    """How many data lie within the radius of each support point."""
    d, limit = data.shape[1], radius * radius
    for i in range(len(data)):
        work.stack[0] = 0
        waiting = 1
        while waiting > 0:
            waiting -= 1
            node = work.stack[waiting]
            if _box_distance(support, node, data[i], limit) > limit:
                continue
            if support.nodes[node].feature == LEAF:
                point, total = support.of_node[node], 0.0
                for j in range(d):
                    gap = data[i, j] - support.points[point, j]
                    total += gap * gap
                if total <= limit:
                    counts[point] += 1.0
            else:
                work.stack[waiting], work.stack[waiting + 1] = support.nodes[node].low, support.nodes[node].high
                waiting += 2


@inlined
def norm(z: Array) -> float:
    total = 0.0
    for j in range(len(z)):
        total += z[j] * z[j]
    return math.sqrt(total)
