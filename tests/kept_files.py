"""Files of earlier versions, and what comes of them: agents, a policy and a store of runs, with hashes of how they go on.

The files in golden/files-0.1 were written by version 0.1.0 (commit 2272088), together with the hashes, by

    python tests/kept_files.py tests/golden/files-0.1

Whatever changes, they load and go on with the same bits (test_kept_files.py). New files come into a folder of their own; those that
are there stay as they are.
"""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

import spaql

KEPT = Path(__file__).parent / "golden" / "files-0.1"
VERSION = "0.1.0"  # that has written them
EXPECTED = "expected.json"
POLICY = "policy.json"
STORE = "store"
STUDY = ("--quick", "--only", "main-cartpole", "--seeds", "2")  # of the store


def hash_of(*arrays):
    digest = hashlib.sha256()
    for array in map(np.ascontiguousarray, arrays):
        digest.update(f"{array.shape}{array.dtype.descr}".encode() + array.tobytes())
    return digest.hexdigest()[:16]


def what_comes_of(path):
    """Hashes of a saved agent as it is loaded, and after some more training."""
    agent = spaql.load(path)
    told = {"agent": f"{agent.algorithm} on {agent.problem.name}, seed {agent.seed}", "options": agent.options, "history": hash_of(agent.history.table)}
    if agent.arms > 1 or len(agent.history):
        told |= {"leaves": hash_of(agent.leaves()), "returns": hash_of(agent.evaluate(10, seed=5).returns)}
    agent.learn(3, rollouts=2)
    told |= {"history after": hash_of(agent.history.table), "leaves after": hash_of(agent.leaves())}
    return told | {"returns after": hash_of(agent.evaluate(10, seed=6).returns)}


def what_policy_comes_of(text):
    """Hashes of what a policy written as JSON does."""
    from importlib import import_module

    try:
        policy = import_module("spaql.policy.policy").Policy.from_json(text)
    except ModuleNotFoundError:  # version 0.1.0 had it elsewhere
        policy = import_module("spaql.explain.policy").Policy.from_json(text)
    states = np.random.default_rng(0).uniform(-1.0, 1.0, (200, len(policy.problem.state)))
    return {
        "leaves": policy.n_leaves,
        "actions": hash_of(policy.decide(states)),
        "returns": hash_of(policy.evaluate(10, seed=5).returns),
        "text": hashlib.sha256(policy.to_json().replace(spaql.__version__, VERSION).encode()).hexdigest()[:16],
    }


def _write_agents(folder):
    def keep(name, agent, *training, **more):
        agent.learn(*training, **more) if training or more else None
        agent.save(folder / f"{name}.spaql")

    for problem in ("cartpole", "pendulum"):
        whole, short = spaql.make(problem), spaql.make(problem, horizon=20)
        keep(f"{problem}-spaql", spaql.SPAQL(whole, seed=3), 15, 4)
        keep(f"{problem}-spaql-ts", spaql.SPAQLTS(whole, seed=3, distance="sup"), 15, 4)
        keep(f"{problem}-aql", spaql.AQL(short, seed=3), 15, 4)
        keep(f"{problem}-nbql", spaql.NBQL(short, seed=3, step=0.5), 15, 4)
        keep(f"{problem}-zoomrl", spaql.ZoomRL(short, seed=3), 15, 4)
        keep(f"{problem}-random", spaql.Random(whole, seed=3), 15, 4)
        keep(f"{problem}-atlas", spaql.Atlas(whole, seed=3, cells=200, controller="table"), samples=250)
    keep("untrained-spaql", spaql.SPAQL(spaql.make("pendulum-5"), seed=3))
    keep("untrained-atlas", spaql.Atlas(spaql.make("pendulum-5"), seed=3, cells=200, controller="table"))
    noisy = spaql.make("pendulum", m=spaql.Between(0.8, 1.2), process_noise={"velocity": 0.05}, horizon=50)
    keep("noisy-spaql", spaql.SPAQL(noisy, seed=3), 15, 4)
    keep("gymnasium-spaql", spaql.SPAQL(spaql.from_gym("CartPole-v1", horizon=50), seed=3), 5, 2)


def write(folder):
    """With the version of spaql that is installed."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_agents(folder)
    compressed = spaql.load(folder / "pendulum-spaql.spaql").policy().compress(laws=False, max_leaves=4, budget=100_000)
    (folder / POLICY).write_text(compressed.to_json())
    told = {"agents": {path.name: what_comes_of(path) for path in sorted(folder.glob("*.spaql"))}}
    told |= {"policy": what_policy_comes_of((folder / POLICY).read_text())}
    (folder / EXPECTED).write_text(json.dumps(told, indent=1) + "\n")
    spaql_command = [sys.executable, "-c", "from spaql.cli import main; main()"]
    subprocess.run([*spaql_command, "reproduce", *STUDY, "--no-report", "--quiet", "--store", folder / STORE], check=True)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
