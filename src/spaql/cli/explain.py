"""`spaql explain`."""

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spaql.cli.app import AsJson, command
from spaql.cli.arguments import (
    Baselines,
    Fallback,
    GivenProblem,
    Monitored,
    baselines_of,
    monitor_of,
    plant_of,
    policy_in,
)
from spaql.cli.plant_options import NOTHING, PlantOptions, with_plant
from spaql.ground.errors import SpaqlError, SpaqlWarning
from spaql.ground.progress import at_work, working
from spaql.ground.writing import check_file, kept
from spaql.learners.registry import learners

if TYPE_CHECKING:
    from spaql.plants.problem import Problem
    from spaql.policy.policy import Policy
    from spaql.policy.probe_results import Worst
    from spaql.report.explanation import Worth

ROWS = 12  # regions that are shown at first
FORMS = ("auto", "table", "tree", "compressed")
FILE_HELP = "An agent written by `spaql train --out`, or a policy written by `spaql export --to json`."
FORM_HELP = "table (the cells as learned), tree (same actions, fewer leaves) or compressed (fewer still)."
LAWS_HELP = "Leaves of a compressed tree are laws, or constant actions (default: laws)."
STEP_HELP = f"{', '.join(card.name for card in learners() if card.per_step)}: the time step of the policy."
File = Annotated[Path, typer.Argument(help=FILE_HELP)]
Laws = Annotated[bool | None, typer.Option("--laws/--no-laws", help=LAWS_HELP, show_default=False)]
Form = Annotated[str, typer.Option(help=FORM_HELP)]
Step = Annotated[int | None, typer.Option(help=STEP_HELP)]
Proven = Annotated[
    Path | None, typer.Option("--proof", help="A certificate of `spaql prove --out`: checked, and shown.")
]


@command
@with_plant
def explain(
    file: File,
    *,
    why: Annotated[
        str | None, typer.Option(help="Explain the action applied there: an observation, numbers separated by commas.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write the page that explains every action.")] = None,
    max_leaves: Annotated[
        int | None, typer.Option(help="Explain a compressed tree with at most this many leaves.")
    ] = None,
    laws: Laws = None,
    form: Form = "auto",
    step: Step = None,
    rows: Annotated[int, typer.Option(help="Regions to show, most used first.")] = ROWS,
    falsify: Annotated[
        bool,
        typer.Option(
            "--falsify",
            help="Search for the worst episode: over starts, references, disturbances and drawn parameters.",
        ),
    ] = False,
    baseline: Baselines = None,
    proof: Proven = None,
    monitor: Monitored = None,
    fallback: Fallback = None,
    problem: GivenProblem = None,
    plant: PlantOptions = NOTHING,
    as_json: AsJson = False,
) -> None:
    """Show a controller: its rules, its return, and the reasons for its actions.

    The regions that are used most, the return in fresh episodes, and, on request, a page with tree, map and episodes.

    Example:
      spaql explain results/agent.spaql --why 0,0.1,0.05,0 --html controller.html
    """
    from rich.console import Console

    from spaql.cli.train_text import compared_json, compared_table
    from spaql.export.heading import title
    from spaql.ground.checks import whole
    from spaql.policy.knowledge import rich_table
    from spaql.report.explanation import worth_of, write_explanation

    asked = None if why is None else _floats(why)
    whole("--rows", rows, 0)
    check_forms(form, max_leaves, laws, html)
    console, listed = Console(), as_json or why is None or rows != ROWS
    shown: list[Any] = []
    with working("reading the agent", False if as_json else None):
        stated = plant_of(problem, plant)
        table = read_policy(file, step, stated, asked)
        policy = table if form == "auto" and max_leaves is None else formed(table, form, max_leaves, laws)
        policy = policy if proof is None else policy.with_proof(proof)
        reason = None if asked is None else policy.why(asked)
        worth = None
        if listed or html is not None:
            worth = worth_of(table, policy, sizes=as_json or html is not None)
        worst = policy.falsify() if falsify else None
        others = _compared(policy, baselines_of(baseline, stated), worth)
        guard = monitor_of(monitor, fallback, stated)
        guarded = None if guard is None else guard.evaluate(policy)
        unwritten = None
        if html is not None:
            name = html.name
            parts = worst, worth, others, guarded
            unwritten = kept(html.parent, lambda folder: write_explanation(table, policy, folder / name, *parts))
        page = html if unwritten is None else None
        at_work("putting it into words")
        if listed and not as_json:
            shown = [title(policy), rich_table(policy, rows, console.width), *_sizes(table)]
    if as_json:
        assert worth is not None
        entries = _plain(table, policy, worth, worst, page)
        entries |= {"compared": compared_json(others)} if others is not None else {}
        entries |= {"monitor": guarded.to_dict()} if guarded is not None else {}
        frontier = [{key: value for key, value in vars(point).items() if key != "tree"} for point in worth.sizes]
        entries |= {"frontier": frontier, "why": None if reason is None else str(reason)}
        print(json.dumps(entries, indent=1, default=str))
    else:
        if reason is not None:
            console.print(f"{reason}\n", highlight=False, markup=False)
        for part in shown:
            console.print(part, highlight=False)
        earned = _earned(policy, worth) if listed and worth is not None else []
        for line in [*earned, *policy.assurances, *(f"Warning: {note}." for note in policy.notes)]:
            console.print(line, highlight=False, markup=False)
        if guarded is not None:
            console.print(f"Behind its monitor {guarded.line}.", highlight=False, markup=False)
        if others is not None:
            console.print(compared_table(others, console.width))
        if worst is not None:
            console.print(f"\n{worst}", highlight=False, markup=False)
        if page is not None:
            console.print(f"open {page}", highlight=False, soft_wrap=True)
    if unwritten is not None:
        raise unwritten


# -- the policy --------------------------------------------------------------------------------------------------------


def _floats(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise SpaqlError(f"--why must be numbers separated by commas, not {text!r}") from error


def check_forms(form: str, max_leaves: int | None, laws: bool | None, out: Path | None) -> None:
    """Refuses options that would fail at the end, before anything is computed."""
    from spaql.ground.checks import whole

    if form not in FORMS:
        raise SpaqlError(f"unknown form {form!r}: choose table, tree or compressed")
    if max_leaves is not None and form in ("table", "tree"):
        raise SpaqlError(f"--max-leaves goes with compressed trees, not with --form {form}")
    if laws is not None and form != "compressed" and max_leaves is None:
        raise SpaqlError("--laws and --no-laws go with compressed trees: --form compressed, or --max-leaves")
    if max_leaves is not None:
        whole("--max-leaves", max_leaves, 1, 100_000)
    check_file(out)


def read_policy(file: Path, step: int | None, plant: "Problem | None", asked: list[float] | None = None) -> "Policy":
    """The policy in an agent file, or in a policy written by `spaql export --to json`; `asked` must fit it."""
    from spaql.ground.checks import numbers
    from spaql.learners.files import load

    is_policy = file.suffix == ".json"
    source: Any = policy_in(file, plant) if is_policy else load(file, plant)
    if is_policy and step is not None:
        raise SpaqlError(f"--step goes with agents; {file} holds one policy")
    if asked is not None:  # now: making the policy of an agent may take long
        numbers("observation", asked, (len(source.problem.state),))
    policy: Policy = source if is_policy else source.policy(step)
    return policy


def formed(policy: "Policy", form: str, max_leaves: int | None, laws: bool | None) -> "Policy":
    if form == "compressed" or max_leaves is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SpaqlWarning)  # said where the policy is shown
            return policy.compress(max_leaves, laws=laws)
    return policy if form == "table" else policy.tree()


def _compared(policy: "Policy", baselines: dict[str, Any], worth: "Worth | None") -> Any:
    """Others in the episodes in which the policy was evaluated, or is now."""
    from spaql.analysis.paired import OWN, beside
    from spaql.compress.frontier import episodes_for

    if not baselines:
        return None
    fresh = None if worth is None else worth.fresh
    return beside({OWN: policy}, {OWN: policy.evaluate(episodes_for(policy)) if fresh is None else fresh}, baselines)


# -- what is printed ---------------------------------------------------------------------------------------------------


def _sizes(table: "Policy") -> list[str]:
    from spaql.policy.digits import counted

    if table.has_laws:  # they are shown as they were found
        return []
    leaves = table.tree().n_leaves
    tree = "one leaf" if leaves == 1 else f"{leaves:,} leaves"
    return [f"{counted(table.n_leaves, 'region')} as learned; a tree with {tree} does the same."]


def _earned(policy: "Policy", worth: "Worth") -> list[str]:
    """The fresh episodes that the page shows and `policy.evaluate()` runs; of a small tree, the table beside it."""
    from spaql.policy.digits import counted
    from spaql.report.explanation import agreement, may_differ

    fresh = worth.fresh
    if fresh is None:
        return []
    episodes = f"{counted(len(fresh.returns), 'fresh episode')} on {fresh.plant}, seed {fresh.seed}"
    lines = [f"{episodes}:", *fresh.lines()]
    if may_differ(policy) and worth.own is not None:
        lines.append(f"  the table   {worth.own.mean:.2f} in the same episodes")
        lines += filter(None, [agreement(policy)])
    return lines


def _plain(
    table: "Policy", policy: "Policy", worth: "Worth", worst: "Worst | None", page: Path | None
) -> dict[str, Any]:
    """For machines."""
    from spaql.report.explanation import may_differ

    entries: dict[str, Any] = {"policy": repr(policy), "regions": policy.n_leaves}
    entries |= {"exact_tree_leaves": table.tree().n_leaves, "samples": policy.samples}
    entries |= {"laws": policy.n_leaves, "numbers": policy.numbers} if policy.has_laws else {}
    entries |= {"html": None if page is None else str(page)}
    entries |= {"table": json.loads(policy.table().to_json(orient="records"))}
    entries |= {"fresh": worth.fresh.to_dict()} if worth.fresh is not None else {}
    entries |= {"fresh_of_table": worth.own.to_dict()} if worth.own is not None and may_differ(policy) else {}
    entries |= {"warnings": list(policy.notes)} if policy.notes else {}
    entries |= {"certificate": policy.certificate.to_dict()} if policy.certificate is not None else {}
    entries |= {"proof": policy.proof.lines} if policy.proof is not None else {}
    return entries | ({"worst": worst.to_dict()} if worst is not None else {})
