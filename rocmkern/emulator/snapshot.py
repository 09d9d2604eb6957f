"""Tier 0's operations of a kernel as they are kept for later processes: what depends on addresses is left open."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from rocmkern.emulator import layout as at
from rocmkern.emulator.mode import FloatMode, Translated
from rocmkern.emulator.pieces import Form, Pieces
from rocmkern.emulator.tier0 import symbol_of

NOWHERE: Final = 0xFFFFFFFF
_HEAD: Final = bytes(at.OP_FIELDS)
_OPERATION: Final = struct.Struct("<4I")  # where it lies, number of its handler, where it goes or `NOWHERE`, its pc
_PLACE: Final = struct.Struct("<3I")  # pc, where the operation lies, whether it is one that counts
Run = tuple[int, int, int | None]  # where it begins, how many instructions it has, where it goes on; None: it ends


@frozen
class Snapshot:
    """Operations side by side."""

    content: bytes
    handlers: tuple[str, ...]  # symbols of their functions
    operations: bytes
    places: bytes  # of instructions
    leads: tuple[int, ...]  # where blocks begin, translated or not
    ways: tuple[tuple[int, int], ...]  # places that are not here, and the operation that goes there
    runs: tuple[Run, ...]

    @staticmethod
    def of(runs: Sequence[Run], text: bytes, known: Pieces, counted: frozenset[int], leads: Sequence[int]) -> Snapshot:
        """Of what runs consist of; `counted`: the places where it is counted that a block begins."""
        numbers, size = dict[str, int](), 0
        content, rows, places = list[bytes](), list[tuple[int, int, int, int]](), dict[int, int]()

        def add(pc: int, form: Form, body: bytes, target: int = NOWHERE) -> None:
            nonlocal size
            rows.append((size, numbers.setdefault(symbol_of(form.shape), len(numbers)), target, pc))
            content.extend((_HEAD, body))
            size += len(_HEAD) + len(body)

        for first, count, after in runs:
            for _, (pc, piece, _) in zip(range(count), known.straight(text, first), strict=False):
                places[pc] = size
                if pc in counted:
                    add(pc, known.count.form, known.count.body)
                add(pc, piece.form, piece.body, NOWHERE if piece.target is None else pc + piece.target)
            if after is not None:
                add(after, known.join.form, b"", after)
        for piece in (known.count, known.join, known.untranslated):
            numbers.setdefault(symbol_of(piece.form.shape), len(numbers))
        return Snapshot(
            b"".join(content),
            tuple(numbers),
            b"".join(_OPERATION.pack(w, h, places.get(t, NOWHERE), pc) for w, h, t, pc in rows),
            b"".join(_PLACE.pack(pc, where, pc in counted) for pc, where in places.items()),
            tuple(leads),
            tuple((target, where) for where, _, target, _ in rows if target != NOWHERE and target not in places),
            tuple(runs),
        )

    def columns(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.bool_]]:
        """Of the places."""
        pcs, offsets, counted = _columns(self.places, _PLACE)
        return pcs, offsets, counted != 0

    def lay(self, where: int, handlers: Sequence[int], code: int) -> None:
        """Put the operations where they shall lie. `handlers`: addresses of their functions; `code`: of the text."""
        ctypes.memmove(where, self.content, len(self.content))
        words = words_of((ctypes.c_uint64 * (len(self.content) // 8)).from_address(where))
        offsets, numbers, targets, pcs = _columns(self.operations, _OPERATION)
        first = offsets // 8
        words[first + at.OP_HANDLER // 8] = np.array(handlers, np.uint64)[numbers]
        words[first + at.OP_TARGET // 8] = np.where(targets == NOWHERE, 0, targets.astype(np.uint64) + np.uint64(where))
        words[first + at.OP_PC // 8] = pcs.astype(np.uint64) + np.uint64(code)


@frozen
class Kept:
    """What is kept of a kernel beside the functions that this consists of."""

    snapshot: Snapshot
    units: dict[int, str]  # where they begin, their symbols
    versions: tuple[tuple[int, bool], ...]  # of blocks that they consist of
    expects_zeros: bool
    translated: str  # for what
    flushes: bool

    @staticmethod
    def unpacked(content: Sequence[Any]) -> Kept:
        snapshot, *rest = content
        return Kept(Snapshot(*snapshot), *rest)

    def mode(self, initial: int) -> FloatMode:
        """That of the kernel, whose descriptor says how it begins."""
        return FloatMode(initial, Translated(self.translated), self.flushes)


def words_of(array: ctypes.Array[ctypes.c_uint64]) -> NDArray[np.uint64]:
    """The same memory."""
    return np.frombuffer(memoryview(array).cast("B"), np.uint64)


def _columns(table: bytes, row: struct.Struct) -> tuple[NDArray[np.uint32], ...]:
    words = np.frombuffer(table, np.uint32)
    width = row.size // words.itemsize
    return tuple(words[column::width] for column in range(width))
