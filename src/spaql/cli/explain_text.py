"""The output of `spaql explain`."""

import json
from pathlib import Path
from typing import Any

from spaql.compress.frontier import FRESH, FRESH_IN_PYTHON, FRESH_SEED
from spaql.policy.frame import rich_table
from spaql.policy.policy import Policy
from spaql.policy.worst import Worst


def _earned(table: Policy, policy: Policy) -> list[str]:
    """The return of a compressed tree and of the table, if it was measured; and warnings, of any policy."""
    own, lines = [point for point in policy.frontier if point.leaves == policy.n_leaves], []
    if own:
        episodes = FRESH if policy.problem.plant is not None else FRESH_IN_PYTHON
        point, whole = own[0], table.evaluate(episodes, FRESH_SEED)
        earned = f"{point.mean:.1f} ({point.ci95[0]:.1f} to {point.ci95[1]:.1f})"
        lines = [f"On {episodes:,} fresh episodes this tree earns {earned}, the table {whole.mean:.1f}."]
        lines += policy.evaluate(episodes, FRESH_SEED).lines(first=1)
    lines += [] if policy.certificate is None else policy.certificate.lines
    return lines + [f"Warning: {note}." for note in policy.notes]


def show_policy(
    table: Policy, policy: Policy, observation: list[float] | None, html: Path | None, rows: int,
    worst: Worst | None, as_json: bool,
) -> None:  # fmt: skip
    """`table`: the policy as it was learned; `policy`: the form that was asked for; `worst`: its worst episode."""
    why = None if observation is None else policy.why(observation)
    if html is not None:
        from spaql.report.explanation import write_explanation

        write_explanation(table, policy, html, worst)
    if as_json:
        points = [{name: value for name, value in vars(point).items() if name != "tree"} for point in policy.frontier]
        entries: dict[str, Any] = {"policy": repr(policy), "regions": policy.n_leaves}
        entries |= {"exact_tree_leaves": table.tree().n_leaves, "samples": policy.samples}
        entries |= {"laws": policy.n_leaves, "numbers": policy.numbers} if policy.has_laws else {}
        entries |= {"html": None if html is None else str(html)}
        entries |= {"table": json.loads(policy.table().to_json(orient="records"))}
        entries |= {"warnings": list(policy.notes)} if policy.notes else {}
        entries |= {"certificate": policy.certificate.to_dict()} if policy.certificate is not None else {}
        entries |= {"worst": worst.to_dict()} if worst is not None else {}
        entries |= {"frontier": points, "why": None if why is None else str(why)}
        print(json.dumps(entries, indent=1, default=str))
        return
    from rich.console import Console

    console = Console()
    if why is not None:
        console.print(str(why), highlight=False, markup=False)
        console.print()
    if why is None or rows != 12:
        console.print(rich_table(policy, rows))
        if not table.has_laws:  # laws are shown as they were found
            leaves = table.tree().n_leaves
            text = f"{table.n_leaves:,} regions as learned; a tree with {leaves:,} leaves does the same."
            console.print(text, highlight=False)
    for line in _earned(table, policy):
        console.print(line, highlight=False)
    if worst is not None:
        console.print(f"\n{worst}", highlight=False, markup=False)
    if html is not None:
        console.print(f"open {html}", highlight=False, soft_wrap=True)
