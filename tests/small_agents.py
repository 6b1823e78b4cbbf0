"""Small agents, to the bit: `python tests/small_agents.py laws spaql [--without CFunc.compile]` prints a line for each.

`--without`: as if Numba lacked this private name. Its interfaces, the version of Numba, and the agents' digests are
printed; tests compare them between interfaces and between versions.
"""

import contextlib
import hashlib
import sys
import warnings

import spaql
from taken_away import taken_away


def laws():
    agent = spaql.Laws(spaql.make("cartpole-fitted"), max_leaves=1, seed=0)
    agent.learn(samples=20_000)
    return agent


def trained():
    agent = spaql.SPAQL(spaql.make("pendulum"), seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # thirty iterations are too few, which it says
        agent.learn(30, rollouts=4)
    return agent


AGENTS = {"laws": laws, "spaql": trained}


def digest(agent):
    told = f"{agent.policy().to_json()} {float(agent.evaluate(20).mean).hex()}"
    return hashlib.sha256(told.encode()).hexdigest()


if __name__ == "__main__":
    names, _, missing = (part.strip() for part in " ".join(sys.argv[1:]).partition("--without"))
    with taken_away(missing) if missing else contextlib.nullcontext():
        from spaql.ground.compiling import interfaces, numba
    print(interfaces.__name__, numba.__version__)
    for name in names.split():
        print(name, digest(AGENTS[name]()))
