"""Controllers in loops for the tests of exports: an episode of each, and an interpreter of their Structured Text."""

import re

import numpy as np

import spaql
from loops import motor
from spaql.plants.environment import PlantEnv
from structured_text import LawBlock

LOCK = spaql.Interlock("current", above=6.0, high=3.0)
TARGET = spaql.Reference("target", 0.0, 150.0, of="speed", hold=(10, 20))
MEMORY = ["integral(speed_error, 5)", "difference(speed, 2)", "average(current, 3)", "last(speed, 2)", "previous(voltage)"]
LAGS = ["lag(voltage, 0.2, 1.5)", "lag(speed, 0.05)"]
LOOPS = {
    "rate limit and interlock": {"rates": 4.0, "interlocks": [LOCK], "observe": ["speed_error", MEMORY[0], "current"]},
    "increments and all of the memory": {"increments": 3.0, "delay": {"actuator": 1}},
    "back-calculation": {"memory": LAGS, "observe": ["speed_error", *LAGS, "current"]},
    "no memory": {"memory": [], "observe": ["speed_error", "current"]},
}


def controller(told):
    problem = spaql.loop(motor(), **{"references": [TARGET], "memory": MEMORY, "noise": {"speed": 0.5}, "dt": 0.01} | told)
    gains = np.random.default_rng(3).normal(size=len(problem.state)) * 0.1
    return spaql.law(problem, gains, 0.25)


def inputs_and_applied(policy):
    """What is measured, with the references, and what the plant in its loop was given, over one episode."""
    env, problem = PlantEnv(policy.problem), policy.problem
    observation, _ = env.reset(seed=4)
    signals, z = problem.signals, None
    rows, applied = [], []
    for _ in range(problem.horizon):
        state = env.table[: env.plant.state_dim, 0]
        given = [*state[2:4].tolist(), float(state[4])]  # behind the motor's own state: measured, then the reference
        z = state[8 : 8 + len(signals.registers)].tolist()
        action = policy.decide(observation[None])[0]
        rows.append(given)
        applied.append(signals.functions.applied(*given, *z, *action.tolist())[0])
        observation, *_ = env.step(action)
    return rows, applied


def structured_loop(text):
    """The second block, line by line in Python; the first is run by the interpreter of laws."""
    law_text, _, loop_text = text.partition("\n(* The loop around it")
    law, head = LawBlock(law_text), re.search(r"VAR_INPUT\n(.*?)\nEND_VAR", loop_text, re.DOTALL)[1]
    names, out = re.findall(r"(\w+) : LREAL", head), re.search(r"VAR_OUTPUT\n\s*(\w+)", loop_text)[1]
    declared = set(re.findall(r"^    (\w+) : ", loop_text, re.MULTILINE))
    body = loop_text.rpartition("\nEND_VAR\n")[2].partition("END_FUNCTION_BLOCK")[0]
    begun = {name: float(value) for name, value in re.findall(r"^    (\w+) : LREAL := LREAL#(.*);", loop_text, re.MULTILINE)}
    kept = begun | {"started": False, "LIMIT": lambda low, x, high: min(max(x, low), high), "SEL": lambda g, no, yes: yes if g else no}

    def run(given):
        kept.update(zip(names, given, strict=True))
        skipped = False
        plain = re.sub(r"\b(AND|OR|NOT|TRUE)\b", lambda word: word[0].title() if word[0] == "TRUE" else word[0].lower(), body)
        for line in filter(None, map(str.strip, plain.replace("LREAL#", "").replace(";", "").splitlines())):
            if line.startswith("IF "):
                skipped = not eval(line.removeprefix("IF ").removesuffix(" THEN"), {}, kept)
            elif line == "END_IF":
                skipped = False
            elif line.startswith("law("):
                values = [kept[name] for name in re.findall(r":= (\w+)", line)]
                kept["law"] = type("Law", (), dict(zip(law.outputs, law.run(values), strict=True)))
            elif not skipped:
                left, right = line.split(" := ")
                assert left in declared
                kept[left] = eval(right, {}, kept)
        return kept[out]

    return run
