"""What the checker remembers of a workgroup, and where in a thread's structure.

The structure begins with a few words, then come the states of LDS, 8 bytes for each of its bytes; how many barriers
each wave has passed; who touched each byte of LDS, 24 bytes for each; and whether each byte of scratch was written.
A workgroup finds all of it cleared but who touched a byte, which says nothing where the byte's state doesn't.
"""

from __future__ import annotations

from typing import Final

from rocmkern.emulator import faults
from rocmkern.emulator import layout as at
from rocmkern.emulator.ir import Value, Writer
from rocmkern.emulator.launch import SCRATCH_LANES, Plan
from rocmkern.emulator.observers.seam import LANE_BITS, PLACE_BITS, Reason, report
from rocmkern.emulator.wave import field as wave_field

# A byte of device memory.
ALLOCATED: Final = 1
WRITTEN: Final = 2
FREED: Final = 4
CODE: Final = 8
EVERY_BYTE: Final = 0x01010101  # of a dword

# The structure.
MEMORY: Final = 0  # address of the byte for the arena's first one
ARRIVED: Final = 8  # the largest number of a barrier that a wave came to
ENDED: Final = 16  # the smallest number of a barrier that a wave which has ended would have come to next
BARRIERS: Final = 24  # of the last two barriers: number, and where the first wave came to it
LDS: Final = 64

NEVER: Final = 1 << 62

# A byte of LDS: who touched it.
WHO_BYTES: Final = 24
WRITER, FIRST_READER, LAST_READER = 0, 8, 16

(
    UNALLOCATED, AFTER_FREE, UNWRITTEN, READ_AFTER_WRITE, WRITE_AFTER_READ, WRITE_AFTER_WRITE, LANES, MISALIGNED,
    UNALIGNED, INTO_CODE, SKIPPED, ENDED_EARLY, DIFFERENT, DIVERGENT,
) = range(1, 15)  # fmt: skip

_BARRIER: Final = "put a barrier between the two, with the waits of a fence before it"
REASONS: Final = {
    UNALLOCATED: Reason("out of bounds", "outside every allocation", "keep the index inside what the kernel was given"),
    AFTER_FREE: Reason("use after free", "in memory that was freed", "keep the allocation until the launch has ended"),
    UNWRITTEN: Reason("uninitialised", "of memory that nothing wrote", "write it first, on every path that leads here"),
    READ_AFTER_WRITE: Reason("race, read after write", "that races with another wave's store: no barrier lies between"
                             " them", _BARRIER),
    WRITE_AFTER_READ: Reason("race, write after read", "that races with another wave's load: no barrier lies between"
                             " them", _BARRIER),
    WRITE_AFTER_WRITE: Reason("race, write after write", "that races with another wave's store: no barrier lies"
                              " between them", _BARRIER),
    LANES: Reason("race, lanes of a wave", "to where another lane of the instruction stores another value",
                  "let one lane store, or give each a place of its own", is_note=True),
    MISALIGNED: Reason("misaligned", "whose address is no multiple of its size", "align the address: atomics need it"),
    UNALIGNED: Reason("unaligned", "whose address is odd", "align it where speed or other hardware"
                      " matters", is_note=True),
    INTO_CODE: Reason("store into code", "in a module's instructions and constants", "write to memory of your own"),
    SKIPPED: Reason("barrier skipped", "that a wave which has ended never came to", "let all waves come to it,"
                    " or none"),
    ENDED_EARLY: Reason("barrier skipped", "ahead of a barrier that other waves come to", "let all waves come to it, or"
                        " none"),
    DIFFERENT: Reason("different barriers", "while another wave came to another one", "let all waves come to the same"
                      " barrier"),
    DIVERGENT: Reason("barrier in divergent lanes", "that some lanes of the wave jump over", "move it out of the"
                      " branch: other hardware waits for all lanes", is_note=True),
}  # fmt: skip


def room(plan: Plan) -> int:
    """Bytes of a thread's structure."""
    return LDS + plan.lds_bytes * (8 + WHO_BYTES) + 8 * plan.waves + plan.scratch_bytes


def number(w: Writer) -> Value:
    """The wave's number in its workgroup."""
    return w.load(wave_field(w, at.WAVE_NUMBER), "i32", 0, 4).zext("i64")


def _lds_size(w: Writer) -> Value:
    return w.load(wave_field(w, at.WAVE_LDS_SIZE), "i64", 0, 8)


def epoch(w: Writer, structure: Value, wave: Value) -> Value:
    """Pointer to how many barriers a wave has passed, from 1 on."""
    return w.at(w.at(structure, LDS), (_lds_size(w) + wave).shl(3))


def _waves(w: Writer) -> Value:
    launch = w.load(wave_field(w, at.WAVE_LAUNCH), "ptr", 0, 8)
    return w.load(w.at(launch, at.LAUNCH_WAVES), "i32", 0, 4).zext("i64")


def who(w: Writer, structure: Value, offset: Value) -> Value:
    """Pointer to who touched a byte of LDS."""
    return w.at(w.at(structure, LDS), (_lds_size(w) + _waves(w)).shl(3) + offset * WHO_BYTES)


def scratch(w: Writer, structure: Value) -> Value:
    """Pointer to the states of the workgroup's scratch."""
    return who(w, structure, _lds_size(w))


def scratch_bytes(w: Writer) -> Value:
    """Of a wave."""
    return w.load(wave_field(w, at.WAVE_SCRATCH_SIZE), "i64", 0, 8) * SCRATCH_LANES


def begin_group(w: Writer, structure: Value) -> None:
    """LDS and scratch hold nothing, and no barrier was passed."""
    _clear(w, w.at(structure, LDS), _lds_size(w).shl(3))
    _clear(w, scratch(w, structure), _waves(w) * scratch_bytes(w))
    _clear(w, w.at(structure, ARRIVED), w.constant("i64", LDS - ARRIVED))
    w.store(w.constant("i64", NEVER), w.at(structure, ENDED), 8)
    with w.loop(_waves(w)) as wave:
        w.store(w.constant("i64", 1), epoch(w, structure, wave), 8)


def _clear(w: Writer, start: Value, size: Value) -> None:
    w.declarations["llvm.memset.p0.i64"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
    w.line(f"call void @llvm.memset.p0.i64(ptr {start.text}, i8 0, i64 {size.text}, i1 false)")


# What functions of the checker have as parameters.


def parameter(w: Writer, name: str, element: str = "i64") -> Value:
    return Value(w, element, 0, f"%{name}")


def kind(w: Writer) -> Value:
    """Load, store or atomic."""
    return parameter(w, "faulty", "i32") & 7


def collects(w: Writer) -> Value:
    """Whether the launch goes on after a fault, so that notes are wanted: i1."""
    launch = w.load(wave_field(w, at.WAVE_LAUNCH), "ptr", 0, 8)
    return w.load(w.at(launch, at.LAUNCH_LOG), "i64", 0, 8).ne(0)


def group_number(w: Writer) -> Value:
    """The number of the workgroup in the launch."""
    launch = w.load(wave_field(w, at.WAVE_LAUNCH), "ptr", 0, 8)
    x, y, z = (w.load(w.at(wave_field(w, at.WAVE_GROUP), 4 * i), "i32", 0, 4).zext("i64") for i in range(3))
    width, height = (w.load(w.at(launch, at.LAUNCH_GRID + 4 * i), "i32", 0, 4).zext("i64") for i in range(2))
    return (z * height + y) * width + x


def is_left_out(w: Writer) -> Value:
    """Whether the workgroup is one that is not looked at whole: i1."""
    launch = w.load(wave_field(w, at.WAVE_LAUNCH), "ptr", 0, 8)
    log, found = w.load(w.at(launch, at.LAUNCH_LOG), "i64", 0, 8), w.variable(w.constant("i1", 0))
    with w.when(log.ne(0)):
        of = w.load(w.at(w.emit(f"inttoptr i64 {log.text} to ptr", "ptr"), faults.SAMPLE), "i64", 0, 8)
        with w.when(of.compare("ugt", 1)):
            found.set(w.emit(f"urem i64 {group_number(w).text}, {of.text}", "i64").ne(0))
    return found.get()


def here(w: Writer) -> Value:
    """One more than the instruction's place in the code, in dwords."""
    launch = w.load(wave_field(w, at.WAVE_LAUNCH), "ptr", 0, 8)
    pc = w.load(w.at(parameter(w, "op", "ptr"), at.OP_PC), "i64", 0, 8)
    return ((pc - w.load(w.at(launch, at.LAUNCH_CODE), "i64", 0, 8)).lshr(2) + 1) & ((1 << PLACE_BITS) - 1)


def me(w: Writer) -> Value:
    """This instruction, lane and wave, as `report` takes the other access of a race."""
    lane = parameter(w, "lane").shl(PLACE_BITS)
    return here(w) | lane | number(w).shl(PLACE_BITS + LANE_BITS)


def tell(w: Writer, reason: int, other: Value | None = None) -> None:
    """Report the access of the parameters."""
    size = parameter(w, "size", "i32")
    where = parameter(w, "lane"), parameter(w, "address"), size, parameter(w, "faulty", "i32")
    report(w, *where, reason, other)


def body(w: Writer) -> str:
    return "\n".join([*w.prologue, *w.lines])
