"""A controller explained on one page: as a tree, as a map, in motion, and why it does what it does."""

import math
from heapq import heappop, heappush
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spaql.analysis.paired import OWN, rows_of
from spaql.compress.frontier import FrontierPoint, episodes_for, restated
from spaql.export.drawing import action_colours
from spaql.export.monitor_runs import MonitorEvaluation
from spaql.ground.arrays import Array
from spaql.ground.progress import at_work, working
from spaql.plants.problem import Finite
from spaql.policy.evaluation import Evaluation
from spaql.policy.knowledge import known
from spaql.policy.policy import Policy
from spaql.policy.probe_results import Worst
from spaql.policy.words import number, percent, share_of_time
from spaql.report import page_parts
from spaql.report.explanation_data import page_data
from spaql.report.shell import embedded, render, write_html
from spaql.trees.regions import summed
from spaql.trees.tree import LEAF
from spaql.version import __version__

OPEN_ROWS = 26  # leaves that are unfolded at first
MOST_LEAVES = 1000  # written out; the least used leaves beyond that number are only counted
FEW = 12  # leaves of a tree that is shown before everything else


class Worth(NamedTuple):
    """Returns of a controller, of the table it was made from and of trees of other sizes, in the same episodes for the
    terminal, the page and JSON.

    They are the episodes of `policy.evaluate()`. None without a plant.
    """

    fresh: Evaluation | None
    own: Evaluation | None  # of the table
    sizes: list[FrontierPoint]


def worth_of(table: Policy, policy: Policy, *, sizes: bool = True) -> Worth:
    """`sizes`: the frontier too; in an environment it takes its time."""
    fresh = fresh_return(policy)
    own = fresh if fresh is None or not may_differ(policy) else fresh_return(table)
    return Worth(fresh, own, restated(policy, fresh) if sizes else [])


@working("writing the page")
def write_explanation(
    table: Policy, policy: Policy, path: Path, worst: Worst | None = None, worth: Worth | None = None,
    others: Any = None, monitor: MonitorEvaluation | None = None,
) -> None:  # fmt: skip
    """`table`: the policy as learned; `policy`: the form to explain; `worst`: what `policy.falsify()` has found.

    A table is shown as its exact tree, which applies the same actions. `others`: the table of `beside`; `monitor`: what
    `monitor.evaluate(policy)` has counted.
    """
    shown = policy.tree() if policy.kind == "table" else policy
    fresh, own, sizes = worth_of(table, policy) if worth is None else worth
    at_work("writing the page")
    episodes = [] if fresh is None else page_parts.recorded(shown, fresh.returns, worst)
    written = most_used(shown)
    text = render(
        "explanation.html",
        title=heading(table),
        origin=origin_line(table, policy),
        summary=table.problem.summary,
        verdict=verdict(table, policy, shown),
        remark=time_remark(table),
        notes=shown.notes,
        certificate=None if shown.certificate is None else shown.certificate.lines,
        proof=None if policy.proof is None else policy.proof.lines,
        monitor="" if monitor is None else monitor.line,
        key_figures=key_figures(table, shown, fresh, own),
        frontier=page_parts.frontier(sizes, shown.n_leaves, own),
        others=[] if others is None else rows_of(others),
        compared=0 if others is None else others.attrs["episodes"],
        own_name=OWN,
        responses=page_parts.step_views(shown),
        worst=None if worst is None else page_parts.worst_view(worst),
        tree=tree_rows(shown, written),
        rules=rules(shown, written),
        n_leaves=shown.n_leaves,
        laws=shown.has_laws,
        all_open=shown.n_leaves <= OPEN_ROWS,
        tried=0 if shown.usage is None else len(shown.usage.returns),
        small=shown.n_leaves <= FEW,
        unused=bool((shown.share[shown.rules.leaves()] == 0.0).any()),
        episodes=[(place, episode_words(episode)) for place, episode in enumerate(episodes)],
        state=[(axis.name, axis.unit) for axis in table.problem.state],
        data=embedded(page_data(table, shown, episodes)),
    )
    write_html(path, text)


def fresh_return(policy: Policy) -> Evaluation | None:
    if not policy.problem.can_run:
        return None
    return policy.evaluate(episodes_for(policy))


# -- the head ----------------------------------------------------------------------------------------------------------


def heading(table: Policy) -> str:
    learner = table.knowledge.learner
    return f"{learner} on {table.problem.name}" if learner else table.origin


def origin_line(table: Policy, policy: Policy) -> str:
    parts = [f"seed {table.knowledge.seed}"] if table.knowledge.learner else []
    kind = "table, shown as an exact tree" if policy.kind == "table" else policy.kind
    return ", ".join([*parts, kind, f"written by spaql {__version__}"])


def may_differ(policy: Policy) -> bool:
    """Whether this form of the controller does not do exactly what the table does."""
    return policy.kind == "compressed tree" or (policy.kind == "law tree" and policy.table_policy is not None)


def verdict(table: Policy, policy: Policy, shown: Policy) -> str:
    """How this form of the controller follows from the learned table."""
    if shown.has_laws:
        return page_parts.law_verdict(shown, table if may_differ(policy) else None)
    leaves = "1 rule" if shown.n_leaves == 1 else f"{shown.n_leaves:,} rules"
    regions = "one region" if table.n_leaves == 1 else f"{table.n_leaves:,} regions"
    if shown.n_leaves == 1:
        return "The controller is one rule: it applies the same action everywhere. Nothing in it is random."
    if policy.kind == "compressed tree":
        text = f"The controller is {leaves}, found by compressing a learned table of {regions}."
        return " ".join([text, "It may differ from the table.", *filter(None, [agreement(shown)])])
    read = f"The controller is {leaves}, read off a learned table of {regions}."
    return read + " They apply exactly the same actions as the table, everywhere."


def agreement(shown: Policy) -> str:
    """In how much of its time a small tree does what the table does, as on the frontier; empty if that is unknown."""
    own = [point for point in shown.frontier if point.leaves == shown.n_leaves and math.isfinite(point.fidelity)]
    if not own:
        return ""
    near = "" if isinstance(shown.problem.actions, Finite) else ", within a tenth of the range"
    return f"It agrees with the table in {percent(own[0].fidelity)} of the table's time{near}."


def time_remark(table: Policy) -> str:
    knowledge = table.knowledge
    if not knowledge.per_step:
        return ""
    return (
        f"{knowledge.learner} learns one policy per time step. "
        f"This page explains the one of step {knowledge.step}; the others differ. "
        "Returns and episodes here are of this one, applied at every step."
    )


def key_figures(
    table: Policy, shown: Policy, fresh: Evaluation | None, own: Evaluation | None
) -> list[tuple[str, str]]:
    facts = [(f"{shown.n_leaves:,}", "rules (leaves of the tree)"), (f"{table.n_leaves:,}", "regions as learned")]
    if shown.has_laws:
        facts[0] = (f"{shown.n_leaves:,}", "law" if shown.n_leaves == 1 else "laws (leaves of the tree)")
        facts[1 if table.has_laws else 2 :] = [(f"{shown.numbers:,}", "numbers in laws and tests")]
    if fresh is not None:
        facts.append((returned(fresh), f"return, mean of {len(fresh.returns):,} fresh episodes with 95 % interval"))
    if fresh is not None and fresh.failures.rule:
        facts.append((percent(fresh.failures.share), f"failures: an episode that {fresh.failures.rule}"))
    if own is not None and fresh is not None and not np.array_equal(own.returns, fresh.returns):
        facts.append((returned(own), "return of the learned table in the same episodes"))
    took = table.knowledge.samples
    if took.training:
        facts.append((f"{took.training:,}", "steps of the plant used for learning"))
    if took.evaluation:
        facts.append((f"{took.evaluation:,}", "steps used for choosing the best agent"))
    if shown.samples:  # a search in a model takes no step of the plant
        purpose = "finding the small tree" if table.knowledge.model is None else "judging small trees"
        facts.append((f"{shown.samples:,}", f"steps used for {purpose}"))
    return facts


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


# -- the tree and the rules, readable without scripts ------------------------------------------------------------------


def most_used(policy: Policy) -> set[int]:
    """The leaves that are written out."""
    leaves = policy.rules.leaves()
    order = np.argsort(-np.nan_to_num(policy.share[leaves], nan=0.0), kind="stable")
    return {int(leaf) for leaf in leaves[order[:MOST_LEAVES]]}


def tree_rows(policy: Policy, written: set[int]) -> list[dict[str, Any]]:
    """The tree as rows: one per node, before the rows of its children, and an end after them."""
    rules, words, share = policy.rules, policy.words, summed(policy.rules, policy.share)
    feature, low, high = (rules.nodes[name] for name in ("feature", "low", "high"))
    count, shown = np.zeros(len(feature), np.int64), np.zeros(len(feature), np.int64)
    for node in range(len(feature) - 1, -1, -1):  # children come after their parents
        leaf = feature[node] == LEAF
        count[node] = 1 if leaf else count[low[node]] + count[high[node]]
        shown[node] = int(node in written) if leaf else shown[low[node]] + shown[high[node]]
    unfolded, colour = unfolded_nodes(policy, share), leaf_colours(policy)
    number_of = {int(leaf): place for place, leaf in enumerate(rules.leaves(), 1)}
    rows: list[dict[str, Any]] = []
    stack: list[tuple[int, str]] = [(0, "")]
    while stack:
        node, test = stack.pop()
        if node < 0:
            rows.append({"kind": "end"})
            continue
        part = float(share[node])
        row = {
            "node": node,
            "words": test,
            "share": share_of_time(part),
            "part": None if math.isnan(part) else round(part, 4),
        }
        if shown[node] == 0 and count[node] > 0:
            rows.append(row | {"kind": "rest", "leaves": int(count[node])})
        elif feature[node] == LEAF:
            row |= {"lines": applied_lines(policy, node), "colour": colour[node], "number": number_of[node]}
            rows.append(row | {"kind": "leaf"})
        else:
            rows.append(row | {"kind": "test", "open": node in unfolded, "leaves": int(count[node])})
            stack += [(-1, "")]
            sides = ((int(high[node]), True), (int(low[node]), False))
            stack += [(child, page_parts.spoken(words, words.test(node, above))) for child, above in sides]
    return rows


def leaf_colours(policy: Policy) -> dict[int, str]:
    """By leaf: what its mark is filled with."""
    return page_parts.swatches(policy) if policy.has_laws else action_colours(policy)


def applied_lines(policy: Policy, leaf: int) -> list[str]:
    """What a leaf does: its action, or its law."""
    return page_parts.law_lines(policy.words, leaf) if policy.has_laws else [policy.words.leaf_action(leaf)]


def unfolded_nodes(policy: Policy, share: Array) -> set[int]:
    """Tests that are open at first: the most used tests, until there are `OPEN_ROWS` rows."""
    rules, heap = policy.rules, [(0.0, 0, 0)]
    opened: set[int] = set()
    while heap and len(opened) < OPEN_ROWS - 1:
        _, depth, node = heappop(heap)
        if rules.nodes["feature"][node] == LEAF:
            continue
        opened.add(node)
        for side in ("low", "high"):
            child = int(rules.nodes[side][node])
            part = float(share[child])
            if math.isnan(part) or part > 0:
                heappush(heap, (float(depth) if math.isnan(part) else -part, depth + 1, child))
    return opened


def rules(policy: Policy, written: set[int]) -> dict[str, Any]:
    """A row per leaf, the most used leaf first, and which columns have values."""
    leaves, colour, facts, n = policy.rules.leaves(), leaf_colours(policy), known(policy), policy.n_leaves
    share = policy.share[leaves]
    experienced = ~np.isnan(facts["q"])
    order = [int(i) for i in np.argsort(-np.nan_to_num(share, nan=0.0), kind="stable") if int(leaves[i]) in written]
    rows = [
        {
            "number": i + 1,
            "node": int(leaves[i]),
            "colour": colour[int(leaves[i])],
            "lines": applied_lines(policy, int(leaves[i])),
            "rule": [page_parts.spoken(policy.words, part) for part in policy.words.rule(int(leaves[i]))] or ["always"],
            "share": share_of_time(float(share[i])) or "–",
            "q": number(float(facts["q"][i])) if experienced[i] else "–",
            "margin": number(float(facts["margin"][i])) if np.isfinite(facts["margin"][i]) else "–",
            "visits": "–" if np.isnan(facts["visits"][i]) else f"{facts['visits'][i]:,.0f}",
        }
        for i in order
    ]
    averaged = policy.knowledge.visits(policy.rules) is None
    columns = {"timed": not np.isnan(share).any(), "valued": bool(experienced.any()), "averaged": averaged}
    return {"rows": rows, "left_out": n - len(rows), **columns}
