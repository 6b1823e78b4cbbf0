"""Lessons: what a teacher does at states of its own closed loop, and at states to which a law tree drifts (DAgger).

A teacher is one of our policies or agents, anything with `predict` (a model of Stable-Baselines3), or a function of an
observation that returns the action in physical units. Policies are trees and run compiled; all others are asked state
by state.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.ground.streams import LAWS_CONFIRMED, LAWS_TAUGHT
from spaql.laws.judge import JUDGED_EPISODES
from spaql.laws.lessons import DRIFT_ROUNDS, Lessons, model_tree, scores_of
from spaql.laws.search import STATES
from spaql.laws.trials import Spent, Trials, seeds_of
from spaql.laws.vector import DUST_SHARE, measured_units
from spaql.learners.agent import Agent
from spaql.learners.laws import ENOUGH_EPISODES
from spaql.plants.answers import begun, steps
from spaql.plants.chart import HUGE
from spaql.plants.problem import Finite, Problem
from spaql.policy.outputs import kinds_of
from spaql.policy.policy import Policy
from spaql.trees.edits import with_variables
from spaql.trees.tree import Tree, decide

Ask = Callable[[Array], Array]  # an observation (variables,), its action (axes,), both physical
EPISODES = 32  # of the teacher's closed loop; and as many in which it is judged, if it is no tree
DRIFT_LEAVES = 8  # of the trees that drift
LESSONS_SHARE = 0.1  # of the samples that are left, at most


def lessons_of(trials: Trials, teacher: Any, seed: int) -> tuple[Lessons, Array]:
    """What the teacher does, and its returns in the first episodes of the confirmation."""
    problem, rules = trials.problem, rules_of(trials.problem, teacher)
    ask = asked(problem, teacher)
    episodes = EPISODES if trials.environments is None else ENOUGH_EPISODES
    judged = JUDGED_EPISODES if trials.environments is None and rules is not None else episodes
    if trials.left is not None:
        room = int(LESSONS_SHARE * trials.left / problem.horizon)
        if room < 2:
            raise Spent
        judged = min(judged, room // 2)
        episodes = min(episodes, room - judged)
    lessons = seeds_of(seed, LAWS_TAUGHT, 0, episodes)
    exams = seeds_of(seed, LAWS_CONFIRMED, 0, judged)
    if rules is not None:
        states = trials.watched(rules, lessons, STATES)[1]
        return _drifted(trials, states, lambda states: decide(rules, states), seed), trials.returns(rules, exams)
    states = _recorded(trials, ask, lessons)[0]
    chosen = np.linspace(0, len(states) - 1, min(STATES, len(states))).round().astype(int)
    many = lambda states: np.array([ask(state) for state in states])  # noqa: E731
    return _drifted(trials, states[chosen], many, seed), _recorded(trials, ask, exams)[1]


def _drifted(trials: Trials, states: Array, many: Callable[[Array], Array], seed: int) -> Lessons:
    """A tree that copies the teacher comes to other states than the teacher: there it has to be told, too."""
    problem, actions = trials.problem, many(states)
    units, kind = measured_units(problem, states), kinds_of(problem.actions)[0]
    for number in range(DRIFT_ROUNDS):
        rng = np.random.default_rng([seed, number])
        tree = model_tree(units, kind, units.of(states), scores_of(problem, kind, actions), DRIFT_LEAVES, rng)
        seeds = seeds_of(seed, LAWS_TAUGHT, EPISODES * (number + 1), 4)
        try:
            more = trials.watched(units.physical(tree), seeds, STATES // 4)[1]
        except (Spent, SpaqlError):  # it drives the plant out of all numbers: nothing to be learned there
            break
        states, actions = np.concatenate([states, more]), np.concatenate([actions, many(more)])
    return Lessons(states, actions)


def _recorded(trials: Trials, ask: Ask, seeds: Array) -> tuple[Array, Array]:
    """All observations of episodes of a teacher that is no tree, and the returns."""
    problem = trials.problem
    env = trials.env
    native, states, returns = problem.native_one(), [], np.zeros(len(seeds))

    def act(observation: Any, step: int) -> Array:
        states.append(np.array(observation, float).reshape(-1))
        return ask(states[-1])

    for i, seed in enumerate(seeds.tolist()):
        for _, _, _, reward, _ in steps(env, act, begun(env.reset(seed=seed)), problem.horizon, native):
            trials.count(1)
            returns[i] += float(reward)
    if not (np.abs(returns) <= HUGE).all():
        raise SpaqlError(f"{problem.name} gives rewards that are not finite while the teacher acts")
    return np.array(states), returns


def rules_of(problem: Problem, teacher: Any) -> Tree | None:
    """The tree of a teacher that is one of our policies, or an agent with one policy for all steps."""
    if isinstance(teacher, Agent) and not teacher.card.per_step and teacher.card.learns_by != "nothing":
        teacher = teacher.policy()
    if not isinstance(teacher, Policy):
        return None
    tree = _in_variables_of(problem, teacher)
    for action in decide(tree, np.zeros((1, tree.variables))):
        sound_action(problem, action, np.zeros(tree.variables))
    return tree


def _in_variables_of(problem: Problem, teacher: Policy) -> Tree:
    """Its tree, with the variables of the problem, found by their names where there are more or another order."""
    names, own = [axis.name for axis in problem.state], [axis.name for axis in teacher.problem.state]
    if own == names or (len(own) == len(names) and set(own) != set(names)):
        return teacher.rules
    missing = [name for name in own if name not in names]
    if missing:
        looks = f"the teacher looks at {len(own)} variables, {problem.name} has {len(names)}, without {_short(missing)}"
        raise SpaqlError(f"{looks}: make a teacher for {problem.name} itself, or give a function of {_short(names)}")
    return with_variables(teacher.rules, [names.index(name) for name in own], len(names))


def asked(problem: Problem, teacher: Any) -> Ask:
    """The teacher as a function; whatever is wrong with it, or with what it says, is said in one line."""
    predict = getattr(teacher, "predict", None)

    def ask(observation: Array) -> Array:
        try:
            said = teacher(observation.copy()) if predict is None else predict(observation.copy())
            said = said[0] if predict is not None and isinstance(said, tuple) else said
        except Exception as error:  # whatever a teacher of somebody else raises
            text = " ".join(str(error).split())[:200]
            raise SpaqlError(
                f"the teacher failed at the observation {_short(observation)}: {type(error).__name__}: {text}"
            ) from error
        return sound_action(problem, said, observation)

    return ask


def sound_action(problem: Problem, said: Any, observation: Array) -> Array:
    """What a teacher said as an action (axes,), physical."""
    actions = problem.actions
    try:
        action = np.atleast_1d(np.asarray(said if said is not None else (), float))
    except (TypeError, ValueError):
        action = np.empty((0, 0))
    where = f"at the observation {_short(observation)}"
    if action.size != actions.axes or action.ndim > 2:
        size = "one number" if actions.axes == 1 else f"{actions.axes} numbers"
        raise SpaqlError(f"the teacher must return {size} for an action, not {_short(said)} ({where})")
    action = action.reshape(-1)
    if not np.isfinite(action).all():
        raise SpaqlError(f"the teacher returned {_short(said)}: actions must be finite ({where})")
    if isinstance(actions, Finite):
        if not np.any(np.abs(np.array(actions.values, float) - action[0]) <= DUST_SHARE):
            known = ", ".join(f"{value:g}" for value in actions.values[:20])
            raise SpaqlError(f"the teacher returned {action[0]:g}, which is not one of {known} ({where})")
        return action
    low, high = actions.bounds
    room = DUST_SHARE * (high - low)
    if ((action < low - room) | (action > high + room)).any():
        raise SpaqlError(
            f"the teacher returned {_short(said)}, outside {_short(low)} ... {_short(high)} ({where}): clip its actions"
        )
    clipped: Array = np.clip(action, low, high)
    return clipped


def _short(value: Any) -> str:
    text = " ".join(str(value.tolist() if isinstance(value, np.ndarray) else value).split())
    return text if len(text) <= 80 else text[:77] + "..."
