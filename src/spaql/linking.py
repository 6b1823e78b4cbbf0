"""What becomes machine code, and what only becomes part of it. How it is kept on disk: `spaql.compiling`.

Numba by itself optimises every function and makes machine code of it, also of those that only other functions call, and
then again inside of every caller: most of the time of compiling. Here there are three kinds:

- a part is typed and lowered once, and optimised only where it stands in a kernel or unit;
- a kernel is called from Python: its parts are linked into it and become machine code together;
- a unit is long code that several kernels call: machine code of its own, found by its name, so that it is compiled once
  and by any process (`spaql.compilers`).

The results are the same to the bit: without fastmath LLVM may not change what arithmetic gives.
"""

import gc
import hashlib
import importlib
from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple

from llvmlite import binding
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import register_pass
from numba.core.event import trigger_event
from numba.core.funcdesc import FunctionDescriptor
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature
from numba.core.typed_passes import NativeLowering
from numba.core.typing import signature as signature_of
from numba.core.untyped_passes import InlineClosureLikes

RESULTS = {int: types.int64, float: types.float64, bool: types.boolean, None: types.none}


class Part(JITCodeLibrary):
    """What one function lowers to, with the parts it calls linked in."""

    def _optimize_final_module(self) -> None:
        pass  # the kernel does, once it knows what is called where

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True  # and no machine code


class Whole(JITCodeLibrary):
    """Machine code: all parts optimised together. The units that it calls must be in memory first."""

    def _finalize_final_module(self) -> None:
        for reference in self._reload_init:
            reference()
        super()._finalize_final_module()


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


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(NativeLowering):
    """Numba's lowering of what Python calls."""

    _name = "kernel_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = Whole(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class UnitLowering(NativeLowering):
    """Numba's lowering of a unit, under a name that does not depend on what was compiled before it."""

    _name = "unit_lowering"

    def run_pass(self, state: Any) -> bool:
        library = state.library = Whole(state.targetctx.codegen(), state.func_id.func_qualname)
        library.enable_object_caching()
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        own_name = library._final_module.get_function(lowered.fndesc.mangled_name)
        own_name.name = symbol_of(state.func_id.func, tuple(state.args))
        library.finalize()
        library.codegen.set_env(lowered.fndesc.env_name, lowered.env)
        state.reload_init.extend(library._reload_init)
        state["cr"] = lowered._replace(cfunc=library)
        return True


def symbol_of(function: Callable[..., Any], arguments: tuple[Any, ...]) -> str:
    """The name of a unit's machine code, in every process."""
    kinds = hashlib.sha256(repr(arguments).encode()).hexdigest()[:16]
    return f"{function.__module__}.{function.__qualname__}.{kinds}"


_pipelines: dict[tuple[type[NativeLowering], bool], Any] = {}


class _Compiler(CompilerBase):
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


class PartCompiler(_Compiler):
    lowering = PartLowering


class KernelCompiler(_Compiler):
    lowering = KernelLowering


class UnitCompiler(_Compiler):
    lowering = UnitLowering


class Inside(CPUDispatcher):
    """A function for use inside of compiled code. Without a form for Python, a call from Python is refused."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], compiler: type[_Compiler]) -> None:
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
                    self._cache.save_overload(sig, self.overloads[tuple(args)])
            return self.overloads[tuple(args)].entry_point

    def add_overload(self, compiled: Any) -> None:
        self.overloads[tuple(compiled.signature.args)] = compiled  # known to compiled code, unknown to Python


class Kernel(CPUDispatcher):
    """A function that Python calls. Compiled code that calls it links its part."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], part: Inside, cache: Any) -> None:
        super().__init__(function, {}, {**options, "nopython": True}, KernelCompiler)
        self.part, self._cache = part, cache

    def compile(self, sig: Any) -> Any:
        """Python looks through all objects for cycles again and again while numba makes millions of them."""
        collecting = gc.isenabled()
        gc.disable()
        try:
            return super().compile(sig)
        finally:
            if collecting:
                gc.enable()

    @property
    def _numba_type_(self) -> Any:
        return self.part._numba_type_


class Reference(NamedTuple):
    """A unit for arguments of certain types. To call it brings its machine code into memory, wherever it is made."""

    module: str
    name: str
    signature: Any

    def unit(self) -> "Unit":
        unit: Unit = getattr(importlib.import_module(self.module), self.name)
        return unit

    def __call__(self) -> None:
        from spaql.compilers import finish

        finish(self)


class Promise(NamedTuple):
    """What the callers of a unit must know of it, before it is compiled: it stands for numba's result."""

    signature: Any
    entry_point: "Link"
    objectmode: bool = False


class Link:
    """What callers link of a unit: nothing but the need for it."""

    _reload_init: set[Reference]  # where numba looks for what must be loaded before a caller can be

    def __init__(self, reference: Reference) -> None:
        self._reload_init = {reference}
        self.empty = binding.parse_assembly("")

    def _ensure_finalized(self) -> None:
        pass  # it may well be compiled after its callers

    def _get_module_for_linking(self) -> Any:
        return self.empty


class Unit(Inside):
    """Typing a caller asks for it: it is promised at once and begun, here or in another process."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], cache: Any) -> None:
        super().__init__(function, options, UnitCompiler)
        self.result = RESULTS[function.__annotations__["return"]]
        self.code = Inside(function, options, UnitCompiler)  # what is compiled or loaded
        self.code._cache = cache

    def compile(self, arguments: Any) -> Any:
        from spaql.compilers import begin

        arguments = tuple(arguments)
        if arguments not in self.overloads:
            signature = signature_of(self.result, *arguments)
            reference = Reference(self.py_func.__module__, self.py_func.__name__, signature)
            link = Link(reference)
            self.targetctx.insert_user_function(link, self._described(signature), [link])
            self.overloads[arguments] = Promise(signature, link)
            begin(reference)
        return self.overloads[arguments].entry_point

    def loaded(self, signature: Any) -> bool:
        """Whether its machine code is in memory or on the disk: then it is brought into memory."""
        if tuple(signature.args) not in self.code.overloads:
            kept = self.code._cache.load_overload(signature, self.targetctx)
            if kept is None:
                return False
            self.code.add_overload(kept)
        return True

    def _described(self, signature: Any) -> FunctionDescriptor:
        names = list(self._compiler.pysig.parameters)
        symbol = symbol_of(self.py_func, signature.args)
        return FunctionDescriptor(
            native=True, modname=self.py_func.__module__, qualname=self.py_func.__qualname__, unique_name=symbol,
            doc="", typemap=None, restype=signature.return_type, calltypes=None, args=names, kws=(),
            mangler=lambda *_, **__: symbol, argtypes=signature.args,
        )  # fmt: skip
