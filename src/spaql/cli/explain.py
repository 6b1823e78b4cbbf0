"""`spaql explain | export`."""

import functools
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spaql.cli.app import JSON_HELP, SET_HELP, command, floats, settings
from spaql.cli.arguments import HORIZON_HELP, plant_of
from spaql.cli.baselines import Baselines, baselines_of, policy_in
from spaql.cli.loop_options import Around, with_loop
from spaql.cli.plant_files import Action, Dt, Given, GivenProblem, Observe, Reward, Terminated
from spaql.export import FORMATS
from spaql.ground.errors import SpaqlError, SpaqlWarning
from spaql.ground.progress import working
from spaql.ground.writing import check_file
from spaql.learners.registry import learners

if TYPE_CHECKING:
    from spaql.plants.problem import Problem
    from spaql.policy.policy import Policy

ROWS = 12  # regions that are shown at first
FILE_HELP = "An agent written by `spaql train --out`, or a policy written by `spaql export --to json`."
FORM_HELP = "table (the cells as learned), tree (same actions, fewer leaves) or compressed (fewer still)."
LAWS_HELP = "Leaves of a compressed tree are laws, or constant actions (default: laws)."
FALSIFY_HELP = "Search for the worst episode: over starts, references, disturbances and drawn parameters."
STEP_HELP = f"{', '.join(card.name for card in learners() if card.per_step)}: the time step of the policy."


@command
@with_loop
def explain(
    file: Annotated[Path, typer.Argument(help=FILE_HELP)],
    why: Annotated[
        str | None, typer.Option(help="Explain the action applied there: an observation, numbers separated by commas.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write the page that explains every action.")] = None,
    max_leaves: Annotated[
        int | None, typer.Option(help="Explain a compressed tree with at most this many leaves.")
    ] = None,
    laws: Annotated[bool | None, typer.Option("--laws/--no-laws", help=LAWS_HELP, show_default=False)] = None,
    form: Annotated[str, typer.Option(help=FORM_HELP)] = "auto",
    step: Annotated[int | None, typer.Option(help=STEP_HELP)] = None,
    rows: Annotated[int, typer.Option(help="Regions to show, most used first.")] = ROWS,
    falsify: Annotated[bool, typer.Option("--falsify", help=FALSIFY_HELP)] = False,
    baseline: Baselines = None,
    problem: GivenProblem = None,
    horizon: Annotated[int | None, typer.Option(help=HORIZON_HELP)] = None,
    changes: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help=SET_HELP)] = None,
    observe: Observe = None,
    action: Action = None,
    reward: Reward = None,
    terminated: Terminated = None,
    dt: Dt = None,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
    *,
    around: Around,
) -> None:
    """Show a controller: its rules, its return, and the reasons for its actions.

    The regions that are used most, the return in fresh episodes, and, on request, a page with tree, map and episodes.

    Example:
      spaql explain results/agent.spaql --why 0,0.1,0.05,0 --html controller.html
    """
    from spaql.cli.explain_text import show_policy
    from spaql.ground.checks import whole

    asked = None if why is None else floats("why", why)
    whole("--rows", rows, 0)
    _check(form, max_leaves, laws, html)

    given = Given(observe, action, reward, terminated, dt)
    plant = functools.cache(lambda: plant_of(problem, settings(changes), given, around, horizon))

    def made() -> "tuple[Policy, Policy]":
        table = _policy(file, step, plant(), asked)
        return table, table if form == "auto" and max_leaves is None else _formed(table, form, max_leaves, laws)

    show_policy(made, asked, html, rows, falsify, as_json, lambda: baselines_of(baseline, plant()))


@command
def export(
    file: Annotated[Path, typer.Argument(help=FILE_HELP)],
    to: Annotated[str, typer.Option(help=f"One of {', '.join(FORMATS)}.")] = "c",
    out: Annotated[Path | None, typer.Option(help="File to write (default: the terminal).")] = None,
    max_leaves: Annotated[
        int | None, typer.Option(help="Export a compressed tree with at most this many leaves.")
    ] = None,
    laws: Annotated[bool | None, typer.Option("--laws/--no-laws", help=LAWS_HELP, show_default=False)] = None,
    form: Annotated[str, typer.Option(help=FORM_HELP)] = "auto",
    step: Annotated[int | None, typer.Option(help=STEP_HELP)] = None,
    problem: GivenProblem = None,
    precision: Annotated[str, typer.Option(help="c: double or single.")] = "double",
    test_main: Annotated[
        bool, typer.Option("--test-main", help="c: add a main function that reads observations and prints actions.")
    ] = False,
) -> None:
    """Write a controller as code, text or drawing.

    Tables and trees apply exactly the actions of the agent's deterministic policy.

    Example:
      spaql export results/agent.spaql --to c --out controller.c
    """
    from spaql.export import export as write
    from spaql.ground.checks import choice

    choice("--to", to, FORMATS)
    choice("--precision", precision, ("double", "single"))
    if to != "c" and (precision != "double" or test_main):
        raise SpaqlError(f"--precision and --test-main go with --to c, not with --to {to}")
    _check(form, max_leaves, laws, out)
    options = {"precision": precision, "main": test_main} if to == "c" else {}
    if problem is not None and problem.endswith(".fmu"):
        raise SpaqlError(f"--problem {problem}: put spaql.from_fmu(...) into a Python file and give FILE.py:NAME")
    with working("reading the agent"):
        policy = _formed(_policy(file, step, plant_of(problem, {})), form, max_leaves, laws)
    for note in policy.notes:
        print(f"spaql: warning: {note}", file=sys.stderr)
    text = write(policy, to, **options)
    if out is None:
        print(text, end="" if text.endswith("\n") else "\n")
        return
    from spaql.ground.writing import kept, write_whole

    unwritten = kept(
        out.parent, lambda folder: write_whole(folder / out.name, lambda target: target.write(text.encode()))
    )
    if unwritten is not None:
        raise unwritten
    print(f"wrote {out}", file=sys.stderr)


def _check(form: str, max_leaves: int | None, laws: bool | None, out: Path | None) -> None:
    """Refuses options that would fail at the end, before anything is computed."""
    from spaql.ground.checks import whole

    if form not in ("auto", "table", "tree", "compressed"):
        raise SpaqlError(f"unknown form {form!r}: choose table, tree or compressed")
    if max_leaves is not None and form in ("table", "tree"):
        raise SpaqlError(f"--max-leaves goes with compressed trees, not with --form {form}")
    if laws is not None and form != "compressed" and max_leaves is None:
        raise SpaqlError("--laws and --no-laws go with compressed trees: --form compressed, or --max-leaves")
    if max_leaves is not None:
        whole("--max-leaves", max_leaves, 1, 100_000)
    check_file(out)


def _policy(file: Path, step: int | None, plant: "Problem | None", asked: list[float] | None = None) -> "Policy":
    """The policy in an agent file, or in a policy written by `spaql export --to json`; `asked` must fit it."""
    if file.suffix == ".json":
        policy = policy_in(file, plant)
        if step is not None:
            raise SpaqlError(f"--step goes with agents; {file} holds one policy")
        _fits(asked, policy.problem)
        return policy
    from spaql.learners.files import load

    agent = load(file, plant)
    _fits(asked, agent.problem)  # now: making the policy may take long
    return agent.policy(step)


def _fits(asked: list[float] | None, problem: "Problem") -> None:
    from spaql.ground.checks import numbers

    if asked is not None:
        numbers("observation", asked, (len(problem.state),))


def _formed(policy: "Policy", form: str, max_leaves: int | None, laws: bool | None) -> "Policy":
    if form == "compressed" or max_leaves is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SpaqlWarning)  # said where the policy is shown
            return policy.compress(max_leaves, laws=laws)
    return policy if form == "table" else policy.tree()
