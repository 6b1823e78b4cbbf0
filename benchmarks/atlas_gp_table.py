"""The table of Atlas planned in the mean function of the Gaussian process that laws come from, instead of a model of its own.

Support points, values and the look-ahead are those of `controller="table"`; next states, rewards and ends come from the other
model. It was tried to have one model only; docs/atlas-table.md has what came of it.

Run: .venv/bin/python benchmarks/atlas_gp_table.py PLANT SAMPLES [SEEDS] [--cells]      # --cells: the model that Atlas uses
"""

import sys
import time
from dataclasses import dataclass, replace

import fresh_plants
import numpy as np

import spaql
from spaql.gp.learned_problem import imagined, starts_of
from spaql.ground import streams
from spaql.ground.compiling import kernel
from spaql.laws.trials import Trials, seeds_of
from spaql.learners.atlas import atlas_controller, learner, plan, support, values
from spaql.learners.atlas.cell_model import leaves_of
from spaql.learners.atlas.experience import BEGAN
from spaql.plants.plant import LANES
from spaql.training import atlas_loop

FIRST, EPISODES, REHEARSALS = 1000, 1000, 64


@kernel
def _step_all(batch, flat, rows, states, actions, nexts, rewards, ended):
    """One step of a learned plant from all states, without noise."""
    first_state, first_action, first_observation, first_noise, reward_row, done_row = rows
    d, axes = states.shape[1], actions.shape[1]
    for begin in range(0, len(states), LANES):
        n = min(LANES, len(states) - begin)
        for i in range(n):
            for j in range(d):
                flat[(first_state + j) * LANES + i] = states[begin + i, j]
            flat[(first_state + d) * LANES + i] = 0.0
            for j in range(axes):
                flat[(first_action + j) * LANES + i] = actions[begin + i, j]
        for place in range(first_noise * LANES, reward_row * LANES):
            flat[place] = 0.5
        batch(flat, n)
        for i in range(n):
            for j in range(d):
                nexts[begin + i, j] = flat[(first_observation + j) * LANES + i]
            rewards[begin + i], ended[begin + i] = flat[reward_row * LANES + i], flat[done_row * LANES + i] > 0.5


@kernel
def _interpolate(points, z, ended, target, weight, arrivals, work):
    for i in range(len(z)):
        n = 0
        if not ended[i]:
            n = values.nearest(points, z[i], work)
            values.weigh(points, z[i], n, work)
        for j in range(n):
            target[i, j], weight[i, j] = work.neighbour[j], work.weight[j]
        arrivals[i] = n


class Stepper:
    """Steps of the mean function."""

    def __init__(self, problem):
        rows = problem.plant.rows
        self.rows = (rows.state, rows.action, rows.observation, rows.noise, rows.reward, rows.done)
        self.plant, self.flat = problem.plant, problem.plant.table().reshape(-1)

    def __call__(self, states, actions):
        nexts, rewards, ended = np.empty(states.shape), np.empty(len(states)), np.empty(len(states), np.bool_)
        given = np.ascontiguousarray(states), np.ascontiguousarray(actions)
        _step_all(self.plant.batch[1], self.flat, self.rows, *given, nexts, rewards, ended)
        return nexts, rewards, ended


@dataclass(frozen=True, eq=False)
class GPPlan(plan.Plan):
    step: Stepper = None

    def look_ahead(self, observation, curious=False):
        after, reward, ended = self.step(np.repeat(observation[None], len(self.actions), axis=0), self.actions)
        k, m = self.neighbours, len(self.actions)
        target, weight, arrivals = np.zeros((m, k), np.int32), np.zeros((m, k)), np.zeros(m, np.int32)
        work = values.new_work(self.support, k)
        _interpolate(self.support, np.ascontiguousarray(self.into_metric(after)), ended, target, weight, arrivals, work)
        future = (weight * (self.curiosity if curious else self.value)[target]).sum(axis=1)
        return (future if curious else reward + self.gamma * future), after


class GPActor:
    def __init__(self, followed, curious, chance):
        self.plan, self.curious, self.chance = followed, curious, chance

    def act(self, observation, key, h):
        if atlas_loop.random_number(key, 2 * h) < self.chance:
            return int(atlas_loop.random_number(key, 2 * h + 1) * len(self.plan.actions))
        return int(np.argmax(self.plan.look_ahead(observation, self.curious)[0]))


def in_gp(agent, n, functions=1):
    data, rng, problem = agent.state.memory.data(n), np.random.default_rng([agent.seed, n]), agent.problem_told
    model = atlas_controller.model_at(agent, n)
    return imagined(problem, model, data, starts_of(problem, data, rng), rng, functions, lacking=functions > 1)


def wandered(step, states, actions, rng):
    """Next states of random actions, each held for a while, and whether episodes ended there."""
    nexts, ends = [], []
    for t in range(support.WANDERING_STEPS):
        if t % support.HELD_STEPS == 0:
            action = actions[rng.integers(len(actions), size=len(states))]
        after, _, ended = step(states, action)
        nexts.append(after), ends.append(ended)
        states, action = after[~ended], action[~ended]
    return np.concatenate(nexts), np.concatenate(ends)


def followed(step, states, last, length, rng):
    """The same of an earlier table."""
    nexts, ends = [], []
    for _ in range(length):
        if len(states) == 0:
            break
        cell = last.support.of_cell[leaves_of(last.support.cells, last.into_metric(states))]
        action, random = last.actions[last.best[cell]], rng.random(len(states)) < support.RANDOM_SHARE
        action[random] = last.actions[rng.integers(len(last.actions), size=int(random.sum()))]
        after, _, ended = step(states, action)
        nexts.append(after), ends.append(ended)
        states = after[~ended]
    return np.concatenate(nexts), np.concatenate(ends)


def support_points(step, data, starts, last, actions, cells, horizon, into, rng):
    some = support._some
    parts = [(some(data.states, support.SEEN_STATES), np.zeros(min(len(data.states), support.SEEN_STATES), bool))]
    parts.append((some(data.nexts, support.SEEN_STATES), some(data.ended, support.SEEN_STATES)))
    begin = data.states[rng.integers(len(data.states), size=support.WANDERINGS)]
    parts.append(wandered(step, begin, actions, rng))
    if last is not None:
        begin, length = starts[np.arange(support.GUIDED_ROLLOUTS) % len(starts)], min(horizon, support.GUIDED_STEPS)
        parts.append(tuple(some(part, support.GUIDED_STATES) for part in followed(step, begin, last, length, rng)))
    pool, over = into(np.concatenate([part for part, _ in parts])), np.concatenate([ended for _, ended in parts])
    tree, of_cell, alive = support._cover(np.ascontiguousarray(pool[~over]), cells, support.CROWD_EXPONENT)
    gone = pool[:0]
    if over.any():
        gone = support._cover(np.ascontiguousarray(pool[over]), max(1, cells // support.ENDED_PART), 0.0)[2]
    points = np.concatenate([alive, gone])
    ended = (np.arange(len(points)) >= len(alive)).astype(np.int64)
    return support.Support(tree, of_cell, points, ended, *support._neighbour_tree(points))


def linked(step, points, out, into, actions, gamma, hold, k):
    """What `values.link` does, side by side."""
    alive, m, a = points.points[points.ended == 0], len(points.points), len(actions)
    states, applied = np.repeat(out(alive), a, axis=0), np.tile(actions, (len(alive), 1))
    home, going = np.repeat(leaves_of(points.cells, alive), a), np.arange(len(alive) * a)
    earned, g, over = np.zeros(len(going)), np.ones(len(going)), np.zeros(len(going), bool)
    for _ in range(hold):
        after, reward, ended = step(states[going], applied[going])
        earned[going] += g[going] * reward
        over[going], states[going] = ended, after
        g[going] *= gamma
        stays = ~ended & (leaves_of(points.cells, into(after)) == home[going])
        going = going[stays]
    links, live = values.new_links(m, a, k), len(alive)
    links.reward[:live], links.discount[:live] = earned.reshape(live, a), np.where(over, 0.0, g).reshape(live, a)
    parts = (links.target[:live].reshape(-1, k), links.weight[:live].reshape(-1, k), links.arrivals[:live].reshape(-1))
    _interpolate(points, into(states), over, *parts, values.new_work(points, k))
    return links


def plan_of(agent, n, last, *, fine=False, salt=0):
    """In the place of `Atlas.plan_of`."""
    settings, actions, data = agent.settings, agent.actions, agent.state.memory.data(n)
    cells = settings.cells if fine else max(1, settings.cells // learner.DRAFT_PART)
    rng = np.random.default_rng(int(streams.key_of(agent.seed, streams.PLAN, n) >> np.uint64(2)) ^ salt)
    step, (centre, inverse) = Stepper(in_gp(agent, n)), plan._metric(data.states)
    begins = np.flatnonzero(agent.state.memory.flags[:n] & BEGAN)
    starts = data.states[begins] if len(begins) else data.states[:1]

    def into(observations):
        return np.ascontiguousarray((observations - centre) * inverse)

    def out(states):
        return states / np.where(inverse > 0.0, inverse, 1.0) + centre

    points = support_points(step, data, starts, last, actions, cells, agent.problem.horizon, into, rng)
    m, k = len(points.points), min(settings.neighbours, len(points.points))
    links = linked(step, points, out, into, actions, settings.gamma, settings.hold, k)
    value, curiosity, visits, q = np.zeros(m), np.zeros(m), np.zeros(m), np.zeros((m, len(actions)))
    if last is not None:
        before = np.ascontiguousarray(last.into_metric(out(points.points)))
        values.values_at(last.support, last.value, before, value, values.new_work(last.support, 1))
    value[points.ended == 1] = 0.0
    best, sweeps = np.zeros(m, np.int64), plan.MOST_SWEEPS
    values.iterate(links, points.ended, np.zeros(0), value, q, best, sweeps, plan.VALUE_TOLERANCE)
    radius = plan.VISIT_RADIUS * np.sqrt(data.states.shape[1])
    values.count_near(points, into(data.states), radius, visits, values.new_work(points, k))
    novelty = np.where(points.ended == 1, 0.0, 1.0 / np.sqrt(1.0 + visits))
    best, unused = np.zeros(m, np.int64), np.zeros_like(q)
    values.iterate(links, points.ended, novelty, curiosity, unused, best, sweeps, plan.CURIOUS_TOLERANCE)
    curiosity = novelty + settings.gamma * curiosity
    return GPPlan(centre, inverse, None, points, value, curiosity, q, actions, settings.gamma, k, n, step)


def final_plan(agent, n):
    """In the place of the function of `atlas_controller`: plans are compared in functions that lack a part of the data."""
    draft = agent.plan_of(n, None)
    plans = [agent.plan_of(n, draft, fine=True, salt=salt) for salt in (0, 1)]
    trials = Trials(replace(in_gp(agent, n, 4), horizon=2 * agent.problem.horizon))
    seeds = seeds_of(agent.seed, streams.LAWS_SEARCHED, 2**43, REHEARSALS)
    return max(plans, key=lambda made: float(trials.returns(made.table, seeds).mean()))


def main() -> None:
    plant, samples = sys.argv[1], int(sys.argv[2])
    seeds = int(sys.argv[3]) if len(sys.argv) > 3 and sys.argv[3].isdigit() else 4
    if "--cells" not in sys.argv:
        learner.Atlas.plan_of, atlas_loop.AtlasActor = plan_of, GPActor
        learner.final_plan = atlas_controller.final_plan = final_plan
    make = fresh_plants.PLANTS.get(plant, lambda: spaql.make(plant))
    spaql.Atlas(make(), controller="table", cells=100).learn(samples=220, progress=False)  # compiles
    for seed in range(FIRST, FIRST + seeds):
        begin, agent = time.process_time(), spaql.Atlas(make(), controller="table", seed=seed)
        agent.learn(samples=samples, progress=False)
        seconds, returns = time.process_time() - begin, agent.evaluate(EPISODES, seed=1).returns
        print(f"{plant} {samples:6,} seed {seed}: {returns.mean():8.2f}, {seconds:5.1f} s of CPU", flush=True)


if __name__ == "__main__":
    main()
