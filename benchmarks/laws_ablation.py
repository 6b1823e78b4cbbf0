"""What each rule of Atlas is worth: one rule taken away at a time, on plants that it was not made for.

    python benchmarks/laws_ablation.py                         # every rule, every plant, seeds 1000 and 1001: hours
    python benchmarks/laws_ablation.py --plant furnace --rule "quadratic reward" --seeds 4

Plants: the five of fresh_plants.py, and three that Atlas was developed on. A rule that never changes anything on a
plant is found out in the run of Atlas as it is, and not run there. 1,000 fresh episodes each; the difference is to
Atlas as it is, seed by seed, and its error one standard error. docs/benchmarks.md has the figures
of the table that is printed.
"""

import argparse
import json
import pickle
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import fresh_plants
import numpy as np

import spaql
from spaql.gp import model, reward, transitions
from spaql.gp.learned_problem import one_function
from spaql.laws import atlas_trials, in_model, judge
from spaql.learners.atlas import state
from spaql_studies.runs.compute import worst_part


class Rule(NamedTuple):
    """Where it stands, and what stands there without it: of a function what it returns, else another constant."""

    modules: tuple[Any, ...]
    name: str
    without: Any


def _ending_without_rare(units, data, most):
    with patch.object(reward, "FALSE_END_SHARE", np.inf):
        return reward.fit_end(units, data, most)


RULES = {
    # structure that is detected in the data
    "memory": Rule((model,), "shifts_of", lambda data: np.full(data.states.shape[1], -1)),
    "references": Rule((transitions,), "references_of", lambda data: np.zeros(data.states.shape[1], bool)),
    # rewards, ends, noise
    "reward of the last step": Rule((model,), "last_reward", lambda data: None),
    "angles in the reward": Rule((reward,), "_angles", lambda units, data, *_: [np.zeros(data.states.shape[1])]),
    "quadratic reward": Rule((reward, model), "QUADRATIC", 1e-9),
    "rare ends": Rule((model,), "fit_end", _ending_without_rare),
    "borders of ends drawn": Rule((model,), "border_gap", lambda values, ended: (reward.border(values, ended),) * 2),
    "noise of sensors": Rule((model,), "_sensor_share", lambda errors, follows: 0.0),
    "least noise": Rule((model,), "INEXACT", 0.0),
    "first steps without memory": Rule((model,), "without_begins", lambda data, shifts: data),
    # samples
    "short episodes": Rule((atlas_trials,), "STINT", 10**9),
    "exploring plan": Rule((atlas_trials,), "NOTABLE", -1e9),
    "trials by laws": Rule((state,), "FIRST_LAWS_SAMPLES", 10**9),
    "look-ahead in a drawn function": Rule((atlas_trials,), "one_function", lambda problem, _: one_function(problem, 0)),
    # search
    "more than one race": Rule((in_model,), "MAX_RACES", 1),
    "drawn functions": Rule((in_model,), "POSTERIOR_SAMPLES", 1),
    "look-ahead as teacher": Rule((in_model,), "LOOK_AHEAD_KERNELS", 0),
    "regulators": Rule((in_model,), "local_laws", lambda *_: []),
    "more than one law": Rule((in_model,), "LAWS", 1),
    "scale by what is missing": Rule((judge,), "scale_of", lambda mean, floor, most: max(mean - floor, 0.0)),
    "tidying": Rule((in_model,), "TIDY_EFFORT", 1e-9),
}
WHOLE, ALL = "as it is", "all of the first two groups"
GROUP = list(RULES)[:10]
SAMPLES = dict.fromkeys(fresh_plants.PLANTS, 300) | {"cartpole-swing-up": 320, "cartpole-500": 300, "pendulum": 300}


class Run(NamedTuple):
    plant: str
    rule: str
    seed: int
    mean: float
    worst: float  # twentieth of the episodes
    expected: float  # by the model
    laws: int
    numbers: int
    seconds: float  # of CPU
    used: list[str]  # rules that changed something


@contextmanager
def without(rule: str):
    with ExitStack() as stack:
        for name in GROUP if rule == ALL else [rule]:
            for module in RULES[name].modules:
                stack.enter_context(patch.object(module, RULES[name].name, RULES[name].without))
        yield


@contextmanager
def watched(used: set[str]):
    """Atlas as it is; `used` gets the rules without which something would have been different."""

    def compared(name: str, rule: Rule, original: Callable[..., Any]) -> Callable[..., Any]:
        def both(*given, **named):
            value = original(*given, **named)
            other = _like(value, rule.without(*given, **named))
            if name not in used and pickle.dumps(value) != pickle.dumps(other):
                used.add(name)
            return value

        return both

    with ExitStack() as stack:
        for name, rule in RULES.items():
            for module in rule.modules if callable(rule.without) else ():
                stack.enter_context(patch.object(module, rule.name, compared(name, rule, getattr(module, rule.name))))
        used.update(name for name, rule in RULES.items() if not callable(rule.without))
        yield


def _like(value: Any, other: Any) -> Any:
    return np.asarray(other, value.dtype) if isinstance(value, np.ndarray) else other


def run(plant: str, rule: str, seed: int) -> Run:
    warnings.simplefilter("ignore")
    problem = fresh_plants.PLANTS[plant]() if plant in fresh_plants.PLANTS else spaql.make(plant)
    used: set[str] = set()
    with watched(used) if rule == WHOLE else without(rule):
        begin = time.process_time()
        agent = spaql.Atlas(problem, seed=seed, controller="laws", use_known=plant == "cartpole-swing-up")
        agent.learn(samples=SAMPLES[plant], progress=False)
        seconds, policy = time.process_time() - begin, agent.policy()
        returns, expected = agent.evaluate(1000, seed=1).returns, agent.trust().mean
    mean, numbers = float(returns.mean()), policy.numbers
    return Run(plant, rule, seed, mean, worst_part(returns), expected, policy.n_leaves, numbers, seconds, sorted(used))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plant", choices=SAMPLES, action="append")
    parser.add_argument("--rule", choices=[*RULES, ALL], action="append")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("build/laws_ablation.jsonl"), help="runs; those there are kept")
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    lines = given.out.read_text("utf-8").splitlines() if given.out.exists() else []
    runs = [Run(**json.loads(line)) for line in lines]
    done = {(one.plant, one.rule, one.seed): one for one in runs}
    plants, seeds = given.plant or list(SAMPLES), range(1000, 1000 + given.seeds)
    with ProcessPoolExecutor(given.jobs) as pool, given.out.open("a", encoding="utf-8") as out:

        def all_of(jobs: list[tuple[str, str, int]]) -> None:
            for found in (
                pool.map(run, *zip(*[job for job in jobs if job not in done], strict=True))
                if set(jobs) - set(done)
                else ()
            ):
                done[found.plant, found.rule, found.seed] = found
                out.write(json.dumps(found._asdict()) + "\n")
                out.flush()

        all_of([(plant, WHOLE, seed) for plant in plants for seed in seeds])
        jobs = [(plant, rule, seed) for rule in given.rule or [ALL, *RULES] for plant in plants for seed in seeds]
        all_of([job for job in jobs if job[1] == ALL or job[1] in done[job[0], WHOLE, job[2]].used])
    print(table(list(done.values())))


def table(runs: list[Run]) -> str:
    """A row per rule, a column per plant: the difference of the return without the rule.

    Empty where it never changes anything.
    """
    plants = [plant for plant in SAMPLES if any(one.plant == plant for one in runs)]
    whole = {(one.plant, one.seed): one for one in runs if one.rule == WHOLE}
    heads = [f"{plant}, {np.mean([one.mean for key, one in whole.items() if key[0] == plant]):.4g}" for plant in plants]
    rows = [f"| without | {' | '.join(heads)} |", f"|{'---|' * (1 + len(plants))}"]
    for rule in [ALL, *RULES]:
        cells = []
        for plant in plants:
            lost = np.array(
                [one.mean - whole[plant, one.seed].mean for one in runs if (one.plant, one.rule) == (plant, rule)]
            )
            error = f" ± {lost.std(ddof=1) / np.sqrt(len(lost)):.2g}" if len(lost) > 1 else ""
            cells.append(f"{lost.mean():+.3g}{error}" if len(lost) else "")
        rows.append(f"| {rule} | {' | '.join(cells)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
