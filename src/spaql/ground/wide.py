"""Loops over lanes with two vectors at a time, where a CPU waits for one: a kind of callback of spaql.ground.compiling.

A step of a plant is a long chain of dependent operations. With vectors of two numbers (ARM's NEON) a core has finished
such a chain before it has seen enough of the next one, and waits most of the time; two chains side by side take two
thirds of the time. LLVM would not do so by itself, because the rows of a table are only so far apart. Long equations,
such as those of four Runge-Kutta stages, have chains enough of their own, and would run out of registers. On other CPUs
the hint says what LLVM does anyway, so there it is left out.

The lanes of such a loop must not depend on each other: the hint allows LLVM to change the order of sums over them.
"""

import functools
import platform
import re
from typing import Any

from llvmlite import binding, ir

LONG = 1500  # LLVM instructions: Pendulum has 600, CartPole 400, Acrobot 4300
LANES_AT_ONCE = 4 if platform.machine().lower() in ("aarch64", "arm64") else 0


def hint(module: Any) -> None:
    """Mark the loops of a module that is not yet compiled."""
    if LANES_AT_ONCE and isinstance(module, ir.Module):
        for function in module.functions:
            _hint(module, function.blocks)


def without_hints_if_long(module: Any) -> Any:
    """A module of LLVM with all that it calls: as it is, or without the marks."""
    if LANES_AT_ONCE and instructions(module) > LONG:
        return binding.parse_assembly(re.sub(r", !llvm\.loop !\d+", "", str(module)))
    return module


def instructions(module: Any) -> int:
    """Of its longest function, with all functions of the module that it calls inside of it."""
    functions = {function.name: function for function in module.functions if not function.is_declaration}

    @functools.cache
    def length(name: str) -> int:
        every = [instruction for block in functions[name].blocks for instruction in block.instructions]
        calls = [instruction for instruction in every if instruction.opcode == "call"]
        names = [to.name for call in calls for to in call.operands if to.name in functions]
        return len(every) + sum(map(length, names))

    return max(map(length, functions), default=0)


def _hint(module: ir.Module, blocks: list[Any]) -> None:
    """Mark the branches that lead back, which stand for the loops."""
    place = {block: number for number, block in enumerate(blocks)}
    for number, block in enumerate(blocks):
        end = block.terminator
        if end is not None and end.opname == "br" and any(place.get(to, number + 1) <= number for to in end.operands):
            width = [ir.MetaDataString(module, "llvm.loop.vectorize.width"), ir.Constant(ir.IntType(32), LANES_AT_ONCE)]
            loop = ir.values.MDValue(module, (), str(len(module.metadata)))
            loop.operands = (loop, module.add_metadata(width))  # the name of a loop is a node that begins with itself
            end.set_metadata("llvm.loop", loop)
