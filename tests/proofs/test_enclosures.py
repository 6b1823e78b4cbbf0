"""The bounds of elementary functions, of the prover and of the checker, against arithmetic of 60 digits."""

import math
from decimal import Decimal

import numpy as np
import pytest

from exact_functions import OF, exact
from spaql.ground import fastmath
from spaql.ground.compiling import kernel
from spaql.proofs import checked_functions as en
from spaql.proofs import intervals as iv
from spaql.proofs.graph import Graph, joined
from spaql.proofs.machine import registers, result, run
from spaql.proofs.tracing import paths

RANGES = {"sin": (-50.0, 50.0), "cos": (-50.0, 50.0), "exp": (-30.0, 30.0), "log": (1e-6, 1e6), "sqrt": (0.0, 1e4), "tanh": (-9.0, 9.0), "atan": (-40.0, 40.0)}


@kernel
def of_programs(x, out):
    out[0], out[1], out[2] = fastmath.sin(x), fastmath.cos(x), fastmath.exp(x)
    out[3], out[4] = fastmath.log(abs(x)), fastmath.tanh(x)


def points(name, count, rng):
    low, high = RANGES[name]
    near = [k * math.pi / 2 + e for k in range(-9, 10) for e in (-1e-9, 0.0, 1e-9)] if name in ("sin", "cos") else []
    return np.concatenate([rng.uniform(low, high, count), rng.uniform(-1e-3, 1e-3, 20) * (low < 0), near])


def test_programs_are_as_accurate_as_the_intervals_take_them_to_be():
    """Of four times 1e-15, which the prover adds, and of 2e-15, which the checker adds, less than a half is used."""
    rng, out = np.random.default_rng(0), np.zeros(5)
    for x in np.concatenate([points("sin", 400, rng), rng.uniform(-600, 600, 200)]):
        if x == 0.0:
            continue
        of_programs(x, out)
        for place, name in enumerate(("sin", "cos", "exp", "log", "tanh")):
            truth = exact(name, abs(x) if name == "log" else x)
            if name == "exp" and abs(x) > 100:
                continue
            scale = abs(truth) if name == "exp" else 1 + abs(truth) if name == "log" else Decimal(1)
            error = abs(Decimal(out[place]) - truth) / scale
            assert error < 1.1e-15 < min(iv.FUNCTION, en.LIBRARY), (name, x)


def machine_for(name):
    graph = Graph()
    scope = {"math": math}
    exec(f"def f(x):\n    return math.{name}(x)", scope)
    tape, begins = joined(graph, paths(scope["f"], 1, graph))
    numbers, out = registers(len(tape), 1), result(1, 1)

    def over(low, high):
        run(tape, 0, begins[-1], np.array([[low, high]]), True, True, numbers, out)
        return out.box[0].copy(), out.slopes[0, 0].copy(), out.error[0]

    return over


def of_the_checker(name, low, high):
    ends = np.array([low]), np.array([high])
    en.over(en.NAMES.index(name), *ends)
    return ends[0].item(), ends[1].item()


@pytest.mark.parametrize("name", list(OF))
def test_ranges_hold_exact_values(name):
    rng, over = np.random.default_rng(1), machine_for(name)
    low_end, high_end = RANGES[name]
    for _ in range(300):
        centre, width = rng.uniform(low_end, high_end), 10.0 ** rng.uniform(-12, 0.5)
        low, high = max(centre - width, low_end), min(centre + width, high_end)
        box, _, _ = over(low, high)
        checked = of_the_checker(name, low, high)
        for x in (low, high, *rng.uniform(low, high, 3)):
            truth = exact(name, x)
            assert Decimal(box[0]) <= truth <= Decimal(box[1])
            assert Decimal(checked[0]) <= truth <= Decimal(checked[1])
            # and what a program may have, which is as accurate as the test above says
            scale = {"exp": truth, "log": 1 + abs(truth)}.get(name, Decimal(name != "sqrt"))
            off = Decimal('1.1e-15') * scale if abs(truth) < 0.99 or name in ("exp", "log", "atan") else 0
            assert Decimal(checked[0]) <= truth - off
            assert truth + off <= Decimal(checked[1])


@pytest.mark.parametrize("name", list(OF))
def test_ranges_are_not_much_too_wide(name):
    """Else a bound that says nothing would pass."""
    over, x = machine_for(name), 0.7
    box, slopes, error = over(x, x)
    checked = of_the_checker(name, x, x)
    truth = float(exact(name, x))
    assert max(abs(box - truth)) < 2e-14
    assert max(abs(end - truth) for end in checked) < 2e-14
    step = 1e-6
    assert slopes.mean() == pytest.approx((float(exact(name, x + step)) - float(exact(name, x - step))) / (2 * step), rel=1e-6)
    assert 0.0 < error < 2e-14


@pytest.mark.parametrize("operation", ["add", "sub", "mul", "div"])
def test_the_checker_rounds_outwards(operation):
    rng = np.random.default_rng(2)
    ends = rng.normal(size=(4, 500)) * 10.0 ** rng.uniform(-8, 8, (4, 500))
    a, b = np.sort(ends[:2], axis=0), np.sort(ends[2:], axis=0)
    low, high = getattr(en, operation)(tuple(a), tuple(b))
    for k in range(500):
        for x in a[:, k]:
            for y in b[:, k]:
                X, Y = Decimal(x), Decimal(y)
                truth = {"add": X + Y, "sub": X - Y, "mul": X * Y, "div": X / Y}[operation]
                assert Decimal(low[k].item()) <= truth <= Decimal(high[k].item())


def test_what_is_not_known_is_everything():
    infinite = (np.array([-np.inf]), np.array([np.inf]))
    assert en.mul(infinite, (np.zeros(1), np.zeros(1)))[1][0] == np.inf
    assert en.div((np.ones(1), np.ones(1)), (-np.ones(1), np.ones(1)))[0][0] == -np.inf
    for name in ("log", "sqrt"):
        box, _, _ = machine_for(name)(-1.0, 1.0)
        assert box[0] == -np.inf
        assert of_the_checker(name, -1.0, 1.0)[0] == -np.inf
