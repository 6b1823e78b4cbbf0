"""Small errors put into the enclosures and into the checker, one after the other: each must be noticed by a test. A line each; exit code 1 if one is not.

python benchmarks/mutants.py [part of a file's name or of a mutant]

A copy of the package with the error stands before the package itself. What is compiled is compiled anew, so that all of them take an hour.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import spaql

PACKAGE = Path(spaql.__file__).parent
TESTS = PACKAGE.parents[1] / "tests" / "proofs"
WORK, SETS, FLOWS, ROUNDED = "test_checked_work.py", "test_sets.py", "test_flows.py", "test_enclosures.py"
PLANTS, PROVE, SOUND, REST = "test_plants_enclosed.py", "test_prove.py", "test_soundness.py", "test_attraction.py"
MUTANTS = [  # file, what stands there, what the mutant has, tests that shall notice
    # -- the checker
    ("checked_functions", "NEXT, LEAST = 2.0**-53 * (1.0 + 2.0**-50), 2.0**-1074", "NEXT, LEAST = 0.0, 0.0", WORK),
    ("checked_functions", "LIBRARY = 2e-15", "LIBRARY = 0.0", ROUNDED),
    ("checked_functions", "later = 0.25 * (1.0 - quarters)", "later = 0.26 * (1.0 - quarters)", ROUNDED),
    ("checked_functions", "r * _horner(SINE, r * r) if", "r * _horner(SINE[:7], r * r) if", ROUNDED),
    ("checked_work", "p, q = outward(p + r, q + s)\n                elif code == DIV", "p, q = p, q\n                elif code == DIV", WORK),
    ("checked_work", "p, q = p if only_a else r if only_b else min(p, r), q if only_a else s if only_b else max(q, s)", "p, q = p if only_a else r, q if only_a else s", WORK),
    ("checked_work", "1.0 if a >= 0.0 else -1.0, -1.0 if b <= 0.0 else 1.0, e", "1.0 if a >= 0.0 else -1.0, -1.0 if a <= 0.0 else 1.0, e", WORK),
    ("checked_work", "off += ULP * max(abs(low[k, n]), abs(high[k, n])) + TINY", "off += TINY", WORK),
    ("checked_work", "least, most = least - off - NEXT * abs(least), most + off + NEXT * abs(most)", "least, most = least, most", WORK),
    ("checked_kernels", "bound = (least - (total - size) * (1.0 + ROUND)) / size - SLACK", "bound = (least - 0.99 * (total - size)) / size", WORK),
    ("checked_kernels", "half = 0.5 * (1.0 - bound) + SLACK", "half = 0.49 * (1.0 - bound)", WORK),
    ("checked_kernels", "least, most = a + min(h * low, 0.0), b + max(h * high, 0.0)", "least, most = a + h * low, b + h * high", FLOWS),
    ("checked_kernels", "left += (0.5 * (high - low) + ROUND * (abs(low) + abs(high))) * reach", "left += 0.0", FLOWS),
    ("checked_kernels", "if j >= d:  # the time, no noise symbol of which is kept", "if j > d:", FLOWS),
    ("checked_kernels", "left += max(abs(lagrange[n, i, 0]), abs(lagrange[n, i, 1]))", "left += 0.0", FLOWS),
    ("checked_flows", "own = np.concatenate([sets.G, np.eye(d) * sets.R[:, None]], axis=2)", "own = np.concatenate([sets.G, 0.0 * np.eye(d) * sets.R[:, None]], axis=2)", FLOWS),
    ("checked_flows", "R = sets.R + np.abs(G[:, :, most:]).sum(axis=2) * (1.0 + ROUND)", "R = sets.R", FLOWS),
    ("checked_flows", "perhaps | ends", "perhaps", FLOWS),
    ("checked_flows", "why = move(working(), equation, sets.c, sets.G, box, first, equation.h,", "why = move(working(), equation, sets.c, sets.G, box, first, first,", FLOWS),
    ("checked_steps", "R[:, i] += (np.abs(J_mid[:, d : d + m]) * act.e[rows]).sum(axis=1)", "", SETS),
    ("checked_steps", "R[:, i] += ((J_half + ROUND * np.abs(J_mid)) * reach).sum(axis=1)", "", SETS),
    ("checked_sets", "left = np.abs(np.eye(d) - Q @ across) + ROUND", "left = np.zeros((d, d))", SETS),
    ("checker", "error = ((seen.middle_high - seen.middle_low) + seen.error + loop.sensors) @ w + (", "error = ((seen.middle_high - seen.middle_low) + seen.error) @ w + (", PROVE),
    ("checked_cells", "done[n] |= step[n] + bound <= bounds[owner[n]]", "done[n] |= bound <= bounds[owner[n]]", PROVE),
    ("checked_linear", 'require(left <= rest, "a step leaves more than its rest")', "", PROVE),
    ("checked_linear", 'require(off <= band[:m], "the controller is farther from its line than its band")', "", PROVE),
    ("checked_attraction", "least = en.sub(en.exactly(bound), en.exactly(rest))[0]", "least = np.float64(bound)", REST),
    # -- the enclosures
    ("intervals", "ULPS = 2.0**-51", "ULPS = 0.0", ROUNDED),
    ("intervals", "FUNCTION = 4e-15", "FUNCTION = 0.0", ROUNDED),
    ("intervals", "math.floor(b / TURN - 0.25 + SAFE)", "math.floor(b / TURN - 0.26 + SAFE)", ROUNDED),
    ("operations", "slope_low, slope_high = 2.0 * al, 2.0 * ah", "slope_low, slope_high = al, ah", PLANTS),
    ("mean_values", "rest += abs(middle) * w.applied[j - d, 1]", "rest += 0.0", SETS),
    ("mean_values", "rest += (half + ROUND * abs(middle)) * reach", "rest += 0.0", SETS),
    ("mean_values", "target.rest[to, i] += abs(target.shape[to, i, slot]) * (1.0 + ROUND)", "target.rest[to, i] += 0.0", FLOWS),
    ("sets", "bound = (least - (total - size) * (1.0 + ROUND)) / size - SLACK", "bound = (least - 0.5 * (total - size)) / size", SETS),
    ("flows", "w.lagrange[i, 0], w.lagrange[i, 1] = min(least, 0.0), max(most, 0.0)", "w.lagrange[i, 0], w.lagrange[i, 1] = 0.0, 0.0", FLOWS),
    ("flows", "least, most = iv.times(0.0, h, w.out.box[i, 0], w.out.box[i, 1])\n            low, high = iv.plus(w.box[i, 0], w.box[i, 1], min(least, 0.0), max(most, 0.0))", "least, most = iv.times(h, h, w.out.box[i, 0], w.out.box[i, 1])\n            low, high = iv.plus(w.box[i, 0], w.box[i, 1], least, most)", FLOWS),
    ("cell_kernels", "bound = max(bound, there + t.known[at, 1])", "bound = max(bound, there)", PROVE),
]  # fmt: skip


def noticed(file, before, after, tests):
    """The name of the test that fails, or an empty text."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "spaql"
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        path = copy / "proofs" / f"{file}.py"
        text = path.read_text()
        assert text.count(before) == 1, f"{file}.py has {text.count(before)} times: {before}"
        path.write_text(text.replace(before, after))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")]), "SPAQL_CACHE_DIR": os.environ.get("MUTANTS_CACHE", folder)}
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "--slow", "-p", "no:cacheprovider", *os.environ.get("MUTANTS_OPTIONS", "").split(), str(TESTS / tests)]
        run = subprocess.run(command, cwd=TESTS.parents[1], env=environment, capture_output=True, text=True, check=False)
        failed = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return failed[0].split("::")[-1][:70] if failed else ""


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    survivors = 0
    for file, before, after, tests in MUTANTS:
        if wanted in file or wanted in before:
            name = noticed(file, before, after, tests)
            survivors += not name
            what = after.strip().splitlines()[0][:60] if after.strip() else f"without {before[:50]}"
            print(f"{'noticed ' if name else 'SURVIVED'}  {file}.py: {what}  {name}", flush=True)
    sys.exit(survivors > 0)


if __name__ == "__main__":
    main()
