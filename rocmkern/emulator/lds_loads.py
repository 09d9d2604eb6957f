"""Data that moves between memory and LDS with no register between, and when loads of it land.

A load to LDS is under way until a wait covers it, as on hardware, where other waves still read what it is to overwrite:
its data is fetched at once and queued, and lands at the wave's next wait for vector memory. Before that, the wave lets
the others of its workgroup run once, so that those come to their wait too.
"""

from __future__ import annotations

from typing import Final, Protocol

from rocmkern.emulator import layout as at
from rocmkern.emulator.access import AccessFunction
from rocmkern.emulator.addresses import Space
from rocmkern.emulator.ir import Value, Writer
from rocmkern.emulator.isa.model import Inst
from rocmkern.emulator.isa.simm import waits
from rocmkern.emulator.meaning.api import ROWS, Access, Row
from rocmkern.emulator.out_of_line import OutOfLine
from rocmkern.emulator.wave import field, landing

DWORDS: Final = (1, 3, 4)  # that a lane may load to LDS at a time
HAS_MET: Final = 1 << 32  # of the count of loads that are under way: the other waves had their turn


class MemoryCalls(Protocol):
    """What builds an operation that moves data."""

    def memory_function(self, row: Row, access: Access, space: Space, returns: bool) -> AccessFunction:
        """The function for one kind of access."""
        ...

    def call_memory(
        self,
        w: Writer,
        function: AccessFunction,
        mask: Value,
        spots: Value,
        data: Value,
        result: Value,
        operation: Value | None = None,
    ) -> None:
        """Call it, on behalf of another operation where one is given."""
        ...  # fmt: skip


def is_to_lds(inst: Inst) -> bool:
    return inst.mods.lds or "_load_lds_" in inst.name


def awaits_loads(inst: Inst, isa: str) -> bool:
    """Whether an instruction waits until loads from memory have landed, some of them at least."""
    return inst.name == "s_waitcnt_vmcnt" or (inst.name == "s_waitcnt" and "vmcnt" in waits(isa, inst.imm & 0xFFFF))


def _lds_function(calls: MemoryCalls, op: str, count: int) -> AccessFunction:
    row = ROWS[f"ds_{'write' if op == 'store' else 'read'}_b{32 * count}"]
    assert row.access is not None
    return calls.memory_function(row, row.access, "lds", op == "load")


def _places(w: Writer, first: Value, count: Value, wave_size: int) -> Value:
    """Pointer to where lanes lie in LDS, one after another: a dword each, or four where it is more."""
    places, lanes = w.buffer(8 * wave_size), at.CHUNK
    step = count.eq(1).select(w.constant("i64", 4), 16)
    with w.loop(wave_size // lanes) as chunk:
        lane = w.vector("i64", list(range(lanes))) + chunk * lanes
        w.store(lane * step + first, w.at(places, chunk * (8 * lanes)), 64)
    return places


def _first(regs: OutOfLine) -> Value:
    """Where the first lane lies in LDS."""
    return regs.special("m0", "i32").zext("i64") + regs.immediate(0)


def emit_store(
    calls: MemoryCalls, w: Writer, regs: OutOfLine, memory: AccessFunction, mask: Value, spots: Value
) -> None:
    """From LDS to memory."""
    null, count = Value(w, "ptr", 0, "null"), memory.access.count
    moved = w.buffer(4 * regs.wave_size * count)
    places = _places(w, _first(regs), w.constant("i64", count), regs.wave_size)
    calls.call_memory(w, _lds_function(calls, "load", count), mask, places, null, moved)
    calls.call_memory(w, memory, mask, spots, moved, null)


def emit_load(
    calls: MemoryCalls, w: Writer, regs: OutOfLine, memory: AccessFunction, mask: Value, spots: Value, word: Value
) -> None:
    """From memory to the queue. Where that is full, as many are under way as can be, all land first."""
    spot = field(w, at.WAVE_LANDING)
    with w.when(w.load(spot, "i64", 0, 8).eq(at.LANDINGS)):
        emit_landing(calls, w, regs.wave_size)
    number = w.load(spot, "i64", 0, 8)
    entry = _entry(w, number)
    for offset, value in (
        (at.LANDING_MASK, mask), (at.LANDING_FIRST, _first(regs)), (at.LANDING_OPERATION, regs.operation()),
        (at.LANDING_DWORDS, w.constant("i64", memory.access.count)),
    ):  # fmt: skip
        w.store(value, w.at(entry, offset), 8)
    calls.call_memory(w, memory, mask, spots, word, w.at(entry, at.LANDING_DATA))
    w.store(number + 1, spot, 8)


def emit_landing(calls: MemoryCalls, w: Writer, wave_size: int) -> None:
    """Everything in the queue, of which there is something, to LDS, in the order in which it was loaded.

    What a lane of three dwords leaves over stays as it is.
    """
    spot, null = field(w, at.WAVE_LANDING), Value(w, "ptr", 0, "null")
    count = w.load(spot, "i64", 0, 8) & (HAS_MET - 1)
    with w.loop(count) as number:
        entry = _entry(w, number)
        mask, first, dwords = (
            w.load(w.at(entry, offset), "i64", 0, 8)
            for offset in (at.LANDING_MASK, at.LANDING_FIRST, at.LANDING_DWORDS)
        )
        operation = w.load(w.at(entry, at.LANDING_OPERATION), "ptr", 0, 8)
        places = _places(w, first, dwords, wave_size)
        for each in DWORDS:
            with w.when(dwords.eq(each)):
                store = _lds_function(calls, "store", each)
                calls.call_memory(w, store, mask, places, w.at(entry, at.LANDING_DATA), null, operation)
    w.store(w.constant("i64", 0), spot, 8)


def _entry(w: Writer, number: Value) -> Value:
    return w.at(landing(w), number * at.LANDING_BYTES, (at.LANDINGS - 1) * at.LANDING_BYTES)
