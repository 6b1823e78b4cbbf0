"""Compile, in three processes, what most tests need. Without it both workers of `make test` would compile the same things side by side."""

import math
import subprocess
import sys
import tempfile
import time

import numpy as np

import spaql
from sliders import slider
from spaql.laws import in_model


def spaql_compiled():
    agent = spaql.SPAQL(spaql.make("cartpole"))
    agent.learn(2, rollouts=2)
    agent.evaluate(2)


def aql_compiled():
    spaql.AQL(spaql.make("cartpole")).learn(2, rollouts=2)


def gymnasium_loops():
    for learner in (spaql.SPAQL, spaql.AQL):
        agent = learner(spaql.from_gym("spaql/CartPole-v0"))
        agent.learn(2, rollouts=2)
        agent.evaluate(2)
        agent.update(np.zeros(4), 0, 0.0, np.zeros(4))


def explained():
    agent = spaql.SPAQL(spaql.make("cartpole"))
    policy = agent.policy()
    policy.why(np.zeros(4))
    policy.compress(laws=False, max_leaves=4, budget=20_000, episodes=16).evaluate(8)
    agent.leaves()
    with tempfile.TemporaryDirectory() as folder:
        agent.save(f"{folder}/agent.spaql")
        spaql.load(f"{folder}/agent.spaql")


def atlas():
    agent = spaql.Atlas(spaql.make("cartpole"), controller="table")
    agent.learn(samples=300)
    agent.policy().compress(laws=False, max_leaves=4, budget=20_000, episodes=16)
    agent.policy().why(np.zeros(4))


def laws():
    for problem in ("cartpole", "pendulum"):
        spaql.Laws(spaql.make(problem), max_leaves=2).learn(samples=50_000)
    in_model.SEARCH_KERNELS, in_model.LOOK_AHEAD_KERNELS = 2e7, 1e7
    for problem in ("cartpole", "pendulum"):
        agent = spaql.Atlas(spaql.make(problem), controller="laws")
        agent.learn(samples=60)
        agent.trust()


def proofs():
    balancing = spaql.law(spaql.make("cartpole-500"), {"angle": 16.0, "angular velocity": 4.0, "velocity": 2.0, "position": 1.0})
    pushing = spaql.law(spaql.make("mountain-car"), {"velocity": 1000.0}, offset=2.0)
    torque = spaql.Continuous((-1.0,), (1.0,), ("torque",))
    swing = spaql.from_ode(
        lambda angle, rate, torque: (rate, torque - angle), start={"angle": 0.1, "rate": 0.0}, actions=torque, dt=0.1, horizon=2,
        reward=lambda angle, rate, torque: -angle,
    )
    slowing = spaql.law(swing, {"rate": -1.0})
    asked = (
        (balancing, {"steps": math.inf}), (pushing, {}), (slowing, {"at": {0.2: {"angle": (-1.0, 1.0)}}}),
        (slowing, {"reach": {"angle": (-1.0, 1.0)}}), (slider(), {"reach": {"x": (-0.4, 0.4)}}),
    )
    with tempfile.TemporaryDirectory() as folder:
        for policy, question in asked:
            proof = policy.prove(seconds=1, **question)
            if proof.evidence:
                proof.save(f"{folder}/proof.json")
                spaql.check_proof(f"{folder}/proof.json", policy)


# Functions that several kernels share are compiled once per process: together stands what shares most.
GROUPS = {"training": (spaql_compiled, aql_compiled, gymnasium_loops, explained), "policies": (atlas, laws), "proofs": (proofs,)}

if __name__ == "__main__":
    if len(sys.argv) > 1:
        for part in GROUPS[sys.argv[1]]:
            began = time.process_time()
            part()
            print(f"  compiled {part.__name__.replace('_', ' ')}: {time.process_time() - began:.0f} s")
        sys.exit()
    groups = [subprocess.Popen([sys.executable, __file__, name]) for name in GROUPS]
    sys.exit(max(group.wait() for group in groups))
