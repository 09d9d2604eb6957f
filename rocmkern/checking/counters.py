"""Wait counters: which instructions each counts on which generation, in which order they end, what waits for them.

A *queue* holds the operations of one kind on one counter. In an ordered queue the oldest ends first, so a wait for
n or fewer of its counter also says that no more than n of the queue are under way. Of the others only a wait for 0
says anything. FLAT on GFX9 stands on two counters and ends on each in no order.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from attrs import frozen

from rocmkern.checking.registers import HIGH, LOW, SCC_BIT, bits_of
from rocmkern.emulator.isa.model import NULL, Inst


@frozen
class Queue:
    """Operations of one kind on one counter. `holds` is the largest number that the counter counts."""

    counter: str
    kind: str
    ordered: bool
    holds: int


@frozen
class Counters:
    """The counters of a generation."""

    generation: int
    queues: tuple[Queue, ...]
    places: dict[tuple[str, str], int]  # (counter, kind) → index of the queue
    loads: str
    stores: str
    lds: str
    scalar: str


MEMORY, LDS, FLAT, SCALAR, MESSAGE, GLOBAL_SHARE = "memory", "LDS", "flat", "scalar memory", "message", "GDS"


@cache
def counters(generation: int) -> Counters:
    """The counters of GFX9 (CDNA), 10, 11 or 12."""
    if generation == 12:
        loads, stores, lds, scalar, scalar_holds = "loadcnt", "storecnt", "dscnt", "kmcnt", 31
    else:
        loads, stores, lds, scalar = "vmcnt", "vmcnt" if generation == 9 else "vscnt", "lgkmcnt", "lgkmcnt"
        scalar_holds = 15 if generation == 9 else 63
    lds_holds = 15 if generation == 9 else 63
    queues = [
        Queue(loads, MEMORY, True, 63),
        Queue(lds, LDS, True, lds_holds),
        Queue(scalar, SCALAR, False, scalar_holds),
        Queue(scalar, MESSAGE, False, scalar_holds),
    ]
    if generation > 9:
        queues.append(Queue(stores, MEMORY, True, 63))
    else:
        queues += [Queue(loads, FLAT, False, 63), Queue(lds, FLAT, False, lds_holds)]
    if generation < 12:
        queues += [Queue(lds, GLOBAL_SHARE, False, lds_holds), Queue("expcnt", GLOBAL_SHARE, False, 7)]
    places = {(queue.counter, queue.kind): i for i, queue in enumerate(queues)}
    return Counters(generation, tuple(queues), places, loads, stores, lds, scalar)


@frozen
class Operation:
    """An instruction that goes on after the next one has begun."""

    queues: tuple[int, ...]
    result: int = 0  # registers that it writes at its end
    locked: int = 0  # registers that it reads until then
    writes_lds: bool = False


MERGED_HALVES: Final = frozenset({"gfx90a", "gfx940", "gfx950"})  # with ECC a half is written with the other
MEMORY_ENCODINGS: Final = frozenset({"FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF"})


def operation(isa: str, inst: Inst, held: Counters) -> Operation | None:
    """What an instruction leaves under way; None for those that end at once."""
    encoding, name = inst.encoding, inst.name
    if encoding in MEMORY_ENCODINGS:
        return _memory(isa, inst, held)
    if encoding == "DS":
        return _lds(isa, inst, held)
    if encoding == "SMEM":
        return Operation((held.places[held.scalar, SCALAR],), bits_of(inst.dst))
    if name.startswith("s_sendmsg"):
        return Operation((held.places[held.scalar, MESSAGE],), bits_of(inst.dst))
    if name == "s_barrier_signal_isfirst":
        return Operation((held.places[held.scalar, MESSAGE],), SCC_BIT)
    return None


def _memory(isa: str, inst: Inst, held: Counters) -> Operation:
    writes_back = inst.name in ("global_wb", "global_wbinv")
    is_store = writes_back or (not inst.dst and len(inst.src) > (3 if inst.encoding in ("MUBUF", "MTBUF") else 2))
    counter = held.stores if is_store else held.loads
    result = _written(isa, inst)
    if inst.encoding != "FLAT":
        return Operation((held.places[counter, MEMORY],), result)
    if held.generation == 9:
        return Operation((held.places[counter, FLAT], held.places[held.lds, FLAT]), result)
    return Operation((held.places[counter, MEMORY], held.places[held.lds, LDS]), result)


def _written(isa: str, inst: Inst) -> int:
    """The registers that a load writes: half a register of 16-bit loads, where the other half keeps its value."""
    bits = bits_of(inst.dst)
    if "d16" not in inst.name or isa in MERGED_HALVES or "format" in inst.name:
        return bits
    return bits & _repeated(HIGH if "_hi" in inst.name else LOW)


@cache
def _repeated(half: int) -> int:
    return sum(half << 2 * register for register in range(512))


WITHOUT_MEMORY: Final = ("ds_swizzle", "ds_permute", "ds_bpermute", "ds_nop", "ds_gws", "ds_read", "ds_load")


def _lds(isa: str, inst: Inst, held: Counters) -> Operation:
    if inst.mods.gds or inst.name.startswith(("ds_gws", "ds_ordered")):
        places = (held.places[held.lds, GLOBAL_SHARE], held.places["expcnt", GLOBAL_SHARE])
        return Operation(places, bits_of(inst.dst), bits_of(inst.src))
    writes = not inst.name.startswith(WITHOUT_MEMORY)
    return Operation((held.places[held.lds, LDS],), _written(isa, inst), 0, writes)


Wait = tuple[tuple[str, int], ...]  # (counter, how many may be under way)
EVERYTHING: Final = 0


def waits(inst: Inst, held: Counters) -> Wait:
    """What an instruction waits for. A field of ones says not to wait."""
    name, generation, word = inst.name, held.generation, inst.imm & 0xFFFF
    if name == "s_wait_idle" or (name == "s_waitcnt" and generation == 12):
        return tuple((counter, EVERYTHING) for counter in dict.fromkeys(q.counter for q in held.queues))
    if name == "s_waitcnt":
        return _fields(generation, word)
    if name.startswith("s_waitcnt_") and inst.encoding == "SOPK":
        is_known = inst.src[0].kind == "s" and inst.src[0].value == NULL
        return ((name.removeprefix("s_waitcnt_"), word & 63),) if is_known else ()
    if name in ("s_wait_loadcnt_dscnt", "s_wait_storecnt_dscnt"):
        return ((name.split("_")[2], word >> 8 & 63), ("dscnt", word & 63))
    if name.startswith("s_wait_") and name.endswith("cnt"):
        return ((name.removeprefix("s_wait_"), word & 63),)
    return ()


def _fields(generation: int, word: int) -> Wait:
    if generation == 11:
        fields = (("vmcnt", word >> 10 & 63, 63), ("lgkmcnt", word >> 4 & 63, 63), ("expcnt", word & 7, 7))
    else:
        lgkm = 15 if generation == 9 else 63
        vector = (word & 15) | (word >> 14 & 3) << 4
        fields = (("vmcnt", vector, 63), ("lgkmcnt", word >> 8 & lgkm, lgkm), ("expcnt", word >> 4 & 7, 7))
    return tuple((counter, count) for counter, count, most in fields if count < most)


def wait_text(held: Counters, counter: str, count: int) -> str:
    """The instruction that waits for it."""
    if held.generation == 12:
        return f"s_wait_{counter} {count:#x}"
    return f"s_waitcnt_vscnt null, {count:#x}" if counter == "vscnt" else f"s_waitcnt {counter}({count})"
