"""Episodes on a graphics card: the bits of the CPU, with Numba's simulator of a card; and one line where there is none."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import spaql
from spaql.ground.errors import SpaqlError

SIMULATED = Path(__file__).with_name("simulated.py")
HERE = os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "SPAQL_PROGRESS": "0"}


@pytest.fixture(scope="module")
def told():
    """What the simulator gives, compared with the CPU: a fresh process, as Numba asks for it when it is loaded."""
    command = [sys.executable, "-W", "ignore", str(SIMULATED)]
    done = subprocess.run(command, env=HERE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_episode_has_the_bits_of_the_cpu(told):
    assert len(told) >= 20
    assert [name for name, same in told.items() if not same] == []


def test_without_a_card_one_line_says_what_to_do():
    policy = spaql.law(spaql.make("pendulum"), [0.0, 0.0, 0.0])
    with pytest.raises(SpaqlError, match=r"spaql\[cuda\]|no CUDA card can be used"):
        policy.evaluate(10, device="cuda")
    agent = spaql.Laws(spaql.make("pendulum"), device="cuda")
    with pytest.raises(SpaqlError, match=r"spaql\[cuda\]|no CUDA card can be used"):
        agent.learn(samples=10_000)
    with pytest.raises(SpaqlError, match="device must be one of 'cpu', 'cuda'"):
        policy.evaluate(10, device="gpu")


def test_what_a_card_cannot_compress_is_said():
    with pytest.raises(SpaqlError, match="a card runs laws on a compiled plant"):
        spaql.law(spaql.make("pendulum"), [0.0, 0.0, 0.0]).compress(2, laws=False, device="cuda")


def test_an_environment_in_python_stays_on_the_cpu():
    agent = spaql.Laws(spaql.from_gym("CartPole-v1"), device="cuda")
    with pytest.raises(SpaqlError, match="runs on the CPU only"):
        agent.learn(samples=10_000)


@pytest.mark.slow
def test_the_benchmark_says_so_too():
    command = [sys.executable, "-m", "spaql", "bench", "--device", "cuda"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
