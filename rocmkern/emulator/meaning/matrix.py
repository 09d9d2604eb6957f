"""Matrix instructions: MFMA of CDNA, WMMA of RDNA3 and RDNA4.

D = A·B + C of small matrices whose elements are spread over the lanes of a wave. What differs is the layout: which
lane and which place in its registers holds an element (AMD matrix instruction calculator; CDNA3 and RDNA3 ISA manuals).
Sums run over k in ascending order with one rounding per step. EXEC is ignored, as on hardware.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from attrs import frozen

from rocmkern.emulator.ir import Value, Writer
from rocmkern.emulator.isa.model import Inst
from rocmkern.emulator.meaning.api import State, state
from rocmkern.emulator.meaning.convert import bfloat_bits, pair
from rocmkern.emulator.meaning.vector_float import fused
from rocmkern.errors import UnsupportedInstruction

Place = tuple[int, int, int]  # block, row, column


@frozen
class Layout:
    """Where the elements of one instruction lie.

    A and B: lane = (k // per_lane · blocks + block) · size + row (A) or column (B); the lane's element is
    k % per_lane. Lanes beyond that hold copies. D: `place(register, lane)`.
    """

    lanes: int
    size: int  # rows of A and columns of B
    k: int
    per_lane: int  # values of k that one lane holds
    blocks: int
    source: str  # f32 f16 bf16 f64 i8 iu8 iu4
    result: str  # f32 f64 i32 f16 bf16
    registers: int  # elements of D per lane
    place: Callable[[int, int], Place]


_BITS: Final[dict[str, int]] = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16, "i8": 8, "iu8": 8, "iu4": 4}
_MFMA: Final = re.compile(r"v_mfma_(f32|i32|f64)_(\d+)x\2x(\d+)(?:_\d+b)?_?(f32|bf16|f16|i8|f64)(?:_1k)?$")
_WMMA: Final = re.compile(r"v_wmma_(f32|f16|bf16|i32)_16x16x(\d+)_(f16|bf16|iu8|iu4)$")


def mfma_layout(name: str, registers: int) -> Layout | None:
    """The layout of an MFMA by its name and the 32-bit registers of its result; None for other forms."""
    found = _MFMA.match(name)
    if found is None:
        return None
    result, source = found[1], found[4]
    size, k = int(found[2]), int(found[3])
    elements = registers // (2 if result == "f64" else 1)
    blocks = elements * 64 // (size * size)
    groups = 64 // size

    def place(register: int, lane: int) -> Place:
        group, column = divmod(lane, size)
        if result == "f64":
            return (group % blocks, group // blocks, column) if size == 4 else (0, 4 * register + group, column)
        if size == 4:
            return group, register, column
        per_block = elements // blocks
        v = register % per_block
        return register // per_block, 4 * groups * (v // 4) + 4 * group + v % 4, column

    return Layout(64, size, k, k * blocks // groups, blocks, source, result, elements, place)


def wmma_layout(name: str, isa: str) -> Layout | None:
    """The layout of a WMMA on wave32."""
    found = _WMMA.match(name)
    if found is None:
        return None
    result, k, source = found[1], int(found[2]), found[3]
    if isa == "gfx11":
        return Layout(32, 16, k, k, 1, source, result, 8, lambda v, lane: (0, 2 * v + lane // 16, lane % 16))
    return Layout(32, 16, k, k // 2, 1, source, result, 8, lambda v, lane: (0, 8 * (lane // 16) + v, lane % 16))


def _row(s: State, base: Value, index: int) -> Value:
    w, lanes = s.context.writer, s.context.wave_size
    return w.load(w.at(base, index * lanes * 4), "i32", lanes)


def _elements(s: State, which: int, layout: Layout, signed: bool) -> list[Value]:
    """The values of k that each lane holds of A (0) or B (1), widened to the type that is summed."""
    base, out = s.rows(which), []
    bits = _BITS[layout.source]
    if bits == 64:
        pairs = [
            s.context.writer.combine(_row(s, base, 2 * j), _row(s, base, 2 * j + 1)) for j in range(layout.per_lane)
        ]
        return [value.bits("double") for value in pairs]
    for j in range(layout.per_lane):
        word = _row(s, base, j * bits // 32)
        at = j * bits % 32
        if bits == 32:
            out.append(word.bits("float"))
        elif layout.source == "bf16":
            out.append((word & 0xFFFF0000 if at else word.shl(16)).bits("float"))
        elif layout.source == "f16":
            out.append(word.lshr(at).trunc("i16").bits("half").cast("fpext", "float"))
        else:
            top = word.shl(32 - bits - at)
            out.append(top.ashr(32 - bits) if signed else top.lshr(32 - bits))
    return out


def _pick(w: Writer, layout: Layout, values: list[Value], k: int, index: list[tuple[int, int]], swizzle: int) -> Value:
    """For each lane the element (block, row or column) at k."""
    group, j = divmod(k, layout.per_lane)
    order = [(group * layout.blocks + block) * layout.size + at for block, at in index]
    return w.shuffle(values[j], None, [_swizzled(lane, swizzle) for lane in order])


def _swizzled(lane: int, pattern: int) -> int:
    """BLGP: the lane that a lane of B is taken from."""
    if pattern in (1, 2):
        return lane % 32 + 32 * (pattern - 1)
    if pattern == 3:
        return (lane + 16) % 64
    return lane % 16 + 16 * (pattern - 4) if pattern else lane


def _addend(s: State, layout: Layout, register: int) -> Value:
    element = {"f64": "double", "i32": "i32"}.get(layout.result, "float")
    w, inst = s.context.writer, s.inst
    if inst.src[2].kind not in ("v", "a"):
        return s.scalar(2, element).splat(layout.lanes)
    base = s.rows(2)
    if layout.result == "f64":
        return w.combine(_row(s, base, 2 * register), _row(s, base, 2 * register + 1)).bits("double")
    if layout.result in ("f32", "i32"):
        return _row(s, base, register).bits(element)
    packed = s.context.isa != "gfx11"
    word = _row(s, base, register // 2 if packed else register)
    half = word.lshr(16 * (register % 2 if packed else inst.mods.op_sel >> 2 & 1)).trunc("i16")
    if layout.result == "f16":
        return half.bits("half").cast("fpext", "float")
    return half.zext("i32").shl(16).bits("float")


def _store(s: State, layout: Layout, results: list[Value]) -> None:
    w, base, lanes = s.context.writer, s.rows("dst"), layout.lanes

    def put(value: Value, index: int) -> None:
        w.store(value.bits("i32"), w.at(base, index * lanes * 4))

    if layout.result == "f64":
        for i, value in enumerate(results):
            for j, half in enumerate(w.halves(value.as_int())):
                put(half, 2 * i + j)
    elif layout.result in ("f32", "i32"):
        for i, value in enumerate(results):
            put(value, i)
    else:
        narrow = [bfloat_bits(v) if layout.result == "bf16" else v.cast("fptrunc", "half") for v in results]
        if s.context.isa == "gfx11":
            high = s.inst.mods.op_sel >> 2 & 1
            for i, value in enumerate(narrow):
                old = _row(s, base, i).lshr(16 - 16 * high).trunc("i16")
                put(pair(old, value) if high else pair(value, old), i)
        else:
            for i in range(0, len(narrow), 2):
                put(pair(narrow[i], narrow[i + 1]), i // 2)


def _multiply(s: State, layout: Layout) -> None:
    mods, w = s.inst.mods, s.context.writer
    integer = layout.result == "i32"
    signs = (True, True) if layout.source == "i8" else (bool(mods.neg & 1), bool(mods.neg & 2))
    if not integer and layout.result != "f64" and (mods.neg or mods.neg_hi or mods.abs):
        raise UnsupportedInstruction(
            f"translate: {s.inst.name} with neg at pc {s.inst.pc:#x}; no meaning is known for it"
        )
    a, b = _elements(s, 0, layout, signs[0]), _elements(s, 1, layout, signs[1])
    swizzle = 0
    if layout.result == "f64":
        a = [-v for v in a] if mods.blgp & 1 else a
        b = [-v for v in b] if mods.blgp & 2 else b
    else:
        swizzle = mods.blgp
    results = []
    for register in range(layout.registers):
        places = [layout.place(register, lane) for lane in range(layout.lanes)]
        rows = [(block >> mods.cbsz << mods.cbsz | mods.abid if mods.cbsz else block, row) for block, row, _ in places]
        columns = [(block, column) for block, _, column in places]
        total = _addend(s, layout, register)
        total = -total if layout.result == "f64" and mods.blgp & 4 else total
        for k in range(layout.k):
            x, y = _pick(w, layout, a, k, rows, 0), _pick(w, layout, b, k, columns, swizzle)
            total = _step(s, total, x, y)
        results.append(total)
    _store(s, layout, results)


def _step(s: State, total: Value, x: Value, y: Value) -> Value:
    if total.is_float:
        return fused(s.context, x, y, total)
    if not s.inst.mods.clamp:
        return total + x * y
    return s.context.intrinsic("sadd.sat", total, x * y)


def _emit(s: State) -> None:
    """D = A·B + C."""
    inst: Inst = s.inst
    layout = wmma_layout(inst.name, s.context.isa) or mfma_layout(inst.name, inst.dst[0].count)
    assert layout is not None, inst.name
    _multiply(s, layout)


_MFMA_NAMES: Final = """
    v_mfma_f32_32x32x1f32 v_mfma_f32_16x16x1f32 v_mfma_f32_4x4x1f32 v_mfma_f32_32x32x2f32 v_mfma_f32_16x16x4f32
    v_mfma_f32_32x32x4f16 v_mfma_f32_16x16x4f16 v_mfma_f32_4x4x4f16 v_mfma_f32_32x32x8f16 v_mfma_f32_16x16x16f16
    v_mfma_i32_32x32x4i8 v_mfma_i32_16x16x4i8 v_mfma_i32_4x4x4i8 v_mfma_i32_32x32x8i8 v_mfma_i32_16x16x16i8
    v_mfma_f32_32x32x4bf16_1k v_mfma_f32_16x16x4bf16_1k v_mfma_f32_4x4x4bf16_1k v_mfma_f32_32x32x8bf16_1k
    v_mfma_f32_16x16x16bf16_1k v_mfma_f32_32x32x2bf16 v_mfma_f32_16x16x2bf16 v_mfma_f32_4x4x2bf16
    v_mfma_f32_32x32x4bf16 v_mfma_f32_16x16x8bf16 v_mfma_f64_16x16x4f64 v_mfma_f64_4x4x4f64
    v_mfma_f32_32x32x1_2b_f32 v_mfma_f32_16x16x1_4b_f32 v_mfma_f32_4x4x1_16b_f32 v_mfma_f32_32x32x2_f32
    v_mfma_f32_16x16x4_f32 v_mfma_f32_32x32x4_2b_f16 v_mfma_f32_16x16x4_4b_f16 v_mfma_f32_4x4x4_16b_f16
    v_mfma_f32_32x32x8_f16 v_mfma_f32_16x16x16_f16 v_mfma_i32_32x32x4_2b_i8 v_mfma_i32_16x16x4_4b_i8
    v_mfma_i32_4x4x4_16b_i8 v_mfma_i32_32x32x16_i8 v_mfma_i32_16x16x32_i8 v_mfma_f32_32x32x4_2b_bf16
    v_mfma_f32_16x16x4_4b_bf16 v_mfma_f32_4x4x4_16b_bf16 v_mfma_f32_32x32x8_bf16 v_mfma_f32_16x16x16_bf16
    v_mfma_f64_16x16x4_f64 v_mfma_f64_4x4x4_4b_f64 v_mfma_f32_16x16x32_bf16 v_mfma_i32_16x16x64_i8
    v_mfma_f32_32x32x16_bf16 v_mfma_i32_32x32x32_i8 v_mfma_f32_16x16x32_f16 v_mfma_f32_32x32x16_f16
"""
_WMMA_NAMES: Final = """
    v_wmma_f32_16x16x16_f16 v_wmma_f32_16x16x16_bf16 v_wmma_f16_16x16x16_f16 v_wmma_bf16_16x16x16_bf16
    v_wmma_i32_16x16x16_iu8 v_wmma_i32_16x16x16_iu4 v_wmma_i32_16x16x32_iu4
"""
state(_MFMA_NAMES + _WMMA_NAMES)(_emit)
