"""`spaql ...` as a command: this module loads in a millisecond, the library in half a second.

Ctrl-C before anything is begun is one line, wherever it comes while modules are loaded.
"""

import os
import signal


def gone(number: int, frame: object) -> None:
    """Nothing is under way that could be kept."""
    os.write(2, b"interrupted\n")
    os._exit(128 + number)


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:  # else somebody wants it ignored
            signal.signal(number, gone)
    from spaql.cli import main as run

    run()


if __name__ == "__main__":
    main()
