"""What code may reach of a wave: the one place where places and pointers in its memory are made.

A pointer into a wave says how many bytes from it on are its own (`Value.room`), and the wave itself has none to give: a
field of its header has the field's, an operand its registers'. So what would reach further, by a wrong row as well as
by a wrong operand, is refused when code is built, and where an operand lies, when its operation is written.
"""

from __future__ import annotations

from typing import Final

from rocmkern.emulator import layout as at
from rocmkern.emulator.ir import Value, Writer
from rocmkern.emulator.isa.model import NULL, Operand
from rocmkern.emulator.isa.table import CDNA
from rocmkern.errors import UnsupportedInstruction

VECTOR_KINDS: Final = ("v", "vl", "vh")
FIELDS: Final = {
    at.SCALARS["vcc"]: 8, at.SCALARS["m0"]: 4, at.SCALARS["exec"]: 8, at.SCC: 4, at.WAVE_NEXT: 8, at.WAVE_FUEL: 8,
    at.WAVE_LAUNCH: 8, at.WAVE_LDS: 8, at.WAVE_LDS_SIZE: 8, at.WAVE_SCRATCH: 8, at.WAVE_SCRATCH_SIZE: 8,
    at.WAVE_NUMBER: 4, at.WAVE_GROUP: 12, at.WAVE_PC: 8, at.WAVE_OBSERVERS: 8, at.WAVE_LANDING: 8, at.WAVE_SIGNALS: 8,
    at.WAVE_MODE: 4,
    at.WAVE_TEMP: at.WAVE_VECTORS - at.WAVE_TEMP,
}  # fmt: skip


def vector_rows(isa: str) -> int:
    """Vector and accumulation registers of a wave. Hand-written files use the latter without a word about them."""
    return at.VECTORS * (2 if isa in CDNA else 1)


def wave_bytes(isa: str, wave_size: int) -> int:
    """All of a wave."""
    return at.WAVE_VECTORS + 4 * wave_size * vector_rows(isa)


def extent(operand: Operand, wave_size: int) -> int:
    """The bytes of a register operand; 0 of what is none."""
    if operand.kind == "s":
        return at.SINK_BYTES if operand.value == NULL else 4 * operand.count
    return 4 * wave_size * operand.count if operand.kind in (*VECTOR_KINDS, "a") else 0


def place_of(operand: Operand, isa: str, wave_size: int) -> int:
    """Where an operand's registers lie in the wave; 0 for what is no register.

    Raises UnsupportedInstruction where they reach past their file.
    """
    kind, value, row = operand.kind, operand.value, 4 * wave_size
    if kind == "s":
        first, end = (at.SINK, at.SINK + at.SINK_BYTES) if value == NULL else (4 * value, at.SCC)
    elif kind in VECTOR_KINDS:
        first, end = at.WAVE_VECTORS + row * value, at.WAVE_VECTORS + row * at.VECTORS
    elif kind == "a":
        first, end = at.WAVE_VECTORS + row * (at.VECTORS + value), wave_bytes(isa, wave_size)
    else:
        return 0
    if value < 0 or first + extent(operand, wave_size) > end:
        raise UnsupportedInstruction(
            f"translate: {operand.count} registers from {kind}{value} on reach past their file on {isa}"
        )
    return first


def wave(w: Writer) -> Value:
    """The wave as it is passed on."""
    return Value(w, "ptr", 0, "%w", room=0)


def _inside(w: Writer, offset: Value | int, room: int) -> Value:
    text = f"i64 {offset}" if isinstance(offset, int) else f"{offset.type} {offset.text}"
    pointer = w.emit(f"getelementptr i8, ptr %w, {text}", "ptr")
    pointer.room = room
    return pointer


def field(w: Writer, offset: int) -> Value:
    """Pointer to a field of the wave's header, a `layout.WAVE_*` or one of `layout.SCALARS`."""
    return _inside(w, offset, FIELDS[offset])


def registers(w: Writer, operand: Operand, place: Value, wave_size: int) -> Value:
    """Pointer to an operand's registers, whose `place_of` is `place`."""
    room = extent(operand, wave_size)
    if not room:
        raise UnsupportedInstruction(f"translate: an operand of kind {operand.kind} stands in the place of registers")
    return _inside(w, place, room)


def row(w: Writer, register: int, chunk: int, lanes: int, isa: str, wave_size: int) -> Value:
    """Pointer to a chunk of lanes of a register's row; accumulation registers follow the vector ones."""
    if not (0 <= register < vector_rows(isa) and 0 <= chunk < wave_size // lanes):
        raise UnsupportedInstruction(f"translate: there is no vector register {register} on {isa}")
    return _inside(w, at.WAVE_VECTORS + 4 * (register * wave_size + chunk * lanes), 4 * (wave_size - chunk * lanes))


def pair(w: Writer, number: int) -> Value:
    """Pointer to a pair of scalar registers."""
    if not 0 <= number < at.SCC // 8:
        raise UnsupportedInstruction(f"translate: there is no pair of scalar registers {number}")
    return _inside(w, 8 * number, 8)


def first_waves_signals(w: Writer) -> Value:
    """Pointer to what the first wave of the workgroup counts for all."""
    stride, number, _ = _neighbours(w)
    return _inside(w, at.WAVE_SIGNALS - number * stride, FIELDS[at.WAVE_SIGNALS])


def landing(w: Writer) -> Value:
    """Pointer to the wave's queue of loads to LDS."""
    stride, number, count = _neighbours(w)
    offset = (count - number) * stride + number * at.LANDING_QUEUE_BYTES
    return _inside(w, offset, at.LANDING_QUEUE_BYTES)


def _neighbours(w: Writer) -> tuple[Value, Value, Value]:
    """How far the waves of a workgroup lie apart, which one this is, and how many there are."""
    launch = w.load(field(w, at.WAVE_LAUNCH), "ptr", 0, 8)
    stride = w.load(w.at(launch, at.LAUNCH_WAVE_STRIDE), "i64", 0, 8)
    number = w.load(field(w, at.WAVE_NUMBER), "i32", 0, 4).zext("i64")
    return stride, number, w.load(w.at(launch, at.LAUNCH_WAVES), "i32", 0, 4).zext("i64")
