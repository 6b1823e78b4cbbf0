"""First programs on an empty compile cache, this version against another: `python benchmarks/cold_start.py COMMIT [ROUNDS]`.

Both versions run the same programs in turn, in one run; the ratios are of CPU seconds (of all processes), which other
work on the machine changes least, and of wall seconds. The return of each program must be the same to the last bit.
"""

import sys

from versions import source_of

from spaql.training.speed import PROGRAMS, measure_cold


def main(commit: str, rounds: int = 2) -> None:
    with source_of(commit) as source:
        then, now = [], []
        for _ in range(rounds):
            then.append(measure_cold(source=source))
            now.append(measure_cold())
    print(f"{'':28} {'CPU s then':>10} {'now':>6} {'ratio':>6} {'wall s then':>12} {'now':>6} {'ratio':>6} {'compiled':>9}")
    for name in PROGRAMS:
        cpu, wall = ([min(one[name][what] for one in runs) for runs in (then, now)] for what in ("cpu", "wall"))
        counted = now[0][name]["compilations"]
        print(f"{name:28} {cpu[0]:10.1f} {cpu[1]:6.1f} {cpu[1] / cpu[0]:6.2f} {wall[0]:12.1f} {wall[1]:6.1f} {wall[1] / wall[0]:6.2f} {counted:9}")
        if then[0][name]["return"] != now[0][name]["return"]:
            sys.exit(f"{name}: the return was {then[0][name]['return']!r} and is {now[0][name]['return']!r}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], *map(int, sys.argv[2:3]))
