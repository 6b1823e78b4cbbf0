"""What is being compiled just now: told by those who compile (numba_internals.py), shown by the progress bars."""

import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple


class CompileCounter:
    """Functions compiled since the process began."""

    compiled = 0


class News(NamedTuple):
    """How far compiling is, in functions. Which will be needed is read off the sources: some may be left out."""

    name: str  # of the function compiled last
    done: int
    of: int  # 0: all is compiled


Watcher = Callable[[News], None]
_watchers: list[Watcher] = []
_lock = threading.Lock()
_needed: set[str] = set()
_done: set[str] = set()


def watch(watcher: Watcher) -> Callable[[], None]:
    """Tell `watcher` from now on. Returns what ends that."""
    _watchers.append(watcher)
    return lambda: _watchers.remove(watcher)


def begun(name: str, needed: set[str]) -> None:
    """A kernel is going to be compiled, with all these functions."""
    with _lock:
        CompileCounter.compiled += 1
        _needed.update(needed)
    _tell(name)


def made(name: str) -> None:
    """A function has been compiled."""
    with _lock:
        CompileCounter.compiled += 1
        _done.add(name)
    _tell(name)


def ended() -> None:
    """The kernel can be called."""
    with _lock:
        _needed.clear()
        _done.clear()
    _tell("")


def _tell(name: str) -> None:
    news = News(name, len(_done & _needed), len(_needed))
    for watcher in tuple(_watchers):
        watcher(news)


def title(function: Any) -> str:
    """How a compiled function is named in the news."""
    return f"{function.py_func.__module__}.{function.py_func.__name__}"


def needed_by(function: Any) -> set[str]:
    """The titles of a compiled function and of those that it calls, as far as their sources tell."""
    found, pending = {title(function)}, [function]
    while pending:
        code, scope = (caller := pending.pop().py_func).__code__, caller.__globals__
        values = [scope[name] for name in code.co_names if name in scope]
        modules = [value for value in values if isinstance(value, ModuleType)]
        values += [getattr(module, name, None) for module in modules for name in code.co_names]
        for value in values:
            if hasattr(value, "py_func") and title(value) not in found:
                found.add(title(value))
                pending.append(value)
    return found
