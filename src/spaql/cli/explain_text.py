"""The output of `spaql explain`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spaql.analysis.paired import OWN, beside
from spaql.cli.baselines import compared_json, compared_table
from spaql.cli.explain import ROWS
from spaql.compress.frontier import episodes_for
from spaql.export.heading import title
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import at_work, working
from spaql.ground.writing import kept
from spaql.policy.digits import counted
from spaql.policy.evaluation import Evaluation
from spaql.policy.frame import rich_table
from spaql.policy.policy import Policy
from spaql.policy.worst import Worst
from spaql.report.explanation import Worth, agreement, may_differ, worth_of, write_explanation


def show_policy(
    made: Callable[[], tuple[Policy, Policy]], observation: list[float] | None, html: Path | None, rows: int,
    falsify: bool, as_json: bool, baselines: Callable[[], dict[str, Any]] = dict,
) -> None:  # fmt: skip
    """`made`: the policy as it was learned, and in the form that was asked for; `baselines`: others, to compare."""
    from rich.console import Console

    console, why, worth, worst, others, unwritten = Console(), None, None, None, None, None
    shown: list[Any] = []
    with working("reading the agent", False if as_json else None):
        table, policy = made()
        if observation is not None:
            why = policy.why(observation)
        listed = as_json or why is None or rows != ROWS
        if listed or html is not None:
            worth = worth_of(table, policy, sizes=as_json or html is not None)
        if falsify:
            worst = policy.falsify()
        others = _others(policy, baselines(), None if worth is None else worth.fresh)
        if html is not None:
            name = html.name
            unwritten = kept(
                html.parent, lambda folder: write_explanation(table, policy, folder / name, worst, worth, others)
            )
            html = None if unwritten is not None else html
        at_work("putting it into words")
        if listed and not as_json:
            shown = [title(policy), rich_table(policy, rows, console.width), *_sizes(table)]
    if as_json:
        assert worth is not None
        print(json.dumps(_plain(table, policy, worth, worst, html, why, others), indent=1, default=str))
        _raised(unwritten)
        return
    if why is not None:
        console.print(str(why), highlight=False, markup=False)
        console.print()
    for one in shown:
        console.print(one, highlight=False)
    for line in [*(_earned(policy, worth) if listed and worth is not None else ()), *_said(policy)]:
        console.print(line, highlight=False, markup=False)
    if others is not None:
        console.print(compared_table(others, console.width))
    if worst is not None:
        console.print(f"\n{worst}", highlight=False, markup=False)
    if html is not None:
        console.print(f"open {html}", highlight=False, soft_wrap=True)
    _raised(unwritten)


def _others(policy: Policy, baselines: dict[str, Any], fresh: Evaluation | None) -> Any:
    """Others in the episodes in which the policy was evaluated, or is now."""
    if not baselines:
        return None
    return beside({OWN: policy}, {OWN: policy.evaluate(episodes_for(policy)) if fresh is None else fresh}, baselines)


def _raised(error: SpaqlError | None) -> None:
    if error is not None:
        raise error


def _sizes(table: Policy) -> list[str]:
    if table.has_laws:  # they are shown as they were found
        return []
    return [f"{counted(table.n_leaves, 'region')} as learned; a tree with {_leaves(table.tree())} does the same."]


def _leaves(tree: Policy) -> str:
    return "one leaf" if tree.n_leaves == 1 else f"{tree.n_leaves:,} leaves"


def _earned(policy: Policy, worth: Worth) -> list[str]:
    """The fresh episodes that the page shows and `policy.evaluate()` runs; of a small tree, the table beside it."""
    if worth.fresh is None:
        return []
    lines = [f"{_episodes(worth.fresh)}:", *worth.fresh.lines()]
    if may_differ(policy) and worth.own is not None:
        lines.append(f"  the table   {worth.own.mean:.2f} in the same episodes")
        lines += filter(None, [agreement(policy)])
    return lines


def _episodes(fresh: Evaluation) -> str:
    n = len(fresh.returns)
    return f"{n:,} fresh episode{'' if n == 1 else 's'} on {fresh.plant}, seed {fresh.seed}"


def _said(policy: Policy) -> list[str]:
    """Certificate and warnings."""
    lines = [] if policy.certificate is None else policy.certificate.lines
    return [*lines, *(f"Warning: {note}." for note in policy.notes)]


def _plain(
    table: Policy, policy: Policy, worth: Worth, worst: Worst | None, html: Path | None, why: Any, others: Any
) -> dict[str, Any]:
    """For machines."""
    points = [{name: value for name, value in vars(point).items() if name != "tree"} for point in worth.sizes]
    entries: dict[str, Any] = {"policy": repr(policy), "regions": policy.n_leaves}
    entries |= {"exact_tree_leaves": table.tree().n_leaves, "samples": policy.samples}
    entries |= {"laws": policy.n_leaves, "numbers": policy.numbers} if policy.has_laws else {}
    entries |= {"html": None if html is None else str(html)}
    entries |= {"table": json.loads(policy.table().to_json(orient="records"))}
    entries |= {"fresh": worth.fresh.to_dict()} if worth.fresh is not None else {}
    entries |= {"fresh_of_table": worth.own.to_dict()} if worth.own is not None and may_differ(policy) else {}
    entries |= {"warnings": list(policy.notes)} if policy.notes else {}
    entries |= {"certificate": policy.certificate.to_dict()} if policy.certificate is not None else {}
    entries |= {"worst": worst.to_dict()} if worst is not None else {}
    entries |= {"compared": compared_json(others)} if others is not None else {}
    return entries | {"frontier": points, "why": None if why is None else str(why)}
