"""What a page promises of the controllers it learns, checked while its code runs.

    <!-- earns: agent 185, worst 5 % 170 -->     behind a block: agent.evaluate() has at least this mean, and worst 5 %; nothing warned
    <!-- warns: few iterations -->               behind a block: what is learned there is bad, and whoever runs it is told so
    <!-- no plant: agent -->                     behind a block: what was learned cannot be tried

One block may have several of them, a line each.
"""

import re
import warnings

from spaql.ground.errors import SpaqlWarning

EARNS = re.compile(r"<!-- earns: ([\w.\[\]]+) (-?[\d.]+), worst 5 % (-?[\d.]+) -->")
WARNS = re.compile(r"<!-- warns: (.+) -->")
NO_PLANT = re.compile(r"<!-- no plant: (\w+) -->")
LEARNS = re.compile(r"\.learn\(|\.replay\(|learn_all\(")
_raised = []


def watch():
    """From now on warnings are remembered, as they are printed."""
    printed = warnings.showwarning

    def shown(message, category, *where, **more):
        if issubclass(category, SpaqlWarning):
            _raised.append(str(message))
        printed(message, category, *where, **more)

    warnings.showwarning = shown
    warnings.simplefilter("always", SpaqlWarning)


def begin():
    _raised.clear()


def earns(controller, mean, worst):
    assert not _raised, f"the page shows this as good, but: {_raised}"
    fresh = controller.evaluate()
    print(f"earns {fresh.mean:.2f}, worst 5 % {fresh.worst5:.2f}; promised {mean:g}, {worst:g}")
    assert fresh.mean >= mean, f"{fresh.mean:.3f} is less than the {mean:g} of the page"
    assert fresh.worst5 >= worst, f"the worst 5 % have {fresh.worst5:.3f}, less than the {worst:g} of the page"


def no_plant(agent):
    assert agent.problem.plant is None
    assert agent.problem.env is None


def warned():
    assert _raised, "nothing warned: the page may say what is earned"
    begin()
