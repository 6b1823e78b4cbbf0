"""What the benchmarks of proofs share: laws are learned, then proven, then checked, and told in a row each."""

import math
import sys
import tempfile
import time

import spaql


def measured(call):
    begin = time.process_time()
    result = call()
    return result, time.process_time() - begin


def theorem(policy, asked):
    """(proof, CPU seconds of proving it, of checking it, why it was refused)"""
    proof, proving = measured(lambda: policy.prove(**asked))
    refused, checking = "", math.nan
    if proof.evidence:
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            proof.save(file.name)
            try:
                _, checking = measured(lambda: spaql.check_proof(file.name, policy))
            except spaql.SpaqlError as error:
                refused = str(error).split("refused: ")[-1]
    return proof, proving, checking, refused


def row(name, seed, problem, leaves, samples, asked):
    agent = spaql.Laws(problem, max_leaves=leaves, seed=seed)
    _, learning = measured(lambda: agent.learn(samples=samples))
    policy = agent.policy()
    proof, proving, checking, refused = theorem(policy, asked)
    if "-v" in sys.argv:
        print(policy.to_text(), proof, sep="\n")
    return f"| {name} | {seed} | {100 * proof.share:.2f} % | {proof.volume:.5g} | {learning:.1f} | {proving:.1f} | {checking:.1f} {refused}|"


def main(problems):
    """`problems`: by name a problem, leaves, samples, and what is asked of `prove`."""
    given = [word for word in sys.argv[1:] if word != "-v"]
    names, seeds = [word for word in given if not word.isdigit()], [int(word) for word in given if word.isdigit()]
    print("| problem | seed | proven | volume | learned, s | proven, s | checked, s |\n|---|---|---|---|---|---|---|")
    for name in names or problems:
        for seed in seeds or range(1000, 1005):
            print(row(name, seed, *problems[name]), flush=True)
