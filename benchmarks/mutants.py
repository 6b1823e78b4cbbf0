"""Small errors put into the enclosures and into the checker, one after the other: each must be noticed by a test. A line each; exit code 1 if one is not.

python benchmarks/mutants.py [parts of a file's name or of a mutant]

A copy of the package with the error stands before the package itself. Where the error is in compiled code that is compiled anew; so each mutant names
the tests that shall notice it, and no others are run. All of them take half an hour.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import spaql
from spaql.ground.numba_public import cache_folder

PACKAGE = Path(spaql.__file__).parent
TESTS = PACKAGE.parents[1] / "tests" / "proofs"
WORK, SETS, FLOWS, PROVE = "test_checked_work.py::test_", "test_sets.py::test_", "test_flows.py::test_", "test_prove.py::test_"
EXACT, SLOPES = f"{WORK}ranges_and_errors_hold_exact_values_and_those_of_programs", f"{WORK}slopes_hold_the_mean_value_theorem_exactly"
CUTS, KEEPS = f"{WORK}an_answer_cuts_no_state_that_gives_it", f"{SETS}a_cut_keeps_every_point_that_it_is_to_keep"
EXTREMES = f"{WORK}where_either_may_be_the_extreme_slopes_are_those_of_both"
VALUES, MEANS = "test_enclosures.py::test_ranges_hold_exact_values", "test_plants_enclosed.py::test_slopes_of_both_hold_the_mean_value_theorem"
DECIDES = f"{SETS}what_a_step_leaves_over_is_in_the_set"
FEWER = f"{SETS}a_set_lies_in_what_fewer_symbols_say_of_it_and_in_nothing_that_is_a_little_smaller"
HOLDS, WHOLE = f"{FLOWS}the_sets_of_the_checker_hold_all_states_at_samples_and_between", f"{FLOWS}the_rest_is_that_of_the_whole_way"
ENDS, BETWEEN = f"{FLOWS}an_end_between_samples_is_an_end", f"{FLOWS}bounds_hold_between_samples_too"
CELLS, DAMAGED = f"{PROVE}of_cells_no_number_may_be_better", f"{PROVE}a_damaged_certificate_is_refused"
ACCEPTS, NORM = f"{PROVE}the_checker_accepts_what_the_prover_writes", "test_attraction.py::test_the_norm_of_a_matrix_is_bounded"
MUTANTS = [  # file, what stands there, what the mutant has, tests that shall notice
    # -- the checker
    ("checked_functions", "NEXT, LEAST = 2.0**-53 * (1.0 + 2.0**-50), 2.0**-1074", "NEXT, LEAST = 0.0, 0.0", EXACT),
    ("checked_functions", "LIBRARY = 2e-15", "LIBRARY = 0.0", VALUES),
    ("checked_functions", "later = 0.25 * (1.0 - quarters)", "later = 0.26 * (1.0 - quarters)", VALUES),
    ("checked_functions", "r * _horner(SINE, r * r) if", "r * _horner(SINE[:7], r * r) if", VALUES),
    ("checked_work", "p, q = en.outward(p + r, q + s)\n                elif code == op.DIV", "p, q = p, q\n                elif code == op.DIV", SLOPES),
    ("checked_work", "p, q = p if only_a else r if only_b else min(p, r), q if only_a else s if only_b else max(q, s)", "p, q = p if only_a else r, q if only_a else s", EXTREMES),
    ("checked_work", "1.0 if a >= 0.0 else -1.0, -1.0 if b <= 0.0 else 1.0, e", "1.0 if a >= 0.0 else -1.0, -1.0 if a <= 0.0 else 1.0, e", EXTREMES),
    ("checked_work", "off += ULP * max(abs(low[k, n]), abs(high[k, n])) + TINY", "off += TINY", EXACT),
    ("checked_work", "least, most = least - off - en.NEXT * abs(least), most + off + en.NEXT * abs(most)", "least, most = least, most", CUTS),
    ("checked_kernels", "bound = (least - (total - size) * (1.0 + ROUND)) / size - SLACK", "bound = (least - 0.99 * (total - size)) / size", KEEPS),
    ("checked_kernels", "half = 0.5 * (1.0 - bound) + SLACK", "half = 0.49 * (1.0 - bound)", KEEPS),
    ("checked_kernels", "least, most = a + min(h * low, 0.0), b + max(h * high, 0.0)", "least, most = a + h * low, b + h * high", HOLDS),
    ("checked_kernels", "left += (0.5 * (high - low) + ROUND * (abs(low) + abs(high))) * reach", "left += 0.0", HOLDS),
    ("checked_kernels", "if j >= d:  # the time, no noise symbol of which is kept", "if j > d:", HOLDS),
    ("checked_kernels", "left += max(abs(lagrange[n, i, 0]), abs(lagrange[n, i, 1]))", "left += 0.0", WHOLE),
    ("checked_flows", "own = np.concatenate([sets.G, np.eye(d) * sets.R[:, None]], axis=2)", "own = np.concatenate([sets.G, 0.0 * np.eye(d) * sets.R[:, None]], axis=2)", HOLDS),
    ("checked_sets", "R = sets.R + np.abs(G[:, :, most:]).sum(axis=2) * (1.0 + ROUND)", "R = sets.R", FEWER),
    ("checked_flows", "perhaps | ends", "perhaps", ENDS),
    ("checked_flows", "why = move(working(), equation, sets.c, sets.G, box, first, equation.h,", "why = move(working(), equation, sets.c, sets.G, box, first, first,", HOLDS),
    ("checked_steps", "R[:, i] += (np.abs(J_mid[:, d : d + m]) * act.e[rows]).sum(axis=1)", "", DECIDES),
    ("checked_steps", "R[:, i] += ((J_half + ROUND * np.abs(J_mid)) * reach).sum(axis=1)", "", DECIDES),
    ("checker", "error = ((seen.middle_high - seen.middle_low) + seen.error + loop.sensors) @ w + (", "error = ((seen.middle_high - seen.middle_low) + seen.error) @ w + (", DECIDES),
    ("checked_cells", "done[n] |= step[n] + bound <= bounds[owner[n]]", "done[n] |= bound <= bounds[owner[n]]", CELLS),
    ("checked_linear", 'require(left <= rest, "a step leaves more than its rest")', "", DAMAGED),
    ("checked_linear", 'require(off <= band[:m], "the controller is farther from its line than its band")', "", DAMAGED),
    ("checked_attraction", "least = en.sub(en.exactly(bound), en.exactly(rest))[0]", "least = np.float64(bound)", NORM),
    # -- the enclosures
    ("intervals", "ULPS = 2.0**-51", "ULPS = 0.0", VALUES),
    ("intervals", "FUNCTION = 4e-15", "FUNCTION = 0.0", VALUES),
    ("intervals", "math.floor(b / TURN - 0.25 + SAFE)", "math.floor(b / TURN - 0.26 + SAFE)", VALUES),
    ("machine", "slope_low, slope_high = 2.0 * al, 2.0 * ah", "slope_low, slope_high = al, ah", MEANS),
    ("sets", "rest += abs(middle) * w.applied[j - d, 1]", "rest += 0.0", DECIDES),
    ("sets", "rest += (half + ROUND * abs(middle)) * reach", "rest += 0.0", DECIDES),
    ("sets", "target.rest[to, i] += abs(target.shape[to, i, slot]) * (1.0 + ROUND)", "target.rest[to, i] += 0.0", FEWER),
    ("sets", "bound = (least - (total - size) * (1.0 + ROUND)) / size - SLACK", "bound = (least - 0.5 * (total - size)) / size", KEEPS),
    ("flows", "w.lagrange[i, 0], w.lagrange[i, 1] = min(least, 0.0), max(most, 0.0)", "w.lagrange[i, 0], w.lagrange[i, 1] = 0.0, 0.0", WHOLE),
    ("flows", "least, most = iv.times(0.0, h, w.out.box[i, 0], w.out.box[i, 1])\n            low, high = iv.plus(w.box[i, 0], w.box[i, 1], min(least, 0.0), max(most, 0.0))", "least, most = iv.times(h, h, w.out.box[i, 0], w.out.box[i, 1])\n            low, high = iv.plus(w.box[i, 0], w.box[i, 1], least, most)", BETWEEN),
    ("cell_kernels", "bound = max(bound, there + t.known[at, 1])", "bound = max(bound, there)", ACCEPTS),
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
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")]), "SPAQL_CACHE_DIR": folder}
        if "ground.compiling" not in text:  # what is compiled is that of the package
            remembered = copy / "ground" / "numba_public.py"
            remembered.write_text(remembered.read_text().replace("package = Path(__file__).parent.parent", f"package = Path({str(PACKAGE)!r})"))
            environment["SPAQL_CACHE_DIR"] = str(cache_folder().parent)
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:xdist", "--slow", "-p", "no:cacheprovider", str(TESTS / tests)]
        run = subprocess.run(command, cwd=TESTS.parents[1], env=environment, capture_output=True, text=True, check=False)
        assert run.returncode in (0, 1), run.stdout + run.stderr
        failed = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return failed[0].split("::")[-1][:70] if failed else ""


def main():
    wanted = sys.argv[1:] or [""]
    survivors = 0
    for file, before, after, tests in MUTANTS:
        if any(part in file or part in before for part in wanted):
            name = noticed(file, before, after, tests)
            survivors += not name
            what = after.strip().splitlines()[0][:60] if after.strip() else f"without {before[:50]}"
            print(f"{'noticed ' if name else 'SURVIVED'}  {file}.py: {what}  {name}", flush=True)
    sys.exit(survivors > 0)


if __name__ == "__main__":
    main()
