"""Six trials of 100 steps on three machines that nobody has tuned for, through files alone: docs/rig.md has the table.

    python benchmarks/rig.py                                   # seeds 1000 to 1009: some 30 minutes of a core
    python benchmarks/rig.py --only cart tank arm --first 0 --seeds 3         # those that were looked at, for tuning
    python benchmarks/rig.py --table rows.jsonl                # of --rows rows.jsonl, also of a run that was cut

The machines of rig_machines.py run in processes of their own: controller.c and plan.csv go there, a log with semicolons and
decimal commas comes back. All trials are counted. What the law of the seventh trial is worth is measured in 20 fresh
episodes, beside the fallback and an LQR that knows equations, state and what holds the machine at a reference, and whose
weight was chosen on the machine. (Sampled look-ahead in the equations earned less on beam and fan.)
"""

import argparse
import functools
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas
import scipy
from rig_machines import FRESH, MACHINES, Machine

import spaql
from spaql.rig.description import description_of
from spaql.rig.next_trial import drawn

EPISODES = 20
TRIALS = 6
JUDGED = 777  # the seed of the episodes that judge


@functools.cache
def described(name):
    return description_of(MACHINES[name].toml(name))


def limit_of(name):
    return described(name).limits[0]


def episode(name, act, number, seed=JUDGED):
    """What an episode pays in which `act(machine, measured, references, step)` decides.

    Each step that a limit has cut off costs as much as the worst one, and at least 1.
    """
    about, kind = described(name), MACHINES[name]
    rng = np.random.default_rng([seed, number])
    references, machine = drawn(about.references, about.steps, rng), Machine(kind, rng)
    (low,), (high,) = (end.tolist() for end in about.actions.bounds)
    y, applied, before = [machine.measure()], [], float(about.actions.neutral[0])
    for t, row in enumerate(references):
        u = float(np.clip(act(machine, y[-1], row, t), low, high))
        if about.rates:
            u = float(np.clip(u, before - about.rates[0], before + about.rates[0]))
        machine.apply(u)
        before = u
        applied.append(u)
        y.append(machine.measure())
        if not limit_of(name).low <= y[-1] <= limit_of(name).high:
            break
    paid = about.paid(np.array(y)[:, None], references[: len(applied)], np.array(applied)[:, None])
    return float(paid.sum() + (about.steps - len(applied)) * min(paid.min(), -1.0))


def worth(name, act_of, seed=JUDGED, episodes=EPISODES):
    return float(np.mean([episode(name, act_of(), number, seed) for number in range(episodes)]))


def of_policy(policy):
    """As `episode` asks: with the memory of an episode."""

    def begin():
        memory = policy.memory()

        def act(_machine, y, row, _t):
            nonlocal memory
            action, memory = policy.predict([y, *row], state=memory)
            return action[0]

        return act

    return begin


# -- a controller that knows the equations -------------------------------------------------------------------------------


def at_rest(name, r):
    """State and action at which the machine stays at r."""
    kind, rng = MACHINES[name], np.random.default_rng(0)
    begin = np.array(kind.start(rng), float)

    def moved(z):
        x = np.r_[r, z]
        return (kind.step(x[:, None], x[-1:])[:, 0] - x)[: len(x)]

    z = scipy.optimize.least_squares(moved, begin[1:], x_scale=np.abs(begin[1:]) + 1.0).x
    return np.r_[r, z], float(z[-1])


def sizes(name, fallback):
    """How far its states move with the fallback."""
    seen = []

    def watched():
        act = fallback()

        def watching(machine, y, row, t):
            seen.append(machine.x[:, 0].copy())
            return act(machine, y, row, t)

        return watching

    worth(name, watched, 0, 3)
    return 0.5 * np.std(seen, axis=0) + 1e-9


def lqr(name, fallback):
    """The regulator around the reference, with the weight that earns most in other episodes."""
    kind, about = MACHINES[name], described(name)
    middle = 0.5 * (about.references[0].low + about.references[0].high) if about.references else 0.0
    x0, u0 = at_rest(name, middle)
    size = sizes(name, fallback)
    A = np.column_stack([
        (kind.step((x0 + d)[:, None], np.array([u0])) - kind.step((x0 - d)[:, None], np.array([u0])))[:, 0] / (2 * s)
        for d, s in zip(np.diag(size), size, strict=True)
    ])
    B = np.zeros((len(x0), 1))
    B[-1] = 1.0
    rest = functools.cache(lambda r: at_rest(name, r))
    tried = []
    for power in np.arange(-5.0, 3.0, 0.5):
        Q = np.zeros_like(A)
        Q[0, 0] = 1.0 / size[0] ** 2
        R = np.array([[10.0**power / size[-1] ** 2]])
        try:
            P = scipy.linalg.solve_discrete_are(A, B, Q + 1e-9 * np.diag(1.0 / size**2), R)
        except np.linalg.LinAlgError:
            continue
        K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)[0]

        def begin(K=K):
            def act(machine, _y, row, _t):
                x, u = rest(float(row[0]) if len(row) else 0.0)
                return u - K @ (machine.x[:, 0] - x)

            return act

        tried.append((worth(name, begin, 0), power, begin))
    return worth(name, max(tried, key=lambda pair: pair[0])[2]) if tried else -np.inf


@functools.cache
def yard_sticks(name):
    """Fallback and LQR: what they earn."""
    own = described(name)
    fallback = of_policy(own.fallback(own.stated()))
    return worth(name, fallback), lqr(name, fallback)


# -- six trials --------------------------------------------------------------------------------------------------------


def learn(name, seed, folder):
    """What came of them."""
    begun = time.process_time()
    rig = spaql.Rig.new(folder / f"{name}-{seed}", MACHINES[name].toml(name))
    machine = [sys.executable, str(Path(__file__).with_name("rig_machines.py")), name]
    ends = [f"--low={limit_of(name).low}", f"--high={limit_of(name).high}"]
    for number in range(TRIALS):
        said, log = rig.next(seed), folder / "log.csv"
        subprocess.run([*machine, said.path, log, "--seed", str(1000 * seed + number), *ends], check=True)
        rig.add(log, said.trial)
    rig.next(seed)
    trials, last = rig.trials, rig.trials[-1].expected
    results = [trial.result for trial in trials[:TRIALS]]
    promised = [result["inside"] for result in results if result["inside"] is not None]
    return {
        "machine": name, "seed": seed, "law": worth(name, of_policy(rig.controller())), "text": last["law"],
        "expected": last["mean"], "why": last["why"], "laws": [trial.expected["law"] for trial in trials],
        "chances": [trial.expected["chance"] for trial in trials],
        "means": [trial.expected["mean"] for trial in trials],
        "returns": [round(result["return"], 3) for result in results], "promised": len(promised), "inside": sum(promised),
        "touched": sum(bool(result["touched"]) for result in results),
        "notes": [result["notes"] for result in results], "cpu": round(time.process_time() - begun, 1),
    }  # fmt: skip


def told(rows):
    """The table."""
    table = pandas.DataFrame(rows)
    lines = []
    for name, part in table.groupby("machine", sort=False):
        fallback, regulator = yard_sticks(name)
        way = 100.0 * (part.law - fallback) / (regulator - fallback)
        lines.append({
            "machine": name, "seeds": len(part), "fallback": fallback, "LQR": regulator, "law": part.law.median(),
            "way %": way.median(), "worst %": way.min(), "inside": part.inside.sum(), "of": part.promised.sum(),
            "touched": part.touched.sum(), "trials": TRIALS * len(part), "cpu s": part.cpu.mean(),
        })  # fmt: skip
    table = pandas.DataFrame(lines)
    inside, of, touched, trials = (int(table[key].sum()) for key in ("inside", "of", "touched", "trials"))
    print(table.round(2).to_string(index=False))
    print(f"inside {inside} of {of}, {100 * inside / max(of, 1):.0f} %; limits touched in {touched} of {trials} trials")


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--seeds", type=int, default=10)
    words.add_argument("--first", type=int, default=1000)
    words.add_argument("--only", nargs="*", default=list(FRESH))
    words.add_argument("--rows", type=Path, help="a file to which a line is added per machine and seed")
    words.add_argument("--table", type=Path, help="of such a file; nothing is run")
    given = words.parse_args()
    if given.table:
        told([json.loads(line) for line in given.table.read_text().splitlines()])
        return
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(given.first, given.first + given.seeds):
            for name in given.only:
                rows.append(learn(name, seed, Path(folder)))
                print(json.dumps(rows[-1]), flush=True)
                if given.rows:
                    with given.rows.open("a") as file:
                        file.write(json.dumps(rows[-1]) + "\n")
    told(rows)


if __name__ == "__main__":
    main()
