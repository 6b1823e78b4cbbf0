"""What learning knew is one object with one small interface: a learner of another kind needs no word elsewhere."""

from dataclasses import dataclass

import numpy as np
import pytest

import spaql
from exported_policies import plane, policies
from made_explanations import data_of, text_of, written
from spaql.export import FORMATS
from spaql.policy.knowledge import Choice, KnownRows, KnownTable, Opinion, Samples
from spaql.trees.edits import merged
from spaql.trees.tree import Builder, Tree


@dataclass(frozen=True, eq=False)
class Guess:
    """Of a learner that does not exist: two cells, which it knows by heart."""

    table: KnownTable
    learner: str = "Guesser"
    seed: int = 5
    step: int = 0
    per_step: bool = False
    samples: Samples = Samples(1234, 56)  # noqa: RUF009
    model: None = None
    unvisited: str = "the action is a guess"

    def opinion(self, observation):
        return Opinion((Choice(np.array([3.0]), 2.0), Choice(np.array([-3.0]), 1.0)), 7)

    def visits(self, rules: Tree):
        return np.full(rules.n_leaves, 7)

    def exact(self):
        return merged(self.table.rules)


@pytest.fixture(scope="module")
def guessed():
    builder = Builder(2, 1)
    root = builder.test(0, 0.25)
    builder.join(root, builder.leaf(-3.0), builder.leaf(3.0))
    rules = builder.tree()
    rows = KnownRows(
        np.array([[-3.0], [3.0]]),
        np.array([1.0, 2.0]),
        np.array([7, 0]),
        np.array([[3.0], [-3.0]]),
        np.array([0.5, 1.0]),
    )
    table = KnownTable(rules, np.array([-1, 0, 1]), rows)
    return spaql.Policy(plane(), rules, "table", "Guesser on plane, seed 5", Guess(table))


def test_a_new_learner_has_a_table_with_its_values(guessed):
    frame = guessed.table()
    assert frame["Q"].tolist() == [1.0, 2.0]
    assert frame["margin"].tolist() == [0.5, 1.0]
    assert frame["visits"].tolist() == [7, 0]
    assert guessed.is_table


def test_a_new_learner_is_asked_why(guessed):
    why = guessed.why([0.5, 0.0])
    assert [(action.tolist(), q) for action, q in why.alternatives] == [([3.0], 2.0), ([-3.0], 1.0)]
    assert why.expected == ()
    assert why.visits == 7
    assert "Values there (Q):\n  2.0000  force = 3 N\n  1.0000  force = -3 N" in str(why)


def test_a_new_learner_has_exact_trees_that_keep_what_it_knew(guessed):
    tree = guessed.tree()
    assert (tree.kind, tree.n_leaves, tree.is_table) == ("exact tree", 2, False)
    assert tree.knowledge is guessed.knowledge
    assert tree.why([0.5, 0.0]).visits == 7


def test_a_new_learner_has_a_page(guessed, tmp_path):
    page = written(tmp_path, guessed)
    for words in ("Guesser on plane", "seed 5", "1,234", "56"):
        assert words in text_of(page)
    assert data_of(page)["table"]["q"] == [1, 2]
    assert "the action is a guess" in data_of(page)["unvisited"]


@pytest.mark.parametrize("to", FORMATS)
def test_a_new_learner_is_exported(guessed, to):
    assert len(guessed.export(to)) > 40


def test_a_policy_made_by_hand_knows_nothing_and_says_so():
    policy = policies()["oblique"]
    why = policy.why([0.0, 0.0])
    assert (why.alternatives, why.visits) == ((), None)
    assert policy.table()["Q"].isna().all()
    assert not policy.is_table
    assert policy.tree().n_leaves == policy.n_leaves


def test_random_has_no_policy():
    with pytest.raises(spaql.SpaqlError, match="Random has no policy to show"):
        spaql.Random(spaql.make("pendulum")).policy()


def test_what_the_page_says_of_samples_is_what_the_policy_was_made_from(tmp_path):
    agent = spaql.SPAQL(spaql.make("pendulum"), seed=0)
    agent.learn(3, rollouts=2)
    policy = agent.policy()
    before = int(agent.history.train_samples[-1])
    agent.learn(3, rollouts=2)
    assert policy.knowledge.samples.training == before
    assert f"{before:,}" in text_of(written(tmp_path, policy))
