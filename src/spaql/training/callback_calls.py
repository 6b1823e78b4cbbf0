"""The callbacks of one `learn` call: when each is due, and that the `end` of all of them is called."""

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from spaql.errors import SpaqlError, echoed
from spaql.training.callbacks import Callback

if TYPE_CHECKING:
    from spaql.learners.agent import Agent


class Calls:
    """None, a function of the agent, a `spaql.callbacks.Callback`, or a list of these."""

    def __init__(self, given: Any) -> None:
        if isinstance(given, Sequence) and not isinstance(given, str):
            listed = list(given)
        else:
            listed = [] if given is None else [given]
        for call in listed:
            if not callable(call) or isinstance(call, type):
                hint = f": write {call.__name__}(...)" if isinstance(call, type) else ""
                wanted = "callback must be a function of the agent, or a list of such"
                raise SpaqlError(f"{wanted}, not {echoed(call)}{hint}")
        self.calls: list[Callable[[Agent], bool | None]] = listed
        self.begun: list[Any] = []

    def begin(self, agent: "Agent", goal: str) -> None:
        for call in self.calls:
            if isinstance(call, Callback):
                call.begin(agent, goal)
                self.begun.append(call)

    def room(self, iterations: int) -> int:
        """How many more iterations until a callback is due."""
        return min((self._every(call) - iterations % self._every(call) for call in self.calls), default=2**62)

    def __call__(self, agent: "Agent") -> bool:
        """Call all callbacks that are due; False if one of them wants to stop."""
        count = len(agent.state.history)
        answers = [call(agent) for call in self.calls if count % self._every(call) == 0]
        return not any(answer is False for answer in answers)

    def end(self, agent: "Agent") -> None:
        """Call the `end` of all callbacks, also if one of these calls fails."""
        with contextlib.ExitStack() as stack:
            for call in reversed(self.begun):
                stack.callback(call.end, agent)

    @staticmethod
    def _every(call: Any) -> int:
        return call.every if isinstance(call, Callback) else 1
