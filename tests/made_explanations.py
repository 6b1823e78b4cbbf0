"""Policies to explain, their pages, and a browser to look at them."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import spaql
from browser import opened
from helpers import linear_plant
from spaql.compress.frontier import FrontierPoint
from spaql.report.explanation import write_explanation
from spaql.trees.tree import Builder

NASTY = '</script><script>alert("x")</script>&\u2028<b>'


def learned(name, learner=spaql.SPAQL, iterations=50):
    agent = learner(spaql.make(name), seed=0)
    agent.learn(iterations, rollouts=3)
    return agent.policy()


def oblique_tree(table):
    """Four leaves, one test with all variables."""
    d = len(table.problem.state)
    grow = Builder(d, table.rules.actions.shape[1])
    root, first = grow.test(d - 1, -0.1), grow.leaf(table.rules.actions[-1])
    middle = grow.test(d, 0.0123, 0.1 * np.arange(1, d + 1) - 0.25)
    grow.join(root, first, middle)
    low, high = grow.test(0, 0.31), grow.leaf(1.0)
    grow.join(middle, low, high)
    grow.join(low, grow.leaf(1.0), grow.leaf(0.0))
    tree = grow.tree()
    measured = ((1, 9.5, (9.0, 10.0), 0.5), (4, 50.0, (45.0, 55.0), 0.8), (30, 51.0, (48.0, 54.0), 1.0))
    sizes = tuple(FrontierPoint(*one, 0.5, tree) for one in measured)
    return replace(table, rules=tree, kind="compressed tree", table_policy=table, samples=1234, frontier=sizes)


def cube_policy(name="cube", axis="x", unit="", d=2, updates=300):
    """Learned from outside data: no plant, so no episodes."""
    problem = spaql.cube(d, [0, 1, 2], 10)
    state = tuple(replace(one, name=f"{axis}{j}", unit=unit) for j, one in enumerate(problem.state))
    agent, rng = spaql.SPAQL(replace(problem, name=name, summary=f"{name} in words", state=state), xi=1.0), np.random.default_rng(0)
    for _ in range(updates):
        x, action = rng.uniform(-1, 1, d), int(rng.integers(3))
        agent.update(x, action, 1.0 - abs(x[0] - 0.6 * (action - 1)), x)
    return agent.policy()


def written(folder, table, policy=None):
    path = folder / "page.html"
    write_explanation(table, table if policy is None else policy, path)
    return path.read_text("utf-8")


def data_of(page):
    return json.loads(re.search(r'id="explanation-data">(.*?)</script>', page, re.S)[1], parse_constant=pytest.fail)


def text_of(page):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", re.sub(r"(?s)<(script|style)>.*?</\1>", " ", page)))


def grown(leaves, d=2):
    """A random tree with many leaves."""
    rng = np.random.default_rng(0)
    grow = Builder(d, 1)

    def build(count, low, high):
        if count == 1:
            return grow.leaf(float(rng.integers(3)))
        j = int(np.argmax(high - low))
        cut = float(rng.uniform(low[j] + 0.3 * (high[j] - low[j]), high[j] - 0.3 * (high[j] - low[j])))
        node, below, above = grow.test(j, cut), high.copy(), low.copy()
        below[j], above[j] = cut, cut
        grow.join(node, build(count // 2, low, below), build(count - count // 2, above, high))
        return node

    build(leaves, np.full(d, -1.0), np.full(d, 1.0))
    return grow.tree()


@pytest.fixture(scope="module")
def policies():
    """By name: the table, and the form that is shown."""
    pendulum, cartpole = learned("pendulum"), learned("cartpole", spaql.SPAQLTS, 60)
    untrained, flat = spaql.SPAQL(spaql.make("pendulum")).policy(), linear_plant(1, horizon=20)
    agent = spaql.SPAQL(flat, xi=1.0)
    agent.learn(20, rollouts=2)
    nasty, two = cube_policy(NASTY, NASTY, NASTY), spaql.SPAQL(linear_plant(2, k=2), xi=1.0)
    two.learn(10, rollouts=2)
    return {
        "cartpole": (cartpole, cartpole.tree()),
        "pendulum": (pendulum, pendulum.tree()),
        "oblique": (cartpole, oblique_tree(cartpole)),
        "nasty": (nasty, nasty.tree()),
        "untrained": (untrained, untrained.tree()),
        "one variable": (agent.policy(), agent.policy().tree()),
        "two actions": (two.policy(), two.policy().tree()),
    }


@pytest.fixture(scope="module")
def paths(policies, tmp_path_factory):
    folder = tmp_path_factory.mktemp("explained")
    for name, (table, shown) in policies.items():
        write_explanation(table, shown, folder / f"{name}.html")
    return {name: folder / f"{name}.html" for name in policies}


@pytest.fixture(scope="module")
def window(browser, paths):
    with opened(browser, paths["cartpole"]) as page:
        yield page


@pytest.fixture
def page(window):
    """The page of the cart and pole as it opens, in the same window for all tests."""
    window.mouse.move(0, 0)
    window.evaluate("localStorage.clear()")
    window.reload()
    settle(window)
    return window


def settle(page):
    """What is drawn at the next frame is drawn."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def pixels(page):
    settle(page)
    return page.evaluate("document.querySelector('.map canvas').toDataURL()")


def now(page):
    return np.array(page.evaluate("spaql.now.x"))


def states_for(policy, count):
    """Random states, some of them on cuts and just below."""
    rng, state, rules = np.random.default_rng(1), policy.problem.state, policy.rules
    low, high = (np.array([side * 3.0 if axis.slope else bound for axis, bound in ((a, getattr(a, end)) for a in state)])
                 for end, side in (("low", -1), ("high", 1)))  # fmt: skip
    states = rng.uniform(low, high, (count, len(state)))
    for j in range(len(state)):
        cuts = rules.nodes["cut"][(rules.nodes["feature"] == j) & (rules.nodes["cut"] != 0.0)]  # just below zero counts as zero
        if len(cuts):
            rows = rng.integers(0, count, count // 5)
            states[rows, j] = rng.choice(cuts, len(rows))
            states[rows[::2], j] = np.nextafter(states[rows[::2], j], -np.inf)
    return states
