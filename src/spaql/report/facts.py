"""What the page says about the runs: how many, how well they agree with the paper, where they come from."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from spaql.analysis.paper_tables import TITLES as PROBLEMS
from spaql.analysis.tables import NOTHING, Table
from spaql.experiments.atlas_plan import ABLATION
from spaql.experiments.plan import GROUPS, PAPER, PARTS, TITLES
from spaql.experiments.results import Results
from spaql.experiments.rows import Run
from spaql.experiments.spec import RIVALS

PAPER_TABLES = ("pendulum", "cartpole")
Fact = tuple[str, str]


def computed(results: Results) -> list[Run]:
    """The runs of this store, without those that came with the package."""
    return [run for part in _ordered(results) if part not in results.published for run in results.parts[part]]


def _ordered(results: Results) -> list[str]:
    return sorted((part for part, runs in results.parts.items() if runs), key=PARTS.index)


def title_of(part: str) -> str:
    group, problem = part.split("-", 1)
    if part == ABLATION:
        return "Atlas without its parts"
    return f"{PROBLEMS[problem]}: {TITLES[group]}"


# -- the summary ---------------------------------------------------------------------------------------------------------------------


def judged(tables: Iterable[Table]) -> Counter[str]:
    """Verdicts on the returns in the paper's two tables. The tuned agents are ours: they count only if there are no others."""
    rows = [row for table in tables if table.name in PAPER_TABLES for row in table.rows if row.get("verdict")]
    plain = [row for row in rows if not row["label"].endswith(", tuned")]
    return Counter(row["verdict"] for row in plain or rows)


def summary(results: Results, tables: Sequence[Table]) -> str:
    """One sentence."""
    runs = computed(results)
    spent = duration(sum(run.seconds for run in runs))
    done = f"{counted(len(runs), 'run')} with {large(_samples(runs))} samples, {spent} of computing time"
    found = judged(tables)
    if not found:
        return f"{done}: none of the paper's two tables is among them."
    if set(found) == {"not comparable"}:
        return f"{done}: too short to be compared with the paper."
    told = f"{found['reproduced']} of {counted(found.total(), 'published return')} reproduced"
    other = [f"{count} {verdict.removeprefix('differs: ')}" for verdict, count in sorted(found.items()) if verdict != "reproduced"]
    return f"{done}: {', '.join([told, *other])}."


def when(results: Results) -> str:
    """The line below the title."""
    runs = computed(results)
    versions = _listed(sorted({run.version for run in runs}))
    return f"Computed {period([run.finished for run in runs])} UTC with spaql {versions}" if runs else "Nothing was computed here"


def _samples(runs: Iterable[Run]) -> int:
    return sum(run.train_samples + run.eval_samples for run in runs)


def key_figures(results: Results, tables: Sequence[Table]) -> list[Fact]:
    """The summary once more, to be taken in at a glance."""
    runs, found = computed(results), judged(tables)
    made = [(f"{len(runs):,}", "runs"), (large(_samples(runs)), "samples"), (duration(sum(run.seconds for run in runs)), "computing time")]
    if found and "not comparable" not in found:
        made.append((f"{found['reproduced']} of {found.total()}", "published returns reproduced"))
    claims = [row["verdict"] for table in tables if table.name == "claims" for row in table.rows]
    claims = [verdict for verdict in claims if not verdict.startswith("not comparable")]
    if claims:
        made.append((f"{claims.count('holds')} of {len(claims)}", "claims of the paper hold"))
    return made


def remarks(results: Results) -> list[Fact]:
    """What a reader must know before believing a number, each with its heading. Empty for a whole run of the paper with TRPO."""
    made: list[Fact] = []
    quick = sorted((part for part, plan in results.plans.items() if plan.get("quick") and part in PARTS), key=PARTS.index)
    agents = [run for part, runs in results.parts.items() if part.startswith(("main-", "tuned-")) for run in runs]
    if quick:
        made.append(("A quick look", _quick(results, quick)))
    elif agents and (seeds := len({run.seed for run in agents})) < PAPER.seeds:
        made.append(("Fewer agents", f"{seeds} agents instead of the paper's {PAPER.seeds}: wider intervals, and tests that see less."))
    if results.missing:
        parts = _listed(f"{title_of(part)} ({count:,})" for part, count in results.missing.items())
        made.append((
            f"{counted(sum(results.missing.values()), 'run')} missing",
            f"{parts}. Means and intervals are over the runs that are there. The same command computes the rest.",
        ))  # fmt: skip
    there = results.plans.keys() | results.parts.keys()
    absent = [part for group in ("scaling", "main", "random") for part in GROUPS[group] if part not in there]
    absent = [part for part in absent if part.replace("main-", "tuned-") not in there]
    if absent:
        made.append(("Not the whole paper", f"Not run: {_listed(map(title_of, absent))}."))
    if any(part.startswith("tuned-") for part in there):
        made.append(("ξ from our own study", "Agents called tuned use the ξ that was best in our scaling study, not the published one."))
    if results.published:
        made += _borrowed(results)
    codes = {run.code for run in computed(results) if run.algorithm not in ("TRPO", "Atlas", *RIVALS)}  # theirs are different files
    if len(codes) > 1:
        made.append(("Different code", f"The runs come from {len(codes)} versions of the code; see the versions at the end of the page."))
    return made


def _borrowed(results: Results) -> list[Fact]:
    made: list[Fact] = []
    for group in ("trpo", "rivals"):
        parts = [part for part in GROUPS[group] if part in results.published]
        if parts:
            where, names = (
                sorted({getattr(run, name) for part in parts for run in results.parts[part]}) for name in ("problem", "algorithm")
            )
            counts = span(count for part in parts for count in Counter(run.algorithm for run in results.parts[part]).values())
            were, their = ("was", "Its") if len(names) == 1 else ("were", "Their")
            told = f"{their} runs on {_listed(PROBLEMS[name] for name in PROBLEMS if name in where)} ({counts} agents each) are published "
            told += f"with the package. `spaql reproduce --only {group}` computes them."
            made.append((f"{_listed(names)} {were} not computed here", told))
    return made


def _quick(results: Results, parts: Sequence[str]) -> str:
    runs = [run for part in parts if part.startswith(("main-", "tuned-")) for run in results.runs(part)]
    told = "Fewer and shorter runs than in the paper."
    if runs:
        told = f"{span(run.iterations for run in runs)} training episodes instead of {PAPER.iterations:,}, "
        told += f"{len({run.seed for run in runs})} agents instead of {PAPER.seeds}."
    told += " The curves show the trend; their ends cannot be held against the paper and get no verdict. "
    told += "Run the command without `--quick` for that."
    return told if len(parts) == len(results.plans) else f"{told} Quick are: {_listed(map(title_of, parts))}."


# -- where the runs come from --------------------------------------------------------------------------------------------------------


PART_HEADS = (
    "part", "runs", "seeds", "training episodes", "evaluation rollouts", "fresh episodes", "finished (UTC)", "computing time",
    "fingerprint",
)  # fmt: skip


def part_rows(results: Results) -> list[list[str]]:
    """One row per part of the experiment, under `PART_HEADS`."""
    return [[title_of(part), *_part_row(results, part, results.parts[part])] for part in _ordered(results)]


def _part_row(results: Results, part: str, runs: list[Run]) -> list[str]:
    missing = results.missing.get(part, 0)
    count = f"{len(runs):,} of {len(runs) + missing:,}" if missing else f"{len(runs):,}"
    finished = "as published" if part in results.published else moment(max(run.finished for run in runs))
    digest = hashlib.sha256("".join(sorted(run.digest for run in runs)).encode()).hexdigest()[:12]
    lengths = [span(getattr(run, name) for run in runs) for name in ("iterations", "rollouts", "episodes")]
    if part.startswith("trpo-"):
        lengths[:2] = [f"{lengths[0]} batches", NOTHING]
    elif part.startswith(("atlas-", "rivals-")):
        lengths[0] = f"{span(int(run.checkpoints[-1]) for run in runs)} samples"
        lengths[1] = NOTHING if lengths[1] == "0" else lengths[1]
    elif part.startswith("results-"):  # Random and Atlas have no training episodes in this sense
        samples = span(int(run.checkpoints[-1]) for run in runs if len(run.checkpoints))
        lengths[0] = f"{span(run.iterations for run in runs if run.rollouts > 1)}; Atlas {samples} samples"
        lengths[1] = span(run.rollouts for run in runs if run.rollouts > 1)
    elif part.startswith("random-"):
        lengths[0] = NOTHING
    return [count, ranges(run.seed for run in runs), *lengths, finished, duration(sum(run.seconds for run in runs)), digest]


def commands(results: Results) -> list[Fact]:
    """The commands that made the store, with the time at which each was last given."""
    given: dict[str, str] = {}
    for plan in results.plans.values():
        command, written = str(plan.get("command", "")), str(plan.get("written", ""))
        given[command] = max(given.get(command, ""), written)
    return [(command, moment(written)) for command, written in sorted(given.items(), key=lambda item: item[1]) if command]


ORIGIN = ("finished (UTC)", "spaql", "code", "Python", "libraries", "computers")


def origin(results: Results) -> list[tuple[str, list[str]]]:
    """Times, versions and computers, one column each: of the runs computed here, and of published ones."""
    columns = {"computed here": computed(results)}
    for group, name in (("trpo", "TRPO as published"), ("rivals", "rivals as published")):
        columns[name] = [run for part in GROUPS[group] if part in results.published for run in results.parts[part]]
    return [(name, _origin(runs)) for name, runs in columns.items() if runs]


def _origin(runs: Sequence[Run]) -> list[str]:
    """Under `ORIGIN`."""

    def told(value: Callable[[Run], str]) -> str:
        """All different values; with their numbers of runs if there is more than one."""
        counts = Counter(map(value, runs))
        return "; ".join(text if len(counts) == 1 else f"{text} ({counted(count, 'run')})" for text, count in counts.most_common())

    return [
        period([run.finished for run in runs]),
        told(lambda run: run.version),
        "; ".join(f"{code} ({_listed(names)})" for code, names in _codes(runs).items()),
        told(lambda run: run.python),
        told(lambda run: ", ".join(f"{name} {version}" for name, version in run.libraries.items())),
        told(lambda run: run.host),
    ]


def _codes(runs: Iterable[Run]) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for run in runs:
        found.setdefault(run.code, {})[run.algorithm] = None
    return {code: list(names) for code, names in found.items()}


# -- how numbers are said ------------------------------------------------------------------------------------------------------------


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def large(count: float) -> str:
    for size, name in ((1e9, "billion"), (1e6, "million")):
        if count >= size:
            return f"{count / size:.3g} {name}"
    return f"{count:,.0f}"


def duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def moment(text: str) -> str:
    """A time of the store as people write it; what is no time is shown as it stands."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{time.day} {time:%B %Y, %H:%M}"


def period(texts: Sequence[str]) -> str:
    """From the first to the last; the day is said once."""
    first, last = moment(min(texts)), moment(max(texts))
    day, _, time = last.rpartition(", ")
    return first if first == last else f"{first} to {time if day and first.startswith(day) else last}"


def span(numbers: Iterable[int]) -> str:
    found = sorted(set(numbers))
    return NOTHING if not found else f"{found[0]:,}" if len(found) == 1 else f"{found[0]:,} to {found[-1]:,}"


def ranges(numbers: Iterable[int]) -> str:
    """0–19, or 0–3, 5, 7–19."""
    runs: list[list[int]] = []
    for one in sorted(set(numbers)):
        if runs and one == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], one]
        else:
            runs.append([one])
    shown = [f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    return ", ".join(shown[:6]) + (f" and {len(shown) - 6} more ranges" if len(shown) > 6 else "")


def _listed(items: Iterable[Any]) -> str:
    words = [str(item) for item in items]
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)
