"""Every learner on every problem, as data: what each of them may use.

Seeds from 1000 on; whatever was tuned was tuned on seeds below 100. The learners of the paper and AQL's relatives get
the paper's protocol and their defaults, Atlas with a table the number of samples on the entry of the problem: what it
does by default, with fewer samples and more time, is the study `few`.
"""

from collections.abc import Sequence
from dataclasses import replace

from spaql.analysis.numbers import span
from spaql.learners.options import options_of
from spaql.learners.registry import Card, learner_class, learners, rivals
from spaql.plants.catalog import CATALOG
from spaql.plants.equations import Entry
from spaql.runs.rows import Run
from spaql.runs.spec import Option, Spec
from spaql.studies.atlas.plan import TABLE, fresh_of, seeds_of, share_of
from spaql.studies.paper.plan import protocol_of
from spaql.studies.parts import Effort
from spaql.studies.study import Experiment, Finished

COMPARED = tuple(card for card in learners() if not card.simulator)
ENTRANTS = tuple(card.name for card in COMPARED)
ITERATED = tuple(card.name for card in learners() if card.learns_by == "iterations")
PUBLISHED = tuple(card.name for card in rivals())  # shown beside them where the package has their runs
FEWEST_SAMPLES = 200  # of a quick look: Atlas begins with 100 random ones
SHORT = 20  # steps: shorter episodes need a discount of their own (docs/atlas-table.md, Limits)


def results_specs(problem: str, effort: Effort, finished: Finished) -> list[Spec]:
    """Every learner on a problem."""
    entry, fresh = CATALOG[problem], fresh_of(effort)
    iterations = protocol_of(effort).iterations
    discount: tuple[tuple[str, Option], ...] = (("gamma", 1.0 - 1.0 / entry.horizon),) if entry.horizon < SHORT else ()
    samples = max(int(share_of(effort) * entry.samples), FEWEST_SAMPLES)
    kinds = []
    for card in COMPARED:
        if not card.learns:  # one iteration of one rollout, for the form
            kinds.append(Spec(problem, card.name, 0, 1, 1, fresh))
        elif card.learns_by == "iterations":
            xi = xi_of(entry, card)
            kinds.append(Spec(problem, card.name, 0, iterations, entry.rollouts, fresh, xi))
        else:
            options = TABLE + discount if card.model_based else ()
            kinds.append(Spec(problem, card.name, 0, 0, 0, fresh, options, (samples,)))
    return [replace(kind, seed=seed) for kind in kinds for seed in seeds_of(effort)]


def xi_of(entry: Entry, card: Card) -> tuple[tuple[str, Option], ...]:
    """The published or tuned scale of the bonus, if there is one. Learners per step have AQL's, as by default."""
    if not any(one.name == "xi" for one in options_of(learner_class(card))):
        return ()
    known = entry.xi or entry.study_xi
    xi = known.get(card.name, known.get("AQL") if card.per_step else None)
    return () if xi is None else (("xi", float(xi)),)


def _lengths(runs: Sequence[Run]) -> tuple[str, str]:
    """Of the learners with iterations, and of those that count samples."""
    iterated = [run for run in runs if run.rollouts > 1]
    samples = span(int(run.checkpoints[-1]) for run in runs if len(run.checkpoints))
    counting = ", ".join(card.name for card in COMPARED if card.learns_by == "samples")
    iterations = f"{span(run.iterations for run in iterated)}; {counting} {samples} samples"
    return iterations, span(run.rollouts for run in iterated)


RESULTS = Experiment("results", "every learner", tuple(CATALOG), results_specs, lengths=_lengths)
