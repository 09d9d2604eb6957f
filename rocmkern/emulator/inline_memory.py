"""Memory in compiled code: wide accesses inline where the lanes follow each other, everything else out of line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from attrs import define

from rocmkern.emulator import layout as at
from rocmkern.emulator.addresses import scalar_access
from rocmkern.emulator.consecutive import load_rows, store_rows
from rocmkern.emulator.inline import Inline
from rocmkern.emulator.ir import Value, Writer
from rocmkern.emulator.isa.model import Inst
from rocmkern.emulator.lds_loads import is_to_lds
from rocmkern.emulator.meaning.api import Access, Row
from rocmkern.emulator.wave import field

GLOBAL: Final = frozenset({"GLOBAL", "VGLOBAL", "FLAT", "VFLAT"})
LDS: Final = frozenset({"DS", "VDS"})


@define
class InlineMemory:
    """Emits one memory instruction."""

    regs: Inline
    row: Row
    inst: Inst
    way_out: Callable[[int], str]  # label that runs the instruction at a pc in tier 0
    call: Callable[[Row, Inst], None]

    @property
    def writer(self) -> Writer:
        return self.regs.writer

    @property
    def access(self) -> Access:
        assert self.row.access is not None
        return self.row.access

    def emit(self) -> None:
        if self.inst.encoding == "SMEM" and self.access.op == "load":
            self._scalar()
        elif self.regs.full and self._is_plain and not is_to_lds(self.inst):
            if self.inst.encoding in GLOBAL:
                self._global()
            elif self.inst.encoding in LDS:
                self._lds()
            else:
                self.call(self.row, self.inst)
        else:
            self.call(self.row, self.inst)

    @property
    def _is_plain(self) -> bool:
        """Whether each lane loads or stores registers of its own at an address of its own."""
        a = self.access
        return a.op in ("load", "store") and not (self.inst.mods.lds or a.place or a.transpose or a.block)

    def _arena(self) -> tuple[Value, Value]:
        w, launch = self.writer, self.regs.launch()
        low = w.load(w.at(launch, at.LAUNCH_ARENA), "i64", 0, 8)
        return low, w.load(w.at(launch, at.LAUNCH_ARENA_END), "i64", 0, 8) - low

    def _scalar(self) -> None:
        w, regs, access = self.writer, self.regs, self.access
        address, size = scalar_access(self.inst, regs, access)
        low, span = self._arena()
        good = w.fresh("good")
        inside = (address - low).compare("ule", span - self._bytes) & size.eq(self._bytes)
        w.branch(inside, good, self.way_out(self.inst.pc))
        w.label(good)
        pointer = w.emit(f"inttoptr i64 {address.text} to ptr", "ptr")
        result, first = ("dst", 0), self.inst.dst[0].value
        if access.bits < 32:
            regs.write_scalar(result, w.load(pointer, f"i{access.bits}").cast(access.extend, "i32"))
            return
        position = 0
        while position < access.count:
            if access.count - position >= 2 and (first + position) % 2 == 0:
                regs.write_scalar(result, w.load(w.at(pointer, 4 * position), "i64", 0, 4), position)
                position += 2
            else:
                regs.write_scalar(result, w.load(w.at(pointer, 4 * position), "i32", 0, 4), position)
                position += 1

    # Vector memory.

    @property
    def _bytes(self) -> int:
        return self.access.bits // 8 * self.access.count

    def _straight(self, row: int, wide: bool, step: int) -> tuple[Value, Value]:
        """Whether the lanes' addresses in a register (pair) follow each other by `step`; and the first one, i64."""
        regs, w = self.regs, self.writer
        key = row, int(wide), step
        if key in regs.straight:
            return regs.straight[key]
        lows = [regs.read_row(row, c) for c in range(regs.chunk_count)]
        first = lows[0].lane(0)
        flags = []
        for chunk, low in enumerate(lows):
            steps = w.vector("i32", [(chunk * regs.lanes + lane) * step for lane in range(regs.lanes)])
            flags.append((low - first).eq(steps))
        start = first.zext("i64")
        if wide:
            highs = [regs.read_row(row + 1, c) for c in range(regs.chunk_count)]
            high = highs[0].lane(0)
            flags += [h.eq(high) for h in highs]
            start = w.combine(first, high)
        together = flags[0]
        for flag in flags[1:]:
            together = together & flag
        straight = together.lane_mask().eq(-1)
        if not wide:
            straight = straight & first.compare("ult", (1 << 32) - step * regs.wave_size - 1)
        regs.straight[key] = straight, start
        return straight, start

    def _global(self) -> None:
        w, regs = self.writer, self.regs
        vaddr, saddr = self.inst.src[:2]
        if vaddr.kind != "v":
            self.call(self.row, self.inst)
            return
        straight, start = self._straight(vaddr.value, vaddr.count == 2, self._bytes)
        address = start + self.inst.imm
        if saddr.kind == "s":
            address = address + regs.scalar(("src", 1), "i64")
        low, span = self._arena()
        inside = (address - low).compare("ule", span - self._bytes * regs.wave_size)
        with self._either(straight & inside):
            pointer = w.emit(f"inttoptr i64 {address.text} to ptr", "ptr")
            self._move(pointer, 2)

    def _lds(self) -> None:
        w, regs, access = self.writer, self.regs, self.access
        if access.stride and not self._is_adjacent:
            self.call(self.row, self.inst)
            return
        size = self._bytes * (2 if access.stride else 1)
        vaddr = self.inst.src[0]
        straight, start = self._straight(vaddr.value, False, size)
        offset = start + self.inst.imm * (access.stride or 1)
        limit = w.load(field(w, at.WAVE_LDS_SIZE), "i64", 0, 8)
        inside = (offset + size * regs.wave_size).compare("ule", limit)
        base = w.load(field(w, at.WAVE_LDS), "ptr", 0, 8)
        with self._either(straight & inside):
            self._move(w.at(base, offset), 1)

    @property
    def _is_adjacent(self) -> bool:
        """A two-address form whose elements follow each other, as one of twice the count."""
        return self.inst.imm1 == self.inst.imm + 1 and self.access.stride == self._bytes

    def _either(self, condition: Value) -> _Either:
        return _Either(self, condition)

    def _registers(self) -> int:
        count = self.access.count * (2 if self.access.stride else 1)
        return count if self.access.bits == 32 else 1

    def _move(self, pointer: Value, data: int) -> None:
        """All lanes between memory at `pointer` and registers; source `data` is what a store writes."""
        for chunk in range(self.regs.chunk_count):
            place = self.writer.at(pointer, chunk * self.regs.lanes * self._bytes * (2 if self.access.stride else 1))
            if self.access.op == "load":
                self._load(place, chunk)
            else:
                self._store(place, chunk, data)

    def _load(self, pointer: Value, chunk: int) -> None:
        w, regs, access, n = self.writer, self.regs, self.access, self._registers()
        number, lanes = w.constant("i64", chunk), regs.lanes
        if access.bits < 32:
            value = w.load(pointer, f"i{access.bits}", lanes).cast(access.extend, "i32")
            if access.half:
                old = regs.vector(("dst", 0), 0, number)
                low = access.half == "low"
                value = (old & 0xFFFF0000) | (value & 0xFFFF) if low else (old & 0xFFFF) | value.shl(16)
            regs.write_vector(("dst", 0), 0, number, value, None)
            return
        for i, value in enumerate(load_rows(w, pointer, n)):
            regs.write_vector(("dst", 0), i, number, value, None)

    def _store(self, pointer: Value, chunk: int, data: int) -> None:
        w, regs, access, n = self.writer, self.regs, self.access, self._registers()
        number = w.constant("i64", chunk)
        if access.bits < 32:
            value = regs.vector(("src", data), 0, number)
            value = value.lshr(16) if access.half == "high" else value
            w.store(value.trunc(f"i{access.bits}"), pointer)
            return
        if access.stride:
            rows = [regs.vector(("src", data + i // access.count), i % access.count, number) for i in range(n)]
        else:
            rows = [regs.vector(("src", data), i, number) for i in range(n)]
        store_rows(w, rows, pointer)


@define
class _Either:
    """`with`: the fast form where the condition holds, else the call."""

    memory: InlineMemory
    condition: Value
    _slow: str = ""
    _after: str = ""

    def __enter__(self) -> None:
        w = self.memory.writer
        fast, self._slow, self._after = w.fresh("fast"), w.fresh("slow"), w.fresh("joined")
        w.branch(self.condition, fast, self._slow, ", !prof !0")
        w.label(fast)

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            return
        w, memory = self.memory.writer, self.memory
        kept = dict(memory.regs.straight)
        w.jump(self._after)
        w.label(self._slow)
        memory.call(memory.row, memory.inst)
        w.label(self._after)
        memory.regs.straight = {k: v for k, v in kept.items() if k in memory.regs.straight}
