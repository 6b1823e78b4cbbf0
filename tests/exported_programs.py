"""Exported programs are run: C through a compiler, Python in a scope with nothing in it."""

import ctypes
import hashlib
import shutil
import subprocess

import numpy as np
import pytest

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wdouble-promotion", "-Wshadow", "-Wmissing-prototypes"]
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
MILLION = 1_000_000

needs_compiler = pytest.mark.skipif(not COMPILERS, reason="no C compiler: neither gcc nor clang is installed")


def compiled(tmp_path, source, compiler=None, flags=("-O1",)):
    """The function of the source over many observations; the loop is C too, so that a million take no time."""
    real = "float" if "(const float *obs" in source else "double"
    d_k = "int d, int k"
    loop = f"void all(const {real} *obs, {real} *action, long n, {d_k});\nvoid all(const {real} *obs, {real} *action, long n, {d_k})\n"
    loop += "{ for (long i = 0; i < n; i++) controller(obs + i * d, action + i * k); }\n"
    # a library by the name of its source: one that is loaded already is not loaded anew
    path, library = tmp_path / "controller.c", tmp_path / f"{hashlib.sha256(source.encode()).hexdigest()}.so"
    path.write_text(source + loop, encoding="utf-8")
    if not library.exists():
        subprocess.run([compiler or COMPILERS[0], *STRICT, *flags, "-fPIC", "-shared", "-o", library, path], check=True)
    kind = np.float32 if real == "float" else np.float64
    run = ctypes.CDLL(str(library)).all
    pointer = np.ctypeslib.ndpointer(kind, flags="C")
    run.argtypes, run.restype = [pointer, pointer, ctypes.c_long, ctypes.c_int, ctypes.c_int], None

    def act(states, axes):
        states = np.ascontiguousarray(states, kind)
        actions = np.full((len(states), axes), np.nan, kind)
        run(states, actions, len(states), states.shape[1], axes)
        return actions

    return act


def controller_of(text, name="controller"):
    scope = {"__builtins__": {"map": map, "float": float, "len": len, "zip": zip, "type": type, "tuple": tuple}}
    exec(compile(text, "exported", "exec"), scope)
    return scope[name]
