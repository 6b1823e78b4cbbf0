"""Parts of kernels: numba types and lowers them once; only the kernels that they are linked into become machine code.

Numba by itself optimises every function and makes machine code of it, also of those that only other functions call, and
then again inside of every caller: most of the time of compiling. A part stays what LLVM reads, and is optimised where it
stands in a kernel. The results are the same to the bit: without fastmath LLVM may not change what arithmetic gives.
What Python calls, and how it is kept: `spaql.compiling`.
"""

from typing import Any

from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering


class Part(JITCodeLibrary):
    """What one function lowers to, with the parts it calls linked in."""

    def _optimize_final_module(self) -> None:
        pass  # the kernel does, once it knows what is called where

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True  # and no machine code


@register_pass(mutates_CFG=True, analysis_only=False)
class PartLowering(NativeLowering):
    """Numba's lowering into a library of ours, which no one executes."""

    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = Part(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        # callers find the function by what would be its executable: any object of its own will do
        lowered = state["cr"]._replace(cfunc=state.library)
        state.targetctx.insert_user_function(lowered.cfunc, lowered.fndesc, [state.library])
        state["cr"] = lowered
        return True


class PartCompiler(CompilerBase):
    """Numba's compiler for parts."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        places = [place for place, (made, _) in enumerate(passes.passes) if made is NativeLowering]
        passes.passes[places[0]] = PartLowering, "lowering of a part"
        passes.finalize()
        return [passes]


class PartDispatcher(CPUDispatcher):
    """A function for use inside of kernels. Without a form for Python, a call from Python is refused."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        super().__init__(function, {}, {**options, "nopython": True}, PartCompiler)

    def _compile_for_args(self, *_: Any, **__: Any) -> None:
        raise TypeError(f"{self.__name__} is for compiled code: Python can call kernels and entries only")

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Numba would compile a part once more for every constant that it is called with; LLVM sees them all the same."""
        kws = {name: types.unliteral(kind) for name, kind in kws.items()}
        return super().get_call_template(tuple(types.unliteral(kind) for kind in args), kws)

    def add_overload(self, compiled: Any) -> None:
        self.overloads[tuple(compiled.signature.args)] = compiled  # known to compiled code, unknown to Python


class KernelDispatcher(CPUDispatcher):
    """A function that Python calls. Compiled code that calls it links its part."""

    def __init__(self, function: Any, part: PartDispatcher, options: dict[str, Any]) -> None:
        super().__init__(function, {}, {**options, "nopython": True})
        self.part = part

    @property
    def _numba_type_(self) -> Any:
        return self.part._numba_type_
