"""Logs, of a plant or of a rig: `spaql record | coverage | replay | rig`."""

import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spaql.cli.app import INTERRUPTED, AsJson, Command, app, command
from spaql.cli.arguments import OPTION_HELP, PROBLEM_HELP, agents_of, learner_help, options_given, problem_of
from spaql.cli.plant_options import NOTHING, PlantOptions, with_plant
from spaql.ground.progress import working
from spaql.ground.writing import check_file, check_folder, form_of, kept, make_folder, put

if TYPE_CHECKING:
    from spaql.rig.rig import Said

LOG_HELP = "A .csv or .parquet file, one row per step."
GAPS_HELP = "Steps may be missing, if there are next_ columns."


@command
@with_plant
def record(
    problem: Annotated[str, typer.Argument(help=PROBLEM_HELP)],
    *,
    out: Annotated[Path, typer.Option(help="The log to write: .csv or .parquet.")],
    episodes: Annotated[int, typer.Option(help="Episodes to run.")] = 50,
    agent: Annotated[
        Path | None, typer.Option(help="An agent file, or a folder with agent.spaql (default: random actions).")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the rollouts.")] = 0,
    deterministic: Annotated[bool, typer.Option("--deterministic", help="Use the centre of the greedy cell.")] = False,
    plant: PlantOptions = NOTHING,
    as_json: AsJson = False,
) -> None:
    """Write rollouts of an agent, or of random actions, to a log.

    Example:
      spaql record pendulum --episodes 25 --out log.csv
    """
    from spaql.data.record import log_target, write_log
    from spaql.data.record import record as recorded
    from spaql.learners.files import load

    log_target(out)
    who: Any = problem_of(problem, plant)
    if agent is not None:
        who = load(agent / "agent.spaql" if agent.is_dir() else agent, who)
    with working("recording episodes", False if as_json else None):
        frame = recorded(who, episodes=episodes, seed=seed, deterministic=deterministic)
        unwritten = kept(out.parent, lambda folder: write_log(frame, folder / out.name))
    if unwritten is not None:
        raise unwritten
    samples, mean = len(frame), float(frame["reward"].sum() / episodes)
    if as_json:
        print(json.dumps({"out": str(out), "episodes": episodes, "samples": samples, "mean_return": mean}))
    else:
        print(f"wrote {out}: {episodes:,} episodes, {samples:,} samples, mean return {mean:.2f}")


@command
@with_plant
def coverage(
    problem: Annotated[str, typer.Argument(help=PROBLEM_HELP)],
    log: Annotated[Path, typer.Argument(help=LOG_HELP)],
    *,
    figure: Annotated[Path | None, typer.Option(help="Also draw it: .png, .svg or .pdf.")] = None,
    reach: Annotated[
        int, typer.Option(help="Random episodes that find the reachable states (0: use the declared ranges).")
    ] = 512,
    gaps: Annotated[bool, typer.Option("--gaps", help=GAPS_HELP)] = False,
    plant: PlantOptions = NOTHING,
    as_json: AsJson = False,
) -> None:
    """Show which states and actions a log covers, and which are missing.

    Example:
      spaql coverage pendulum log.csv --figure coverage.png
    """
    from spaql.data.coverage import coverage as judge

    if figure is not None:
        form_of(figure)
        check_file(figure)
    stated = problem_of(problem, plant)
    with working("reading the log", False if as_json else None):
        coverage = judge(stated, log, reach=reach, gaps=gaps)
    print(json.dumps(coverage.to_dict(), indent=1) if as_json else coverage)
    if figure is not None:
        coverage.figure(figure)


@command
@with_plant
def replay(
    problem: Annotated[str, typer.Argument(help=PROBLEM_HELP)],
    algorithm: Annotated[str, typer.Argument(help=learner_help(lambda card: card.takes_data))],
    log: Annotated[Path, typer.Argument(help=LOG_HELP)],
    *,
    out: Annotated[Path, typer.Option(help="Folder for the agent (agent.spaql).")],
    passes: Annotated[
        int, typer.Option(help="How often to go through the log (once for learners that keep all data).")
    ] = 1,
    gaps: Annotated[bool, typer.Option("--gaps", help=GAPS_HELP)] = False,
    seed: Annotated[int, typer.Option(help="Seed of the agent.")] = 0,
    option: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help=OPTION_HELP)] = None,
    plant: PlantOptions = NOTHING,
    fresh: Annotated[int, typer.Option(help="Episodes of the fresh evaluation on the plant (0: none).")] = 1000,
    as_json: AsJson = False,
) -> None:
    """Learn from a log instead of the plant. The log is checked first; nothing is learned from a bad one.

    Example:
      spaql replay pendulum atlas log.csv --out results
    """
    from spaql.ground.checks import whole

    whole("--fresh", fresh, 0, 10**8)
    check_folder(out)
    (agent,) = agents_of(problem, algorithm, plant, range(seed, seed + 1), options_given(option))
    earlier: list[Path] = []

    def save(folder: Path) -> None:
        make_folder(folder)
        earlier.extend(put(folder, {"agent.spaql": agent.save}))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with working("learning from the log", False if as_json else None):
                replayed = agent.replay(log, passes=passes, gaps=gaps)
        except KeyboardInterrupt:  # the second one, while the controller was being found: the data is there
            save(out)
            raise
    for warning in caught:
        print(f"spaql: {warning.message}", file=sys.stderr)
    unwritten = kept(out, save)  # before the evaluation: from here on nothing learned can be lost
    figures: dict[str, Any] = {"samples": replayed.samples, "rows": replayed.rows}
    figures |= {"episodes": replayed.episodes, "left_out": replayed.left_out}
    if not as_json:
        print(replayed)
    interrupted = "what was learned until then is kept" if replayed.interrupted else ""
    try:
        with working("planning, and running fresh episodes", False if as_json else None):
            result = agent.evaluate(fresh) if fresh > 0 and agent.problem.can_run and not interrupted else None
    except KeyboardInterrupt:
        result, interrupted = None, "the agent was not evaluated, but it is kept"
    if result is not None:
        low, high = result.ci95
        figures |= {"mean": result.mean, "ci95": [low, high]}
        if not as_json:
            print(f"return on the plant: {result.mean:.2f} (95 %: {low:.2f} to {high:.2f}), {fresh:,} fresh episodes")
    if as_json:
        others = {"earlier": [str(path) for path in earlier]} if earlier and unwritten is None else {}
        print(json.dumps(figures | {"out": None if unwritten else str(out)} | others))
    if unwritten is not None:
        raise unwritten
    if not as_json:
        print(f"the agent: {out / 'agent.spaql'}")
        for path in earlier:
            print(f"kept: {path}, an earlier agent of that name")
    if interrupted:
        print(f"interrupted: {interrupted}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)


# -- `spaql rig new | next | add | status` -----------------------------------------------------------------------------


group = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)
app.add_typer(group, name="rig", help="Learn on a real machine, trial by trial: new, next, add, status.")
Folder = Annotated[Path, typer.Argument(help="The folder of the rig.")]


def of_rig(function: Command) -> Command:
    """A command of the group."""
    return command(function, group)


@of_rig
def new(folder: Annotated[Path, typer.Argument(help="The folder to make.")]) -> None:
    """Make a folder with a rig.toml that describes an example: change it to describe your machine.

    Example:
      spaql rig new cart
    """
    from spaql.rig.rig import Rig

    print(f"wrote {Rig.new(folder).folder / 'rig.toml'}: describe your machine in it, then: spaql rig next {folder}")


@of_rig
def next(
    folder: Folder,
    seed: Annotated[int, typer.Option(help="Seed of the search, and of the references.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Write the next trial, and say what it is expected to do. Refused if it may touch a limit.

    Example:
      spaql rig next cart
    """
    from spaql.rig.rig import Rig

    with working("learning from the trials", False if as_json else None):
        _say(Rig(folder).next(seed), as_json)


@of_rig
def add(
    folder: Folder,
    log: Annotated[Path, typer.Argument(help="The log: .csv, .parquet or .mf4, one row per step.")],
    trial: Annotated[int | None, typer.Option(help="Its trial (default: that without a log); 0: other data.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check the log of a trial, hold it against what was expected, and keep it.

    Example:
      spaql rig add cart log.csv
    """
    from spaql.rig.rig import Rig

    _say(Rig(folder).add(log, trial), as_json)


@of_rig
def status(
    folder: Folder,
    html: Annotated[Path | None, typer.Option(help="The page to write (default: status.html in the folder).")] = None,
    as_json: AsJson = False,
) -> None:
    """All trials: what was expected of them, what came of them, what would help most; also as a page.

    Example:
      spaql rig status cart --html cart.html
    """
    from spaql.rig.rig import Rig

    _say(Rig(folder).status(html), as_json)


def _say(said: "Said", as_json: bool) -> None:
    print(json.dumps({"trial": said.trial, "path": str(said.path), "lines": said.lines}) if as_json else said)
