"""Numba's private interfaces: all that this package uses of them, and nothing else uses them.

They compile in a third to a half of the time that the public ones take (`spaql.ground.numba_public`), to the same bits:
without fastmath LLVM may not change what arithmetic gives. Numba by itself optimises every function and makes machine
code of it, also of those that only other functions call, and then again inside of every caller. Here there are two
kinds:

- a part is typed and lowered once, and optimised only where it stands in a kernel;
- a kernel is called from Python: its parts are linked into it and become machine code together.

What is on disk is loaded without what compiling needs. Where a name is missing, this module does not load, and
`spaql.ground.compiling` takes the public interfaces.
"""

import gc
from collections.abc import Callable
from operator import attrgetter
from types import ModuleType, SimpleNamespace
from typing import Any

from numba._dispatcher import compute_fingerprint
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.ccallback import CFunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher
from numba.core.runtime.nrt import rtsys
from numba.core.typed_passes import NativeLowering
from numba.experimental import function_type  # noqa: F401  (lets numba tell the type of a callback)

from spaql.ground.numba_public import OPTIONS as PUBLIC_OPTIONS
from spaql.ground.numba_public import cache_folder, fingerprint, keeps, numba, types
from spaql.ground.progress import compilation
from spaql.ground.wide import hint, without_hints_if_long

# No reference counting (`_nrt`): kernels work on arrays that their caller holds and allocate no arrays; counting would
# cost more than the work.
OPTIONS: dict[str, Any] = {**PUBLIC_OPTIONS, "_nrt": False, "no_cfunc_wrapper": True}
# Functions that only kernels call need no form that Python can call, each of which would hold a second copy of all that
# is inlined: a third of the time of compiling.
INSIDE: dict[str, Any] = {**OPTIONS, "no_cpython_wrapper": True}
INLINED: dict[str, Any] = {**INSIDE, "forceinline": True}

# What is called or overridden below. A method that Numba no longer calls would be overridden in vain, without an error.
OWNERS = {
    "CFunc": "compile",
    "CPUDispatcher": "_compile_for_args _numba_type_ add_overload compile get_call_template get_overload",
    "CPUDispatcher.targetdescr.options": " ".join(INLINED),
    "CompileResultCacheImpl": "_locator_classes",
    "CompilerBase": "define_pipelines",
    "DefaultPassBuilder": "define_nopython_pipeline",
    "FunctionCache": "_impl_class _load_overload _save_overload disable load_overload",
    "JITCodeLibrary": "_finalize_dynamic_globals _finalize_final_module _optimize_final_module "
    "add_ir_module enable_object_caching",
    "NativeLowering": "run_pass",
    "_CacheLocator": "from_function get_cache_path get_disambiguator get_source_stamp",
    "rtsys": "initialize",
}
NEEDED = [f"{owner}.{name}" for owner, names in OWNERS.items() for name in names.split()]
for dotted in NEEDED:
    attrgetter(dotted)(SimpleNamespace(**globals()))


class CodePart(JITCodeLibrary):
    """What one function lowers to, with the parts it calls linked in."""

    def _optimize_final_module(self) -> None:
        pass  # the kernel does, once it knows what is called where

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True  # and no machine code


class Wide(JITCodeLibrary):
    """Machine code whose own loops, not those of what it calls, take several lanes at once."""

    def add_ir_module(self, ir_module: Any) -> None:
        hint(ir_module)
        super().add_ir_module(ir_module)

    def _optimize_final_module(self) -> None:
        """By now all that it calls is known."""
        self._final_module = without_hints_if_long(self._final_module)
        super()._optimize_final_module()


@register_pass(mutates_CFG=True, analysis_only=False)
class PartLowering(NativeLowering):
    """Numba's lowering into a library that no one executes."""

    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = CodePart(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        # callers find the function by what would be its executable: any object of its own will do
        state["cr"] = state["cr"]._replace(cfunc=state.library)
        state.targetctx.insert_user_function(state.library, state["cr"].fndesc, [state.library])
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class WideLowering(NativeLowering):
    """Numba's lowering of a callback whose loops are over lanes."""

    _name = "wide_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = Wide(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


class PartCompiler(CompilerBase):
    """Numba's compiler with another lowering."""

    lowering: type[NativeLowering] = PartLowering

    def define_pipelines(self) -> list[Any]:
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        lowered = {NativeLowering: self.lowering}
        pipeline.passes = [(lowered.get(step, step), why) for step, why in pipeline.passes]
        pipeline.finalize()
        return [pipeline]


class WideCompiler(PartCompiler):
    lowering = WideLowering


class Locator(_CacheLocator):
    """Where numba puts the machine code of a function of this package or of a user's plant."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.line = function.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return str(cache_folder())

    def get_source_stamp(self) -> str:
        return fingerprint()

    def get_disambiguator(self) -> str:
        return str(self.line)

    @classmethod
    def from_function(cls, function: Callable[..., Any], _file: str) -> "Locator":
        return cls(function)


class CacheImpl(CompileResultCacheImpl):
    _locator_classes: list[Any] = [Locator]  # noqa: RUF012  (numba declares the list so)


class DiskCache(FunctionCache):
    """Numba's function cache in our folder; without a writable folder numba compiles and nothing is kept."""

    _impl_class = CacheImpl

    def __init__(self, function: Callable[..., Any], missed: Callable[[], None] = lambda: None) -> None:
        super().__init__(function)
        self.missed = missed  # called where nothing is found

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Code from the disk needs numba's runtime only. All that compiling needs, SciPy's linear algebra among it,
        takes as long to load as the rest of the library; numba loads it when it compiles."""
        rtsys.initialize(target)
        compiled = self._load_overload(signature, target)
        if compiled is None:
            keeps()
            self.missed()
        return compiled

    def _load_overload(self, signature: Any, target: Any) -> Any:
        try:
            return super()._load_overload(signature, target)
        except Exception:  # whatever a damaged or foreign file in the cache raises: compile again
            return None

    def _save_overload(self, signature: Any, data: Any) -> None:
        try:
            super()._save_overload(signature, data)
        except Exception:  # no space, no rights, or a damaged index: the code runs, but is not kept
            self.disable()


class Inside(CPUDispatcher):
    """A part. Without a form for Python, a call from Python is refused."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, {}, {**options, "nopython": True}, PartCompiler)

    def _compile_for_args(self, *_: Any, **__: Any) -> None:
        raise TypeError(f"{self.__name__} is for compiled code: Python can call kernels and entries only")

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Numba would compile it once more for every constant it is called with; LLVM sees constants all the same."""
        kws = {name: types.unliteral(kind) for name, kind in kws.items()}
        return super().get_call_template(tuple(types.unliteral(kind) for kind in args), kws)

    def add_overload(self, compiled: Any) -> None:
        self.overloads[tuple(compiled.signature.args)] = compiled  # known to compiled code, unknown to Python
        compilation.compiled(title(self))


class Kernel(CPUDispatcher):
    """A function that Python calls. Compiled code that calls it links its part."""

    def __init__(self, function: Callable[..., Any], inner: Inside) -> None:
        super().__init__(function, {}, {**OPTIONS, "nopython": True})
        self.part = inner
        self._cache = DiskCache(function, lambda: compilation.begun(title(self), needed_by(self)))

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

    @property
    def _numba_type_(self) -> Any:
        return self.part._numba_type_


def part(function: Callable[..., Any], inline: bool) -> Any:
    """For use inside of kernels."""
    return Inside(function, INLINED if inline else INSIDE)


def kernel(function: Callable[..., Any], inline: bool) -> Any:
    """Called from Python, and kept on disk. `inline`: of its part."""
    return Kernel(function, part(function, inline))


def callback(function: Callable[..., None], signature: Any, wide: bool = False) -> Any:
    """Called by pointer, and kept on disk."""
    pipeline: dict[str, Any] = {"pipeline_class": WideCompiler} if wide else {}
    compiled = CFunc(function, (signature.args, signature.return_type), {}, dict(OPTIONS), **pipeline)
    compiled._cache = DiskCache(function)
    compiled.compile()
    return compiled


_made: dict[tuple[Any, bytes], Callable[..., Any]] = {}


def machine_code(function: Any, *arguments: Any) -> Any:
    """Found by numba's own fingerprint of the types of all arguments: `typeof` takes as long as an episode."""
    key = function, compute_fingerprint(arguments)
    if key not in _made:
        _made[key] = code_of(function, tuple(numba.typeof(argument) for argument in arguments))
    return _made[key]


def code_of(function: Any, kinds: tuple[Any, ...]) -> Any:
    function.compile(kinds)
    return function.get_overload(kinds)


def title(function: Any) -> str:
    """How a compiled function is named where compiling is shown."""
    return f"{function.py_func.__module__}.{function.py_func.__name__}"


def needed_by(function: Any) -> set[str]:
    """The titles of a compiled function and of those that it calls, as far as their sources tell."""
    titles, pending = {title(function)}, [function]
    while pending:
        code, scope = (caller := pending.pop().py_func).__code__, caller.__globals__
        values = [scope[name] for name in code.co_names if name in scope]
        modules = [value for value in values if isinstance(value, ModuleType)]
        values += [getattr(module, name, None) for module in modules for name in code.co_names]
        for value in values:
            if hasattr(value, "py_func") and title(value) not in titles:
                titles.add(title(value))
                pending.append(value)
    return titles
