"""Loops over lanes with two vectors at a time, where a CPU waits for one; a kind of callback of `spaql.compiling`.

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
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

from spaql.linking import Compiler

LONG = 1500  # LLVM instructions: Pendulum has 600, CartPole 400, Acrobot 4300
LANES_AT_ONCE = 4 if platform.machine().lower() in ("aarch64", "arm64") else 0


class Wide(JITCodeLibrary):
    """Machine code whose own loops, not those of what it calls, take several lanes at once."""

    def add_ir_module(self, ir_module: Any) -> None:
        if LANES_AT_ONCE and isinstance(ir_module, ir.Module):
            for function in ir_module.functions:
                _hint(ir_module, function.blocks)
        super().add_ir_module(ir_module)

    def _optimize_final_module(self) -> None:
        """By now all that it calls is known."""
        if LANES_AT_ONCE and instructions(self._final_module) > LONG:
            text = re.sub(r", !llvm\.loop !\d+", "", str(self._final_module))
            self._final_module = binding.parse_assembly(text)
        super()._optimize_final_module()


def instructions(module: Any) -> int:
    """Of its longest function, with all functions of the module that it calls inside of it."""
    functions = {function.name: function for function in module.functions if not function.is_declaration}

    @functools.cache
    def length(name: str) -> int:
        every = [one for block in functions[name].blocks for one in block.instructions]
        called = [to.name for one in every if one.opcode == "call" for to in one.operands if to.name in functions]
        return len(every) + sum(map(length, called))

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


@register_pass(mutates_CFG=True, analysis_only=False)
class WideLowering(NativeLowering):
    """Numba's lowering of a callback."""

    _name = "wide_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = Wide(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


class WideCompiler(Compiler):
    lowering = WideLowering
