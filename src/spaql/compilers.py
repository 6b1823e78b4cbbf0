"""Processes that compile side by side: what one has made, the others find on the disk.

A kernel that is compiled asks for its units (`spaql.units`). Each is begun in another process if there is one, while
this process goes on; at the end it makes itself those that nobody has begun, and waits for the rest.
"""

import atexit
import contextlib
import os
import pickle
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from numba.core.registry import cpu_target

from spaql import compilation

if TYPE_CHECKING:
    from spaql.linking import Reference

MOST = 3  # processes beside this one: there are seldom more units than that
IDLE = 20.0  # seconds after which a process without work ends
MADE, FAILED = ".", "!"  # answers of a process about a unit; before them stand the functions it has compiled
SERVE = "import spaql.compiling, spaql.compilers; spaql.compilers.serve()"


class Pool:
    """Work that waits, work under way, and the processes that do it. One thread of ours speaks with each of them."""

    def __init__(self) -> None:
        self.process_id = os.getpid()  # a forked child has none of our threads, and gets a pool of its own
        self.changed = threading.Condition()
        self.waiting: list[Reference] = []
        self.under_way: set[Reference] = set()
        self.threads = 0

    def start(self, number: int) -> None:
        """Start processes until there are so many."""
        with self.changed:
            while self.threads < number:
                self.threads += 1
                threading.Thread(target=self._speak, daemon=True).start()

    def _speak(self) -> None:
        try:
            process = started()
            while (reference := self._next()) is not None and self.made(process, reference):
                pass
            with contextlib.suppress(OSError):
                process.stdin.close()  # type: ignore[union-attr]
            process.wait()
        except OSError:
            pass  # no process can be started here: this one compiles alone
        finally:
            with self.changed:
                self.threads -= 1

    def _next(self) -> "Reference | None":
        with self.changed:
            if not self.changed.wait_for(lambda: self.waiting, IDLE):
                return None
            reference = self.waiting.pop(0)
            self.under_way.add(reference)
            return reference

    def made(self, process: "subprocess.Popen[bytes]", reference: "Reference") -> bool:
        """Have a process make a unit; False if it could not."""
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(pickle.dumps(reference))
            process.stdin.flush()
            while (answer := process.stdout.readline().decode().strip()) not in (MADE, FAILED, ""):
                compilation.made(answer)
            return answer == MADE
        except OSError:
            return False  # it has ended: the caller finds nothing on the disk, and compiles itself
        finally:
            with self.changed:
                self.under_way.discard(reference)
                self.changed.notify_all()


_pools = [Pool()]


def pool() -> Pool:
    if _pools[-1].process_id != os.getpid():
        _pools.append(Pool())
    return _pools[-1]


def number() -> int:
    """`$SPAQL_COMPILERS`, else one per core beside this process."""
    named = os.environ.get("SPAQL_COMPILERS", "")
    if named.isdigit():
        return int(named)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores - 1, MOST)


def expect() -> None:
    """Much will have to be compiled soon: the processes take a second to get ready."""
    pool().start(min(number(), 1))


def begin(reference: "Reference") -> None:
    """Have a unit ready as soon as may be."""
    if not reference.unit().loaded(reference.signature):
        begin_elsewhere(reference)


def begin_elsewhere(reference: "Reference") -> None:
    with pool().changed:
        pool().waiting.append(reference)
        pool().changed.notify_all()
        wanted = len(pool().waiting) + len(pool().under_way)
    pool().start(min(number(), wanted))


def ahead(reference: "Reference") -> None:
    """Have a kernel ready that will be called later on, if another process can make it meanwhile."""
    if number() and not reference.unit().loaded(reference.signature):
        begin_elsewhere(reference)


def join(reference: "Reference") -> None:
    """Wait for a kernel that another process is making; one that nobody has begun is taken back."""
    now = pool()
    with now.changed:
        if reference in now.waiting:
            now.waiting.remove(reference)
        now.changed.wait_for(lambda: reference not in now.under_way)


def finish(reference: "Reference") -> None:
    """Bring the machine code of a unit into memory. Until others have made it, do what nobody does."""
    now = pool()
    while True:
        with now.changed:
            mine = reference if reference in now.waiting or reference not in now.under_way else None
            if mine is None and now.waiting:
                mine = now.waiting[-1]
            if mine in now.waiting:
                now.waiting.remove(mine)
            elif mine is None:
                now.changed.wait()
                continue
        mine.unit().code.compile(mine.signature)
        if mine == reference:
            return


def started() -> "subprocess.Popen[bytes]":
    """A process that compiles what it is told."""
    path = os.pathsep.join(place for place in sys.path if place)
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env={**os.environ, "SPAQL_COMPILERS": "0", "PYTHONPATH": path},
        start_new_session=True,  # Ctrl-C is for the process that the user has started; this one follows it
    )  # fmt: skip
    atexit.register(_end, process)
    return process


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()  # then its time counts as ours


def serve() -> None:
    """What the other processes do: compile what they are told, until there is nobody left to tell them."""
    answers = os.fdopen(os.dup(1), "w", 1)
    os.dup2(2, 1)  # whatever else is printed
    cpu_target.typing_context.refresh()  # what numba loads before it compiles: a second, while nothing is asked for yet
    cpu_target.target_context.refresh()
    compilation.watch(lambda news: print(news.name, file=answers))
    while True:
        try:
            reference = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            reference.unit().code.compile(reference.signature)
            print(MADE, file=answers)
        except Exception:
            print(FAILED, file=answers)  # who has asked tries it too, and says what is wrong
