"""The agents reproduce what the published program computed from recorded transitions (golden/README.md)."""

import json
from pathlib import Path

import numba
import numpy as np
import pytest

import spaql
from spaql.learners.spaql_steps import boltzmann
from spaql.partition import forest as forests
from spaql.partition.forest_tables import action_centres, leaf_table, standing
from spaql.partition.greedy import descend, find_path, last_argmax, new_scratch, relevant

GOLDEN = Path(__file__).parents[1] / "golden"
CASES = sorted(path.stem for path in GOLDEN.glob("[a-g]_*.npz"))
RELATIVE = 1e-9


class Case:
    """One golden file, and our agent after all its transitions."""

    def __init__(self, name):
        with np.load(GOLDEN / f"{name}.npz") as archive:
            self.data = {key: archive[key] for key in archive.files}
        self.meta = json.loads(bytes(self.data["meta"]))
        self.continuous = self.meta["actions"] == "continuous"
        self.aql = self.meta["algorithm"] == "multi-partition"
        self.queries = self.data["query_state"].astype(np.float64)
        self.trees = self.data["query_tree"].astype(int)
        problem = spaql.cube(self.meta["state_dim"], 1 if self.continuous else self.meta["actions"], self.meta["H"])
        xi, lam = self.meta["xi"], self.meta["lam"]
        if self.aql:
            self.agent = spaql.AQL(problem, xi=xi)
        elif lam is None:
            self.agent = spaql.SPAQL(problem, xi=xi)
        else:
            self.agent = spaql.SPAQLTS(problem, xi=xi, lam=lam, reference=self.meta["reference"])
        self.learn_all()

    def learn_all(self):
        data, agent = self.data, self.agent
        obs, next_obs, reward, action = (data[key].astype(np.float64) for key in ("obs", "next_obs", "reward", "action"))
        self.checkpoint_arms, self.checkpoint_max = [], []
        for i in range(len(obs)):
            agent.update(obs[i], action[i], reward[i], next_obs[i], step=int(data["timestep"][i]) if self.aql else 0)
            if i + 1 in data["checkpoint_at"]:
                self.checkpoint_arms.append(agent.arms)
                self.checkpoint_max.append([self.ask(j)[1].max() for j in range(5)])

    def ask(self, j):
        """Query j: the relevant leaves in child order, and their values."""
        forest, space = self.agent.state.forest, self.agent.state.space
        scratch = new_scratch(space, forest)
        count = look(forest, space, scratch, self.trees[j], self.queries[j])
        return scratch.leaves[:count], scratch.q[:count]

    def expected(self, field, j):
        return self.data[field][self.data["query_offsets"][j] : self.data["query_offsets"][j + 1]]

    def sorted_leaves(self):
        """In the order of the file: tree, then state centre, then action."""
        leaves = self.agent.leaves()
        columns = [leaves["action" if self.continuous else "action_mask"], *leaves["state"].T[::-1], leaves["tree"]]
        return leaves[np.lexsort(columns)]


@numba.njit
def look(forest, space, scratch, tree, x):
    find_path(forest, x, scratch.path)
    return relevant(forest, space, tree, scratch.path, scratch.stack, scratch.leaves, scratch.q)


@numba.njit
def greedy_position(q):
    return last_argmax(q, len(q))


@numba.njit
def weigh(scratch, count, tau):
    boltzmann(scratch, count, tau)


@numba.njit
def merged_ball(forest, greedy, scratch, tree, x):
    find_path(forest, x, scratch.path)
    return greedy.cells[descend(greedy, tree, len(x), scratch.path)].ball


@pytest.fixture(scope="module", params=[(name, sparse) for name in CASES for sparse in (False, True)], ids=str)
def case(request):
    """Every file with a full forest, as small problems have it, and with a sparse one."""
    name, sparse = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forests, "SPARSE_FROM", 1 if sparse else 99)
        made = Case(name)
    assert (len(made.agent.state.forest.forks) > 0) == sparse
    return made


def test_every_golden_file_is_here():
    assert [name[0] for name in CASES] == list("abcdefg")


def test_number_of_leaves_at_checkpoints(case):
    assert case.checkpoint_arms == case.data["checkpoint_num_leaves"].tolist()


def test_query_maxima_at_checkpoints(case):
    np.testing.assert_allclose(case.checkpoint_max, case.data["checkpoint_query_max"], rtol=RELATIVE)


def test_structure_of_the_final_leaves(case):
    leaves = case.sorted_leaves()
    for field in ("tree", "state", "radius", "depth", "visits", "action" if case.continuous else "action_mask"):
        np.testing.assert_array_equal(leaves[field], case.data[f"leaf_{field}"], err_msg=field)


def test_values_of_the_final_leaves(case):
    np.testing.assert_allclose(case.sorted_leaves()["q"], case.data["leaf_q"], rtol=RELATIVE)


def test_values_of_the_relevant_leaves(case):
    for j in range(len(case.queries)):
        _, q = case.ask(j)
        np.testing.assert_allclose(np.sort(q), case.expected("query_q_sorted", j), rtol=RELATIVE)
        assert q.max() == pytest.approx(case.data["query_max"][j], rel=RELATIVE)


def test_greedy_leaf_is_the_last_of_the_best(case):
    """The row of the greedy leaf in `leaves()` has the state, radius and action of the file."""
    for j in range(len(case.queries)):
        found, q = case.ask(j)
        best = greedy_position(q)
        assert best == np.flatnonzero(q == q.max())[-1]
        assert np.count_nonzero(q == q.max()) == case.data["query_num_maximisers"][j]
        assert_is_greedy_leaf(case, j, found["ball"][best], found["key"][best])


def test_merged_tree_knows_the_greedy_leaf(case):
    state = case.agent.state
    greedy, scratch = state.policy(case.agent.chart), new_scratch(state.space, state.forest)
    for j in range(len(case.queries)):
        found, q = case.ask(j)
        assert merged_ball(state.forest, greedy, scratch, case.trees[j], case.queries[j]) == found["ball"][greedy_position(q)]


def test_deterministic_prediction_is_the_centre_of_the_greedy_leaf(case):
    actions, _ = case.agent.predict(case.queries, state=case.trees, deterministic=True)
    if case.continuous:
        np.testing.assert_array_equal(actions[:, 0], case.data["query_greedy_action"])
    else:
        masks = case.data["query_greedy_action_mask"].tolist()
        np.testing.assert_array_equal(actions, [(mask & -mask).bit_length() - 1 for mask in masks])  # its first action


@pytest.mark.parametrize(("tau", "field"), [(0.01, "query_prob_tau_0_01"), (1.0, "query_prob_tau_1")])
def test_boltzmann_probabilities(case, tau, field):
    if case.aql:
        assert field not in case.data  # AQL is greedy while training
        return
    space = case.agent.state.space
    for j in range(len(case.queries)):
        _, q = case.ask(j)
        scratch = new_scratch(space, case.agent.state.forest)
        scratch.q[: len(q)] = q
        weigh(scratch, len(q), tau)
        cumulative = scratch.weight[: len(q)]
        probability = np.diff(cumulative, prepend=0.0) / cumulative[-1]
        np.testing.assert_allclose(np.sort(probability), np.sort(case.expected(field, j)), rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(probability[np.argsort(q, kind="stable")], case.expected(field, j), rtol=1e-6, atol=1e-12)


def assert_is_greedy_leaf(case, j, ball, key):
    forest, space = case.agent.state.forest, case.agent.state.space
    depth = int(standing(forest, np.array([ball]))[0][0])
    assert 0.5**depth == case.data["query_greedy_radius"][j]
    centre = (np.floor(case.queries[j] * 2 ** (depth - 1)) + 0.5) / 2 ** (depth - 1) if depth else np.zeros(space.d)
    np.testing.assert_array_equal(centre, case.data["query_greedy_state"][j])
    if case.continuous:
        action = np.empty((1, 1))
        action_centres(space, np.array([key]), np.array([depth]), action)
        assert action[0, 0] == case.data["query_greedy_action"][j]
    else:
        first, count = key >> 31, key & (2**31 - 1)
        assert ((1 << int(count)) - 1) << int(first) == case.data["query_greedy_action_mask"][j]
    assert len(leaf_table(forest, space)) == case.agent.arms
