"""What Python hands to compiled code: few arguments, each with a name, and of the types the code was made for."""

import ast
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import spaql
from spaql.ground.compiling import machine_code
from spaql.learners.act import Actor, Exploration, Trainee, act_once
from spaql.partition.greedy import new_greedy, new_scratch
from spaql.training.gym_loop import TrainingSteps

SOURCE = Path(spaql.__file__).parent
MOST = 9  # arguments of a compiled function
FILES = sorted(
    [*(SOURCE / "training").glob("*.py"), *(SOURCE / "compress").glob("*.py"), *(SOURCE / "learners").glob("*.py")]
)
COMPILED = {"kernel", "entry", "inlined"}


def compiled_functions(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef) and COMPILED & {getattr(made, "id", "") for made in node.decorator_list}:
            yield node


@pytest.mark.parametrize("path", [path for path in FILES if path.name != "atlas_loop.py"], ids=lambda path: path.stem)
def test_compiled_functions_take_few_arguments(path):
    assert {node.name: len(node.args.args) for node in compiled_functions(path) if len(node.args.args) > MOST} == {}


def agent_on(dtype):
    box = gymnasium.spaces.Box(-1.0, 1.0, (2,), dtype)
    made = type("Env", (gymnasium.Env,), {"observation_space": box, "action_space": gymnasium.spaces.Discrete(2)})
    return spaql.SPAQL(spaql.from_gym(made(), horizon=5), seed=1)


def steps_of(dtype):
    state = (agent := agent_on(dtype)).state
    scratch, greedy = new_scratch(state.space, state.trainee), new_greedy(state.space, state.trainee)
    trainee = Trainee(state.space, agent.chart, agent.rule, state.trainee, greedy, scratch)
    return TrainingSteps(trainee, Exploration(np.uint64(3), 1.0), False, np.dtype(dtype)), agent


def test_machine_code_is_that_of_the_types_of_all_arguments():
    agent = agent_on(np.float64)
    actor = Actor(agent.state.space, agent.chart, agent.state.policy(agent.chart))
    rest = np.uint64(0), 0, True, np.zeros(2), np.zeros(1)
    seen = {dtype: np.array([0.5, -0.5], dtype) for dtype in (np.float32, np.float64)}
    codes = {dtype: machine_code(act_once, actor, observation, *rest) for dtype, observation in seen.items()}
    assert len({id(code) for code in codes.values()}) == 2
    assert machine_code(act_once, actor, seen[np.float32], *rest) is codes[np.float32]
    for dtype, code in codes.items():
        assert code(actor, seen[dtype], *rest) == -1
        np.testing.assert_array_equal(rest[3], [0.5, -0.5])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_training_steps_read_every_observation_as_the_type_they_were_made_for(dtype):
    clean, other = np.array([0.25, -0.5], dtype), np.array([0.25, 0.0, -0.5, 0.0])[::2]  # strided, double
    found = []
    for observation in (clean, other):
        steps, agent = steps_of(dtype)
        assert steps.first(observation) == -1
        assert steps.next(1, observation, 1.0, False) == -1
        found.append(
            (steps.action.tolist(), steps.trainee.scratch.x.tolist(), agent.state.trainee.balls["q"][:9].tolist())
        )
    assert found[0] == found[1]
    assert found[0][1] == [0.25, -0.5]
