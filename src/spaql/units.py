"""Units: long code that several kernels call. Machine code of its own, found by its name, made here or elsewhere.

Callers are typed and lowered before their units are compiled: a unit says by its annotation what it returns, and its
name follows from the types of its arguments. The other kinds of compiled functions: `spaql.linking`.
"""

import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple

from llvmlite import binding
from numba.core import types
from numba.core.compiler_machinery import register_pass
from numba.core.funcdesc import FunctionDescriptor
from numba.core.typed_passes import NativeLowering
from numba.core.typing import signature as signature_of

from spaql import compilers
from spaql.linking import Compiler, Inside, Reference, Whole

RESULTS = {int: types.int64, float: types.float64, bool: types.boolean, None: types.none}


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


class UnitCompiler(Compiler):
    lowering = UnitLowering


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
        arguments = tuple(arguments)
        if arguments not in self.overloads:
            signature = signature_of(self.result, *arguments)
            reference = Reference(self.py_func.__module__, self.py_func.__name__, signature)
            link = Link(reference)
            self.targetctx.insert_user_function(link, self._described(signature), [link])
            self.overloads[arguments] = Promise(signature, link)
            compilers.begin(reference)
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
