"""What becomes machine code, and what only becomes part of it. How it is kept on disk: `spaql.compiling`.

Numba by itself optimises every function and makes machine code of it, also of those that only other functions call, and
then again inside of every caller: most of the time of compiling. Here there are two kinds:

- a part is typed and lowered once, and optimised only where it stands in a kernel;
- a kernel is called from Python: its parts are linked into it and become machine code together.

The results are the same to the bit: without fastmath LLVM may not change what arithmetic gives.
"""

import gc
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any

from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import register_pass
from numba.core.event import trigger_event
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature
from numba.core.typed_passes import NativeLowering
from numba.core.untyped_passes import InlineClosureLikes

from spaql import compilation


class Part(JITCodeLibrary):
    """What one function lowers to, with the parts it calls linked in."""

    def _optimize_final_module(self) -> None:
        pass  # the kernel does, once it knows what is called where

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True  # and no machine code


@register_pass(mutates_CFG=True, analysis_only=False)
class PartLowering(NativeLowering):
    """Numba's lowering into a library that no one executes."""

    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = Part(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        # callers find the function by what would be its executable: any object of its own will do
        state["cr"] = state["cr"]._replace(cfunc=state.library)
        state.targetctx.insert_user_function(state.library, state["cr"].fndesc, [state.library])
        return True


_pipelines: dict[tuple[type[NativeLowering], bool], Any] = {}


class Compiler(CompilerBase):
    """Numba's compiler with another lowering."""

    lowering: type[NativeLowering]

    def define_pipelines(self) -> list[Any]:
        """The same for all functions, so put together once; but those with functions inside need a pass more."""
        closed = any(isinstance(constant, CodeType) for constant in self.state.func_id.code.co_consts)
        key = self.lowering, closed
        if key not in _pipelines:
            made = DefaultPassBuilder.define_nopython_pipeline(self.state)
            steps = [(step, why) for step, why in made.passes if closed or step is not InlineClosureLikes]
            made.passes = [(self.lowering, why) if step is NativeLowering else (step, why) for step, why in steps]
            made.finalize()
            _pipelines[key] = made
        return [_pipelines[key]]


class PartCompiler(Compiler):
    lowering = PartLowering


class Inside(CPUDispatcher):
    """A function for use inside of compiled code. Without a form for Python, a call from Python is refused."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], compiler: type[Compiler]) -> None:
        super().__init__(function, {}, {**options, "nopython": True}, compiler)

    def _compile_for_args(self, *_: Any, **__: Any) -> None:
        raise TypeError(f"{self.__name__} is for compiled code: Python can call kernels and entries only")

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Numba would compile it once more for every constant it is called with; LLVM sees constants all the same."""
        kws = {name: types.unliteral(kind) for name, kind in kws.items()}
        return super().get_call_template(tuple(types.unliteral(kind) for kind in args), kws)

    def compile(self, sig: Any) -> Any:
        """As numba does, without a timer for each function: every timer listens to all that is compiled within."""
        args, result = normalize_signature(sig)
        with global_compiler_lock:
            if tuple(args) not in self.overloads:
                kept = self._cache.load_overload(sig, self.targetctx)
                if kept is not None:
                    self.add_overload(kept)
                else:
                    with trigger_event("numba:compile", data={"dispatcher": self, "args": args, "return_type": result}):
                        self.add_overload(self._compiler.compile(args, result))
                    compilation.made(title(self))
                    self._cache.save_overload(sig, self.overloads[tuple(args)])
            return self.overloads[tuple(args)].entry_point

    def add_overload(self, compiled: Any) -> None:
        self.overloads[tuple(compiled.signature.args)] = compiled  # known to compiled code, unknown to Python


class Kernel(CPUDispatcher):
    """A function that Python calls. Compiled code that calls it links its part."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], part: Inside, cache: Any) -> None:
        super().__init__(function, {}, {**options, "nopython": True})
        self.part, self._cache = part, cache
        self._compiler._customize_flags = self._begun

    def compile(self, sig: Any) -> Any:
        """Python looks through all objects for cycles again and again while numba makes millions of them."""
        collecting = gc.isenabled()
        gc.disable()
        try:
            return super().compile(sig)
        finally:
            compilation.ended()
            if collecting:
                gc.enable()

    def _begun(self, flags: Any) -> Any:
        """Numba asks here when it did not find the kernel on the disk."""
        compilation.begun(title(self), needed_by(self))
        return flags

    @property
    def _numba_type_(self) -> Any:
        return self.part._numba_type_


def title(function: CPUDispatcher) -> str:
    """How a function is named in the news of compiling."""
    return f"{function.py_func.__module__}.{function.py_func.__name__}"


def needed_by(function: CPUDispatcher) -> set[str]:
    """The titles of a function and of those of ours that it calls, as far as their sources tell."""
    found, pending = {title(function): function}, [function]
    while pending:
        code, scope = (caller := pending.pop().py_func).__code__, caller.__globals__
        values = [scope[name] for name in code.co_names if name in scope]
        modules = [value for value in values if isinstance(value, ModuleType)]
        values += [getattr(module, name, None) for module in modules for name in code.co_names]
        for value in values:
            if isinstance(value, Inside | Kernel) and title(value) not in found:
                found[title(value)] = value
                pending.append(value)
    return set(found)
