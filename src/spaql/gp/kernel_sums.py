"""The sum over the kernels of one output of a learned model, compiled, in all lanes side by side.

Points come in blocks, and the inputs that matter to an output in chunks, so that what a lane has is
read once for several; what a block or a chunk lacks is filled up with zeros. The exponent of a
kernel, -|x - p|^2 / 2, is x.p - |x|^2 / 2 - |p|^2 / 2: an input costs one multiplication with its
addition. Everything in it is divided by 16, for exp(y) = exp(y / 16)^16.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir

from spaql.ground.compiling import apart, inlined
from spaql.ground.fastmath import fused
from spaql.ground.numba_public import intrinsic, types
from spaql.plants.plant import LANES

BLOCK = 4  # points
FIRST = 4  # inputs of the first chunk
CHUNK = 2  # inputs of further ones
WIDTH = 8  # lanes of a few vectors
# rows of the work, from its first on: with constants between them LLVM can prove that they do not
# overlap
KERNEL = LANES  # after the total
OWN = KERNEL + BLOCK * LANES
X = OWN + LANES
F = np.float32
C0, C1, C2, C3, C4, C5 = (F(1 / math.factorial(order)) for order in range(6))  # of the exponential function
_FLOATS = ir.VectorType(ir.FloatType(), WIDTH)
_FUSED = ir.FunctionType(_FLOATS, [_FLOATS, _FLOATS, _FLOATS])
_SINGLES, _INDICES = (types.CPointer(kind) for kind in (types.float32, types.int64))  # type: ignore[no-untyped-call]


def filled(inputs: int) -> int:
    """Inputs, with those that fill up the last chunk."""
    return FIRST if inputs <= FIRST else -(-inputs // CHUNK) * CHUNK


@inlined
def summed(N: Any, S: Any, B: Any, place: Any, inputs: int, j: int, at: Any, functions: int, n: int) -> None:
    """The sum over all points, with the weights of each lane's function.

    In S stand, block by block, the own parts of its points, their inputs and then their weights in
    all functions.
    """
    used = 0
    for i in range(n):
        B[at.work + OWN + i] = B[at.work + i] = F(0.0)
    for k in range(inputs):
        inverse = F(N[at.inverse + j * inputs + k]) * F(0.25)
        if inverse > F(0.0):
            for i in range(n):
                x = B[at.z + k * LANES + i] * inverse
                B[at.work + X + used * LANES + i] = x
                B[at.work + OWN + i] += F(-0.5) * x * x
            used += 1
    while used < FIRST or used % CHUNK > 0:
        for i in range(n):
            B[at.work + X + used * LANES + i] = F(0.0)
        used += 1
    here, size = int(N[at.first + j]), BLOCK * (1 + used + functions)
    m = -(-n // WIDTH) * WIDTH  # lanes that do not count, too: a loop over whole vectors has no slow rest
    for block in range(int(N[at.blocks + j])):
        points = here + block * size
        if used == FIRST:
            _kernels_of_4(S, B, points, at.work, m)
        else:
            _kernels_of_6(S, B, points, at.work, m, used == FIRST + CHUNK)
            for k in range(FIRST + CHUNK, used, CHUNK):
                _further(S, B, points + BLOCK * (1 + k), at.work, k * LANES, m, k + CHUNK == used)
        weights = points + BLOCK * (1 + used)
        if functions == 1:
            _weighed_alike(S, B, weights, at.work, m)
        elif functions <= WIDTH:
            _weighed_by_lane(S, weights, functions, B, at.work, place, m)
        else:
            _weighed(S, B, place, weights, at.work, functions, n)


@apart
def _kernels_of_4(S: Any, B: Any, p: int, work: int, n: int) -> None:
    """Of a block of points, with four inputs."""
    o0, o1, o2, o3 = S[p], S[p + 1], S[p + 2], S[p + 3]
    a0, a1, a2, a3 = S[p + 4], S[p + 5], S[p + 6], S[p + 7]
    b0, b1, b2, b3 = S[p + 8], S[p + 9], S[p + 10], S[p + 11]
    c0, c1, c2, c3 = S[p + 12], S[p + 13], S[p + 14], S[p + 15]
    d0, d1, d2, d3 = S[p + 16], S[p + 17], S[p + 18], S[p + 19]
    for i in range(work, work + n):
        a, b, c, d = B[X + i], B[X + LANES + i], B[X + 2 * LANES + i], B[X + 3 * LANES + i]
        o = B[OWN + i]
        y0 = fused(a0, a, fused(b0, b, fused(c0, c, fused(d0, d, o0 + o))))
        y1 = fused(a1, a, fused(b1, b, fused(c1, c, fused(d1, d, o1 + o))))
        y2 = fused(a2, a, fused(b2, b, fused(c2, c, fused(d2, d, o2 + o))))
        y3 = fused(a3, a, fused(b3, b, fused(c3, c, fused(d3, d, o3 + o))))
        B[KERNEL + i] = exponential(y0)
        B[KERNEL + LANES + i] = exponential(y1)
        B[KERNEL + 2 * LANES + i] = exponential(y2)
        B[KERNEL + 3 * LANES + i] = exponential(y3)


@apart
def _kernels_of_6(S: Any, B: Any, p: int, work: int, n: int, done: bool) -> None:
    """Of a block of points, with six inputs; of more, if it is not done, their exponents so far."""
    q = p + 4 * BLOCK
    o0, o1, o2, o3 = S[p], S[p + 1], S[p + 2], S[p + 3]
    a0, a1, a2, a3 = S[p + 4], S[p + 5], S[p + 6], S[p + 7]
    b0, b1, b2, b3 = S[p + 8], S[p + 9], S[p + 10], S[p + 11]
    c0, c1, c2, c3 = S[p + 12], S[p + 13], S[p + 14], S[p + 15]
    d0, d1, d2, d3 = S[q], S[q + 1], S[q + 2], S[q + 3]
    e0, e1, e2, e3 = S[q + 4], S[q + 5], S[q + 6], S[q + 7]
    f0, f1, f2, f3 = S[q + 8], S[q + 9], S[q + 10], S[q + 11]
    for i in range(work, work + n):
        a, b, c, o = B[X + i], B[X + LANES + i], B[X + 2 * LANES + i], B[OWN + i]
        d, e, f = B[X + 3 * LANES + i], B[X + 4 * LANES + i], B[X + 5 * LANES + i]
        y0 = fused(a0, a, fused(b0, b, fused(c0, c, fused(d0, d, fused(e0, e, fused(f0, f, o0 + o))))))
        y1 = fused(a1, a, fused(b1, b, fused(c1, c, fused(d1, d, fused(e1, e, fused(f1, f, o1 + o))))))
        y2 = fused(a2, a, fused(b2, b, fused(c2, c, fused(d2, d, fused(e2, e, fused(f2, f, o2 + o))))))
        y3 = fused(a3, a, fused(b3, b, fused(c3, c, fused(d3, d, fused(e3, e, fused(f3, f, o3 + o))))))
        B[KERNEL + i] = exponential(y0) if done else y0
        B[KERNEL + LANES + i] = exponential(y1) if done else y1
        B[KERNEL + 2 * LANES + i] = exponential(y2) if done else y2
        B[KERNEL + 3 * LANES + i] = exponential(y3) if done else y3


@apart
def _further(S: Any, B: Any, p: int, work: int, k: int, n: int, done: bool) -> None:
    """Two more inputs, from row k of them on."""
    a0, a1, a2, a3 = S[p], S[p + 1], S[p + 2], S[p + 3]
    b0, b1, b2, b3 = S[p + 4], S[p + 5], S[p + 6], S[p + 7]
    for i in range(work, work + n):
        a, b = B[X + k + i], B[X + LANES + k + i]
        y0 = fused(a0, a, fused(b0, b, B[KERNEL + i]))
        y1 = fused(a1, a, fused(b1, b, B[KERNEL + LANES + i]))
        y2 = fused(a2, a, fused(b2, b, B[KERNEL + 2 * LANES + i]))
        y3 = fused(a3, a, fused(b3, b, B[KERNEL + 3 * LANES + i]))
        B[KERNEL + i] = exponential(y0) if done else y0
        B[KERNEL + LANES + i] = exponential(y1) if done else y1
        B[KERNEL + 2 * LANES + i] = exponential(y2) if done else y2
        B[KERNEL + 3 * LANES + i] = exponential(y3) if done else y3


@inlined
def exponential(y: Any) -> Any:
    """exp(16 y), near enough for single precision."""
    y = y if y > F(-1.0) else F(-1.0)
    e = fused(y, fused(y, fused(y, fused(y, fused(y, C5, C4), C3), C2), C1), C0)
    e = e * e
    e = e * e
    e = e * e
    return e * e


@apart
def _weighed_alike(S: Any, B: Any, w: int, work: int, n: int) -> None:
    """Kernels of a block, with the weights of the only function."""
    w0, w1, w2, w3 = S[w], S[w + 1], S[w + 2], S[w + 3]
    for i in range(work, work + n):
        s = fused(w0, B[KERNEL + i], B[i])
        s = fused(w1, B[KERNEL + LANES + i], s)
        s = fused(w2, B[KERNEL + 2 * LANES + i], s)
        B[i] = fused(w3, B[KERNEL + 3 * LANES + i], s)


@apart
def _weighed(S: Any, B: Any, place: Any, w: int, work: int, functions: int, n: int) -> None:
    """The same, with the weights of each lane's function."""
    for lane in range(n):
        own, i = w + place[lane], work + lane
        s = fused(S[own], B[KERNEL + i], B[i])
        s = fused(S[own + functions], B[KERNEL + LANES + i], s)
        s = fused(S[own + 2 * functions], B[KERNEL + 2 * LANES + i], s)
        B[i] = fused(S[own + 3 * functions], B[KERNEL + 3 * LANES + i], s)


# Up to eight functions: the weights of a point are one vector. Where the processor can permute a vector by another one
# (AVX2), each lane picks its own in one instruction; elsewhere they are read one by one, with the same bits.

def _vectors(_context: Any, S: Any, w: Any, functions: Any, B: Any, work: Any, place: Any, n: Any) -> Any:
    """`_weighed` for eight lanes at a time; in S there must be eight numbers from every index on."""
    index = types.int64
    return types.void(_SINGLES, index, index, _SINGLES, index, _INDICES, index), _eight_lanes_at_a_time


def _eight_lanes_at_a_time(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    S, w, functions, B, work, place, n = arguments
    word, short = w.type, ir.IntType(32)
    wholes = ir.VectorType(short, WIDTH)
    permuted = ir.FunctionType(_FLOATS, [_FLOATS, wholes])

    def vector(pointer: Any, at: Any, kind: Any = _FLOATS) -> Any:
        return builder.bitcast(builder.gep(pointer, [at]), kind.as_pointer())

    def whole(number: int) -> Any:
        return ir.Constant(word, number)

    rows = [builder.add(w, builder.mul(functions, whole(q))) for q in range(BLOCK)]
    weights = [builder.load(vector(S, row), align=4) for row in rows]
    before, loop, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
    builder.branch(loop)
    builder.position_at_end(loop)
    lane = builder.phi(word)
    lane.add_incoming(whole(0), before)
    own = builder.load(vector(place, lane, ir.VectorType(word, WIDTH)), align=8)
    own = builder.trunc(own, wholes)
    at = builder.add(work, lane)
    total = builder.load(vector(B, at), align=4)
    for q in range(BLOCK):
        if "+avx2" in getattr(context.codegen(), "_tm_features", ""):
            chosen = builder.call(_declared(builder.module, permuted, "llvm.x86.avx2.permps"), [weights[q], own])
        else:
            chosen = ir.Constant(_FLOATS, ir.Undefined)
            for i in range(WIDTH):
                number = ir.Constant(short, i)
                function = builder.and_(builder.extract_element(own, number), ir.Constant(short, WIDTH - 1))
                weight = builder.load(builder.gep(S, [builder.add(rows[q], builder.sext(function, word))]))
                chosen = builder.insert_element(chosen, weight, number)
        kernels = builder.load(vector(B, builder.add(at, whole(KERNEL + q * LANES))), align=4)
        fma = _declared(builder.module, _FUSED, f"llvm.fma.v{WIDTH}f32")
        total = builder.call(fma, [chosen, kernels, total])
    builder.store(total, vector(B, at), align=4)
    further = builder.add(lane, whole(WIDTH))
    lane.add_incoming(further, builder.block)
    builder.cbranch(builder.icmp_signed("<", further, n), loop, after)
    builder.position_at_end(after)
    return context.get_constant_null(signature.return_type)


_weighed_by_lane: Any = intrinsic(_vectors)


def _declared(module: Any, kind: Any, name: str) -> Any:
    return module.globals.get(name) or ir.Function(module, kind, name)
