"""Registers of sixteen lanes that follow each other in memory: lane 0 of each register, lane 1 of each, …

Four registers a lane are the common wide access. LLVM makes two to three times the instructions of a plain shuffle
by stride 4, so that one is said as moves of 16 bytes and 4×4 transposes within them.
"""

from __future__ import annotations

from typing import Final

from rocmkern.emulator.ir import Value, Writer

LANES: Final = 16
QUAD: Final = 4


def load_rows(w: Writer, pointer: Value, count: int) -> list[Value]:
    """`count` registers, i32 lanes."""
    if count == QUAD:
        pieces = [w.load(w.at(pointer, 16 * lane), "i32", QUAD) for lane in range(LANES)]
        return _transpose(w, [w.concatenate(pieces[i::QUAD]) for i in range(QUAD)])
    data = w.load(pointer, "i32", LANES * count)
    if count == 1:
        return [data]
    return [w.shuffle(data, None, [lane * count + i for lane in range(LANES)]) for i in range(count)]


def store_rows(w: Writer, rows: list[Value], pointer: Value) -> None:
    """The opposite."""
    if len(rows) == QUAD:
        for i, row in enumerate(_transpose(w, rows)):
            for lane in range(i, LANES, QUAD):
                first = lane - i
                w.store(w.shuffle(row, None, list(range(first, first + QUAD))), w.at(pointer, 16 * lane))
        return
    w.store(_interleaved(w, rows), pointer)


def _transpose(w: Writer, rows: list[Value]) -> list[Value]:
    """In each group of four lanes, lane j of row i goes to lane i of row j."""
    a, b, c, d = rows
    low_ab, high_ab, low_cd, high_cd = (_zip(w, x, y, h, 1) for x, y in ((a, b), (c, d)) for h in (0, 1))
    return [_zip(w, x, y, h, 2) for x, y in ((low_ab, low_cd), (high_ab, high_cd)) for h in (0, 1)]


def _zip(w: Writer, a: Value, b: Value, half: int, size: int) -> Value:
    """In each group of four lanes, a half of `a` and of `b`, in turns of `size` lanes."""
    order = []
    for first in range(2 * half, LANES, QUAD):
        for lane in range(first, first + 2, size):
            order += [*range(lane, lane + size), *range(LANES + lane, LANES + lane + size)]
    return w.shuffle(a, b, order)


def _interleaved(w: Writer, rows: list[Value]) -> Value:
    if len(rows) == 1:
        return rows[0]
    n = len(rows)
    padded = rows + [rows[-1]] * ((1 << (n - 1).bit_length()) - n)
    return w.shuffle(w.concatenate(padded), None, [i * LANES + lane for lane in range(LANES) for i in range(n)])
