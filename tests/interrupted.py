"""Ctrl-C while something is under way, pressed in this process: to start another takes longer than what is interrupted."""

import os
import signal
import threading
import time
from contextlib import contextmanager

import pytest


@contextmanager
def ctrl_c(begun):
    """A thread presses Ctrl-C as soon as `begun()` is true: no race with the beginning of what is interrupted.

    What is not caught inside is an ordinary interrupt; here it fails the test instead of ending all tests.
    """
    over = threading.Event()

    def press():
        while not begun() and not over.is_set():
            time.sleep(0.005)
        if not over.is_set():
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    presser = threading.Thread(target=press, daemon=True)
    try:
        presser.start()
        yield
    except KeyboardInterrupt:
        pytest.fail("nobody has caught Ctrl-C")
    finally:
        over.set()
        presser.join()
        signal.signal(signal.SIGINT, before)


def under_way(*agents):
    """Whether all agents are well into their training."""
    return lambda: min(len(agent.state.history) for agent in agents) >= 10
