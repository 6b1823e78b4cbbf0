"""How small a tree becomes: ours, and CART of scikit-learn on the same table. Needs `pip install scikit-learn`.

    python benchmarks/tree_sizes.py

With $DTCONTROL_PYTHON set to the Python of an environment that has dtControl (it does not work with current pandas), also dtControl's:

    python -m venv dtc && dtc/bin/pip install "setuptools<70" "pandas<3" psutil dtcontrol
"""

import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import spaql
from spaql.training.closed_loop import run_episodes
from spaql.trees.tree import Builder

CASES = (("cartpole", spaql.SPAQLTS, 2000), ("pendulum", spaql.SPAQL, 2000), ("pendulum-5", spaql.SPAQL, 2000))


def cart(policy, weighted):
    """CART to purity on the cells of the table (their centres), or on the states the closed loop visits."""
    from sklearn.tree import DecisionTreeClassifier

    if weighted:
        states = policy.usage.states
    else:
        low, high = policy.bounds()
        leaves = policy.rules.leaves()
        states = (np.clip(low[leaves], -1e3, None) + np.clip(high[leaves], None, 1e3)) / 2
    actions, label = np.unique(policy.decide(states), axis=0, return_inverse=True)
    fitted = DecisionTreeClassifier(random_state=0).fit(states, label.ravel()).tree_
    builder = Builder(states.shape[1], actions.shape[1])

    def copy(node):
        if fitted.children_left[node] < 0:
            return builder.leaf(actions[fitted.value[node].argmax()])
        made = builder.test(
            int(fitted.feature[node]), float(np.nextafter(fitted.threshold[node], np.inf))
        )  # CART goes left at the cut itself
        below = copy(fitted.children_left[node])
        builder.join(made, below, copy(fitted.children_right[node]))
        return made

    copy(0)
    return builder.tree()


DTCONTROL = """
import sys
from dtcontrol.dataset.single_output_dataset import SingleOutputDataset
from dtcontrol.decision_tree.decision_tree import DecisionTree
from dtcontrol.decision_tree.impurity.entropy import Entropy
from dtcontrol.decision_tree.splitting.axis_aligned import AxisAlignedSplittingStrategy
data = SingleOutputDataset(sys.argv[1])
data.load_if_necessary()
tree = DecisionTree([AxisAlignedSplittingStrategy()], Entropy(), "cart")
tree.fit(data)
print("leaves", tree.root.num_nodes // 2 + 1)
"""


def dtcontrol(policy):
    """Leaves of dtControl's axis-aligned tree on the corners of all cells."""
    python = os.environ.get("DTCONTROL_PYTHON")
    if not python:
        return "not run"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "table.csv")
        file.write_text(policy.export("dtcontrol"))
        said = subprocess.run([python, "-c", DTCONTROL, str(file)], cwd=folder, capture_output=True, text=True, check=False)
    found = re.search(r"leaves (\d+)", said.stdout)
    return found.group(1) if found else "failed: " + said.stderr[-200:].replace("\n", " ")


def main():
    print("| problem | controller | leaves | return (1000 fresh episodes) | same action as the table | seconds |\n|---|---|---|---|---|---|")
    for name, learner, iterations in CASES:
        agent = learner(spaql.make(name), seed=0)
        agent.learn(iterations)
        table = agent.policy()
        seen = table.usage.states

        def tell(what, make, name=name, table=table, seen=seen):
            begin = time.perf_counter()
            tree = make()
            seconds = time.perf_counter() - begin
            value = run_episodes(table.problem, tree, 1000).returns.mean()
            same = np.all(tree.actions[spaql.trees.tree.leaf_of(tree, seen)] == table.decide(seen), axis=1).mean()
            print(f"| {name} | {what} | {tree.n_leaves} | {value:.1f} | {100 * same:.1f} % of the time | {seconds:.1f} |", flush=True)

        tell("table of cells", lambda table=table: table.rules)
        tell("ours, exact", lambda table=table: table.tree().rules)
        tell("CART on the cells", lambda table=table: cart(table, weighted=False))
        tell("CART on visited states", lambda table=table: cart(table, weighted=True))
        tell("ours, compressed", lambda table=table: table.compress(laws=False).rules)
        tell("ours, compressed, at most 40 leaves", lambda table=table: table.compress(max_leaves=40, laws=False).rules)
        print(f"| {name} | dtControl on the corners of the cells | {dtcontrol(table)} | | | |", flush=True)


if __name__ == "__main__":
    import spaql.trees.tree

    main()
