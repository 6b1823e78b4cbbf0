"""A controller explained on one page: as a tree, as a map, in motion, and why it does what it does."""

import math
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

import numpy as np

import spaql
from spaql.arrays import Array
from spaql.explain.export.colours import action_colours
from spaql.explain.policy import Policy
from spaql.explain.tables import counted_visits, known
from spaql.explain.tree import LEAF
from spaql.explain.words import action_words, number, rule_words, test_words
from spaql.report.explanation_data import page_data, recorded, shares_of
from spaql.report.shell import embedded, render, write_html
from spaql.training.history import Evaluation

FRESH = 1000  # episodes of the evaluation
FRESH_IN_PYTHON = 50  # the same, in an environment that is not compiled
OPEN_ROWS = 26  # leaves that are unfolded at first
MOST_LEAVES = 1000  # written out; the least used beyond that are only counted
FEW = 12  # leaves of a tree that is shown before everything else


def write_explanation(table: Policy, policy: Policy, path: Path) -> None:
    """`table`: the policy as learned; `policy`: the form to explain. A table is shown as its exact tree, which plays the same."""
    shown = policy.tree() if policy.kind == "table" else policy
    fresh = fresh_return(shown)
    own = fresh if fresh is None or policy.kind != "compressed tree" else fresh_return(table)
    episodes = [] if fresh is None else recorded(shown, fresh.returns)
    written = most_used(shown)
    text = render(
        "explanation.html",
        title=heading(table),
        origin=origin_line(table, policy),
        summary=table.problem.summary,
        verdict=verdict(table, policy, shown),
        remark=time_remark(table),
        key_figures=key_figures(table, shown, fresh, own),
        frontier=frontier(shown, own),
        tree=tree_rows(shown, written),
        rules=rules(shown, written),
        n_leaves=shown.n_leaves,
        all_open=shown.n_leaves <= OPEN_ROWS,
        tried=0 if shown.usage is None else len(shown.usage.returns),
        small=shown.n_leaves <= FEW,
        unused=bool((shown.share[shown.rules.leaves()] == 0.0).any()),
        episodes=[(place, episode_words(one)) for place, one in enumerate(episodes)],
        state=[(axis.name, axis.unit) for axis in table.problem.state],
        data=embedded(page_data(table, shown, episodes)),
    )
    write_html(path, text)


def fresh_return(policy: Policy) -> Evaluation | None:
    if not policy.problem.can_run:
        return None
    return policy.evaluate(FRESH if policy.problem.plant is not None else FRESH_IN_PYTHON)


# -- the head --------------------------------------------------------------------------------------------------------------------------


def heading(table: Policy) -> str:
    return f"{table.agent.algorithm} on {table.problem.name}" if table.agent is not None else table.origin


def origin_line(table: Policy, policy: Policy) -> str:
    parts = [f"seed {table.agent.seed}"] if table.agent is not None else []
    kind = "table, shown as an exact tree" if policy.kind == "table" else policy.kind
    return ", ".join([*parts, kind, f"written by spaql {spaql.__version__}"])


def verdict(table: Policy, policy: Policy, shown: Policy) -> str:
    """What this form of the controller has to do with what was learned."""
    leaves = "1 rule" if shown.n_leaves == 1 else f"{shown.n_leaves:,} rules"
    regions = "one region" if table.n_leaves == 1 else f"{table.n_leaves:,} regions"
    if shown.n_leaves == 1:
        return "The controller is one rule: it plays the same action everywhere. Nothing in it is random."
    if policy.kind == "compressed tree":
        usage = shown.usage
        text = f"The controller is {leaves}, found by shrinking a learned table of {regions}. It may differ from the table."
        if usage is None or not len(usage.states):
            return text
        same = float(np.all(table.decide(usage.states) == shown.decide(usage.states), axis=1).mean())
        return text + f" In the states it comes to, it plays what the table would play {100 * same:.1f} % of the time."
    return f"The controller is {leaves}, read off a learned table of {regions}. They play exactly what the table plays, everywhere."


def time_remark(table: Policy) -> str:
    if table.agent is None or not table.agent.per_step:
        return ""
    return (
        f"{table.agent.algorithm} learns one policy per time step. This page explains the one of step {table.step}; the others differ. "
        "Returns and episodes here are of this one, played at every step."
    )


def key_figures(table: Policy, shown: Policy, fresh: Evaluation | None, own: Evaluation | None) -> list[tuple[str, str]]:
    found = [(f"{shown.n_leaves:,}", "rules (leaves of the tree)"), (f"{table.n_leaves:,}", "regions as learned")]
    if fresh is not None:
        found.append((returned(fresh), f"return, mean of {len(fresh.returns):,} fresh episodes with 95 % interval"))
    if own is not None and fresh is not None and not np.array_equal(own.returns, fresh.returns):
        found.append((returned(own), "return of the learned table, same episodes"))
    history = None if table.agent is None else table.agent.history
    if history is not None and len(history.table):
        found.append((f"{int(history.train_samples[-1]):,}", "steps of the plant to learn from"))
        if history.eval_samples[-1] > 0:
            found.append((f"{int(history.eval_samples[-1]):,}", "steps to choose the best agent"))
    if shown.samples:  # Atlas looks for it in its model
        found.append((f"{shown.samples:,}", "steps to find the small tree" if table.plan is None else "steps to judge small trees"))
    return found


def episode_words(episode: dict[str, Any]) -> str:
    ended = f", ended at step {episode['steps']}" if episode["terminated"] else ""
    return f"{episode['label']}: return {number(episode['return'])}{ended}"


def returned(fresh: Evaluation) -> str:
    low, high = fresh.ci95
    half = (high - low) / 2
    if not math.isfinite(half):
        return number(fresh.mean)
    digits = 2 if half < 1 else 1
    return f"{fresh.mean:,.{digits}f} ± {half:,.{digits}f}"


def frontier(shown: Policy, own: Evaluation | None) -> dict[str, Any] | None:
    """All sizes a compression found: places in a picture of 100 by 100, and the numbers."""
    points = [point for point in (frontier_point(one) for one in shown.frontier) if point is not None]
    if not points:
        return None
    level = None if own is None else own.mean
    ends = [value for point in points for value in (point["low"], point["high"])] + ([] if level is None else [level])
    bottom, top = min(ends), max(ends)
    room = 0.06 * (top - bottom) or 1.0
    bottom, top = bottom - room, top + room
    most = max(2, *(point["leaves"] for point in points))
    for point in points:
        point["x"] = 100 * math.log(point["leaves"]) / math.log(most)
        point["y"], point["y_low"], point["y_high"] = (100 * (top - point[name]) / (top - bottom) for name in ("mean", "low", "high"))
        point["chosen"] = point["leaves"] == shown.n_leaves
    marks = [value for value in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512) if value <= most]
    return {
        "points": points,
        "level": None if level is None else 100 * (top - level) / (top - bottom),
        "level_text": None if level is None else number(level),
        "x_ticks": [(100 * math.log(value) / math.log(most), value) for value in marks],
        "y_ticks": [(100 * (top - value) / (top - bottom), number(value)) for value in np.linspace(bottom + room, top - room, 3).tolist()],
    }


def frontier_point(one: Any) -> dict[str, Any] | None:
    """One size: its attributes, whichever of the two ways they tell the interval."""
    leaves, mean = getattr(one, "leaves", None), getattr(one, "mean", None)
    if leaves is None or mean is None or not math.isfinite(mean):
        return None
    low, high = getattr(one, "ci95", None) or (getattr(one, "low", mean), getattr(one, "high", mean))
    low, high = (float(end) if math.isfinite(end) else float(mean) for end in (low, high))
    fidelity = getattr(one, "fidelity", None)
    told = "–" if fidelity is None or not math.isfinite(fidelity) else f"{100 * fidelity:.1f} %"
    interval = f"{number(low)} … {number(high)}"
    name = str(getattr(one, "name", "") or "")
    return {"leaves": int(leaves), "mean": float(mean), "low": low, "high": high, "fidelity": told, "interval": interval, "name": name}


# -- the tree and the rules, readable without scripts -----------------------------------------------------------------------------------


def most_used(policy: Policy) -> set[int]:
    """The leaves that are written out."""
    leaves = policy.rules.leaves()
    order = np.argsort(-np.nan_to_num(policy.share[leaves], nan=0.0), kind="stable")
    return {int(leaf) for leaf in leaves[order[:MOST_LEAVES]]}


def tree_rows(policy: Policy, written: set[int]) -> list[dict[str, Any]]:
    """The tree as it is written down: a row per node, each before its children, and the place where its children end."""
    rules, share = policy.rules, shares_of(policy)
    feature, low, high = (rules.nodes[name] for name in ("feature", "low", "high"))
    count, shown = np.zeros(len(feature), np.int64), np.zeros(len(feature), np.int64)
    for node in range(len(feature) - 1, -1, -1):  # children come after their parents
        leaf = feature[node] == LEAF
        count[node] = 1 if leaf else count[low[node]] + count[high[node]]
        shown[node] = int(node in written) if leaf else shown[low[node]] + shown[high[node]]
    unfolded, colour = unfolded_nodes(policy, share), action_colours(policy)
    number_of = {int(leaf): place for place, leaf in enumerate(rules.leaves(), 1)}
    rows: list[dict[str, Any]] = []
    stack: list[tuple[int, str]] = [(0, "")]
    while stack:
        node, words = stack.pop()
        if node < 0:
            rows.append({"kind": "end"})
            continue
        part = float(share[node])
        row = {"node": node, "words": words, "share": share_words(part), "part": None if math.isnan(part) else round(part, 4)}
        if shown[node] == 0 and count[node] > 0:
            rows.append(row | {"kind": "rest", "leaves": int(count[node])})
        elif feature[node] == LEAF:
            said = action_words(policy.problem, rules.actions[node])
            rows.append(row | {"kind": "leaf", "action": said, "colour": colour[node], "number": number_of[node]})
        else:
            rows.append(row | {"kind": "test", "open": node in unfolded, "leaves": int(count[node])})
            stack += [(-1, ""), *((int(side[node]), test_words(policy, node, above)) for side, above in ((high, True), (low, False)))]
    return rows


def unfolded_nodes(policy: Policy, share: Array) -> set[int]:
    """Tests that are open at first: the most used ones, until as many rows are seen as one can take in."""
    rules, heap = policy.rules, [(0.0, 0, 0)]
    found: set[int] = set()
    while heap and len(found) < OPEN_ROWS - 1:
        _, depth, node = heappop(heap)
        if rules.nodes["feature"][node] == LEAF:
            continue
        found.add(node)
        for side in ("low", "high"):
            child = int(rules.nodes[side][node])
            part = float(share[child])
            if math.isnan(part) or part > 0:
                heappush(heap, (float(depth) if math.isnan(part) else -part, depth + 1, child))
    return found


def share_words(part: float) -> str:
    if math.isnan(part):
        return ""
    if part == 0.0:
        return "never"
    return "< 0.1 %" if part < 0.001 else f"{100 * part:.1f} %" if part < 0.9995 else "100 %"


def rules(policy: Policy, written: set[int]) -> dict[str, Any]:
    """A row per leaf, the most used first, and which columns say anything."""
    leaves, colour, facts, n = policy.rules.leaves(), action_colours(policy), known(policy), policy.n_leaves
    share = policy.share[leaves]
    experienced = ~np.isnan(facts["q"])
    order = [int(i) for i in np.argsort(-np.nan_to_num(share, nan=0.0), kind="stable") if int(leaves[i]) in written]
    rows = [
        {
            "number": i + 1,
            "node": int(leaves[i]),
            "colour": colour[int(leaves[i])],
            "action": action_words(policy.problem, policy.rules.actions[leaves[i]]),
            "rule": rule_words(policy, int(leaves[i])) or ["always"],
            "share": share_words(float(share[i])) or "–",
            "q": number(float(facts["q"][i])) if experienced[i] else "–",
            "margin": number(float(facts["margin"][i])) if np.isfinite(facts["margin"][i]) else "–",
            "visits": "–" if np.isnan(facts["visits"][i]) else f"{facts['visits'][i]:,.0f}",
        }
        for i in order
    ]
    told = {"timed": not np.isnan(share).any(), "valued": bool(experienced.any()), "averaged": counted_visits(policy) is None}
    return {"rows": rows, "left_out": n - len(rows), **told}
