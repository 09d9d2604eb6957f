"""The memory functions: move the data of all active lanes, checked, out of line, one per kind of access.

`access(wave, op, mask, addresses, data, result)`: `addresses` one i64 per lane, `data` and `result` rows of registers.
A lane whose address lies outside the space does nothing (a load gives 0); `faults.py` is told of each such lane.
"""

from __future__ import annotations

from attrs import frozen

from rocmkern.emulator import layout as at
from rocmkern.emulator.addresses import OUTSIDE, Space
from rocmkern.emulator.consecutive import LANES, load_rows, store_rows
from rocmkern.emulator.ir import Value, Writer
from rocmkern.emulator.meaning.api import Access, Context, Row
from rocmkern.emulator.mode import Mode
from rocmkern.emulator.observers.seam import STORE, Accessed, Point, Watching, accessed, kind_of, names
from rocmkern.emulator.wave import field, wave


@frozen
class AccessFunction:
    """One memory function."""

    row: Row
    access: Access
    space: Space
    wave_size: int
    returns: bool
    watching: Watching = ()
    by_mode: str = ""  # the target, of an atomic for which MODE says which denormals count

    @property
    def key(self) -> str:
        a = self.access
        custom = f"_{self.row.name}" if a.op == "custom" else ""
        custom += f"_by_mode_{self.by_mode}" if self.by_mode else ""
        parts = (a.op, a.bits, a.count, a.extend, a.half or "full", a.element or "int", self.space, self.wave_size)
        custom += names(self.watching)
        return "access_" + "_".join(str(p) for p in parts) + custom + ("_ret" if self.returns else "")

    @property
    def declaration(self) -> str:
        return f"declare void @{self.key}(ptr, ptr, i64, ptr, ptr, ptr)"

    @property
    def bytes_per_lane(self) -> int:
        return self.access.bits // 8 * self.access.count

    def body(self, w: Writer) -> None:
        """Emit the function's body; parameters are %w %op %mask %addresses %data %result."""
        mask = Value(w, "i64", 0, "%mask")
        spaces = Spaces(w, self.space, self._size(w), self.wave_size)
        buffer = w.buffer(8 * LANES)
        places = w.buffer(8 * self.wave_size) if self.watching else None
        allowed = None if places is None else self._watched(w, spaces, places)
        with w.loop(self.wave_size // LANES) as chunk:
            part = mask.lshr(chunk * LANES).trunc("i16")
            with w.when(part.ne(0)):
                if places is None or allowed is None:
                    resolved, good = self._resolve(w, spaces, part, chunk)
                else:
                    resolved = w.load(w.at(places, chunk * (8 * LANES)), "i64", LANES, 64)
                    good = allowed.lshr(chunk * LANES).trunc("i16")
                self._move(w, good, chunk, resolved, buffer)
        w.line("ret void")

    def _resolve(self, w: Writer, spaces: Spaces, part: Value, chunk: Value) -> tuple[Value, Value]:
        """Where the active lanes of a chunk go, and which of them go inside the space."""
        raw = w.load(w.at(Value(w, "ptr", 0, "%addresses"), chunk * (8 * LANES)), "i64", LANES, 8)
        resolved, inside = spaces.resolve(raw, chunk)
        inside_bits = inside.lane_mask()
        good, bad = part & inside_bits, part & ~inside_bits
        if self.space == "buffer":
            bad = bad & ~raw.eq(OUTSIDE).lane_mask()
        with w.when(bad.ne(0)):
            self._fault(w, bad, chunk, raw, spaces.size)
        return resolved, good

    def _watched(self, w: Writer, spaces: Spaces, places: Value) -> Value:
        """The lanes that go inside the space and that all observers let go on; where is written to `places`."""
        mask, lanes = Value(w, "i64", 0, "%mask"), w.variable(w.constant("i64", 0))
        with w.loop(self.wave_size // LANES) as chunk:
            part = mask.lshr(chunk * LANES).trunc("i16")
            with w.when(part.ne(0)):
                resolved, good = self._resolve(w, spaces, part, chunk)
                w.store(resolved, w.at(places, chunk * (8 * LANES)), 64)
                lanes.set(lanes.get() | good.zext("i64").shl(chunk * LANES))
        kind = kind_of(self.access.op)
        access = Accessed(
            kind, self.space, lanes.get(), places, spaces.size, self._stored(w) if kind == STORE else None
        )
        operation = Value(w, "ptr", 0, "%op")
        return accessed(self.watching, lambda i: Point(w, i, self.wave_size, access.lanes, lambda: operation), access)

    def _stored(self, w: Writer) -> Value | None:
        """Pointer to what a store takes, byte by byte as it will lie in memory."""
        data = Value(w, "ptr", 0, "%data")
        return w.at(data, 2) if self.access.half == "high" else data

    def _size(self, w: Writer) -> Value:
        return w.constant("i64", self.bytes_per_lane)

    def _uniform(self, w: Writer, pointer: Value, chunk: Value) -> None:
        """All sixteen lanes read the same place."""
        a, offset = self.access, chunk * (4 * LANES)
        if a.bits < 32:
            self._put(w, w.load(pointer, f"i{a.bits}").cast(a.extend, "i32").splat(LANES), 0, offset)
            return
        for i in range(self._registers):
            value = w.load(w.at(pointer, 4 * i), "i32").splat(LANES)
            w.store(value, self._row(w, "%result", i, offset, LANES), 4)

    def _move(self, w: Writer, good: Value, chunk: Value, resolved: Value, buffer: Value) -> None:
        first = resolved.lane(0)
        steps = w.vector("i64", [i * self.bytes_per_lane for i in range(LANES)])
        straight = (resolved - first).eq(steps).lane_mask().eq(-1)
        fast, slow, after = w.fresh("fast"), w.fresh("slow"), w.fresh("moved")
        vector_form = self.access.op in ("load", "store")
        if vector_form:
            w.branch(straight & good.eq(-1), fast, slow)
            w.label(fast)
            pointer = w.emit(f"inttoptr i64 {first.text} to ptr", "ptr")
            self._whole(w, pointer, chunk)
            w.jump(after)
            w.label(slow)
        if self.access.op == "load":
            same, differ = w.fresh("same"), w.fresh("differ")
            all_equal = (resolved - first).eq(0).lane_mask().eq(-1)
            w.branch(all_equal & good.eq(-1), same, differ)
            w.label(same)
            self._uniform(w, w.emit(f"inttoptr i64 {first.text} to ptr", "ptr"), chunk)
            w.jump(after)
            w.label(differ)
        if self.access.op == "load" and not self.access.half:
            self._clear(w, good, chunk)
        w.store(resolved, buffer, 64)
        with w.each_bit(good) as lane:
            address = w.load(w.at(buffer, lane.zext("i64").shl(3)), "i64", 0, 8)
            pointer = w.emit(f"inttoptr i64 {address.text} to ptr", "ptr")
            offset = (chunk * LANES + lane.zext("i64")).shl(2)
            self._one(w, pointer, offset)
        if vector_form:
            w.label(after)

    def _clear(self, w: Writer, good: Value, chunk: Value) -> None:
        """Lanes that are active but outside read 0."""
        part = Value(w, "i64", 0, "%mask").lshr(chunk * LANES).trunc("i16")
        with w.when(part.ne(good)), w.each_bit(part & ~good) as lane:
            offset = (chunk * LANES + lane.zext("i64")).shl(2)
            for i in range(self._registers):
                w.store(w.constant("i32", 0), self._row(w, "%result", i, offset), 4)

    @property
    def _registers(self) -> int:
        return max(1, self.bytes_per_lane // 4) if self.access.bits >= 32 else 1

    @property
    def data_bytes(self) -> int:
        """Of the registers at `%data`."""
        a = self.access
        if a.op in ("load", "store"):
            return 0 if a.op == "load" else self._registers * self._row_bytes
        return (2 if a.op == "cmpxchg" else a.operands) * a.bits // 32 * self._row_bytes

    @property
    def result_bytes(self) -> int:
        """Of the registers at `%result`."""
        a = self.access
        if a.op in ("load", "store"):
            return self._registers * self._row_bytes if a.op == "load" else 0
        return a.bits // 32 * self._row_bytes if self.returns else 0

    @property
    def _row_bytes(self) -> int:
        return 4 * self.wave_size

    def _row(self, w: Writer, base: str, register: int, offset: Value, lanes: int = 1) -> Value:
        """A register from an offset within its row on, of that many lanes."""
        rows = Value(w, "ptr", 0, base, room=self.data_bytes if base == "%data" else self.result_bytes)
        return w.at(w.at(rows, register * self._row_bytes), offset, self._row_bytes - 4 * lanes)

    # Straight: sixteen lanes one after the other in memory.

    def _whole(self, w: Writer, pointer: Value, chunk: Value) -> None:
        a, offset = self.access, chunk * (4 * LANES)
        n = self._registers
        if a.op == "load":
            if a.bits < 32:
                value = w.load(pointer, f"i{a.bits}", LANES).cast(a.extend, "i32")
                self._put(w, value, 0, offset)
                return
            for i, value in enumerate(load_rows(w, pointer, n)):
                w.store(value, self._row(w, "%result", i, offset, LANES), 4)
            return
        if a.bits < 32:
            w.store(self._take(w, 0, offset, LANES).trunc(f"i{a.bits}"), pointer)
            return
        rows = [w.load(self._row(w, "%data", i, offset, LANES), "i32", LANES, 4) for i in range(n)]
        store_rows(w, rows, pointer)

    # One lane.

    def _one(self, w: Writer, pointer: Value, offset: Value) -> None:
        a, n = self.access, self._registers
        if a.op == "load":
            if a.bits < 32:
                self._put(w, w.load(pointer, f"i{a.bits}").cast(a.extend, "i32"), 0, offset)
                return
            for i in range(n):
                w.store(w.load(w.at(pointer, 4 * i), "i32"), self._row(w, "%result", i, offset), 4)
        elif a.op == "store":
            if a.bits < 32:
                w.store(self._take(w, 0, offset, 0).trunc(f"i{a.bits}"), pointer)
                return
            for i in range(n):
                w.store(w.load(self._row(w, "%data", i, offset), "i32"), w.at(pointer, 4 * i))
        else:
            self._atomic(w, pointer, offset)

    def _put(self, w: Writer, value: Value, register: int, offset: Value) -> None:
        """Write a loaded value to its register, or the half of it that a d16 form names."""
        row = self._row(w, "%result", register, offset, max(value.lanes, 1))
        if self.access.half:
            old = w.load(row, "i32", value.lanes, 4)
            low = self.access.half == "low"
            value = (old & 0xFFFF0000) | (value & 0xFFFF) if low else (old & 0xFFFF) | value.shl(16)
        w.store(value, row, 4)

    def _take(self, w: Writer, register: int, offset: Value, lanes: int) -> Value:
        value = w.load(self._row(w, "%data", register, offset, max(lanes, 1)), "i32", lanes, 4)
        return value.lshr(16) if self.access.half == "high" else value

    def _operand(self, w: Writer, register: int, offset: Value) -> Value:
        low = w.load(self._row(w, "%data", register, offset), "i32", 0, 4)
        if self.access.bits == 32:
            return low
        return w.combine(low, w.load(self._row(w, "%data", register + 1, offset), "i32", 0, 4))

    def _atomic(self, w: Writer, pointer: Value, offset: Value) -> None:
        a = self.access
        count = 2 if a.op == "cmpxchg" else a.operands
        operands = [self._operand(w, i * (a.bits // 32), offset) for i in range(count)]
        is_loop = a.op == "custom" or self.by_mode
        old = self._compare_loop(w, pointer, operands) if is_loop else emit_atomic(w, a, pointer, operands)
        if self.returns:
            parts = [old] if a.bits == 32 else list(w.halves(old))
            for i, part in enumerate(parts):
                w.store(part, self._row(w, "%result", i, offset), 4)

    def _compare_loop(self, w: Writer, pointer: Value, operands: list[Value]) -> Value:
        width = f"i{self.access.bits}"
        seen = w.variable(
            w.emit(f"load atomic {width}, ptr {pointer.text} seq_cst, align {self.access.bits // 8}", width)
        )
        mode = self._mode(w) if self.by_mode else None
        again, done = w.fresh("again"), w.fresh("swapped")
        w.label(again)
        old = seen.get()
        assert self.row.emit is not None
        new = self.row.emit(Context(w, 0, self.wave_size, self.by_mode, mode=mode), old, *operands)
        assert isinstance(new, Value)
        pair = w.emit(f"cmpxchg ptr {pointer.text}, {width} {old.text}, {width} {new.text} seq_cst seq_cst", width)
        seen.set(w.emit(f"extractvalue {{ {width}, i1 }} {pair.text}, 0", width))
        w.branch(w.emit(f"extractvalue {{ {width}, i1 }} {pair.text}, 1", "i1"), done, again)
        w.label(done)
        return old

    def _mode(self, w: Writer) -> Mode:
        return Mode(w.load(field(w, at.WAVE_MODE), "i32", 0, 4), self.by_mode)

    def _fault(self, w: Writer, bad: Value, chunk: Value, raw: Value, size: Value) -> None:
        spot = w.buffer(8 * LANES)
        w.store(raw, spot, 64)
        kind = w.constant("i32", {"lds": 1, "scratch": 2}.get(self.space, 0) * 2 + (self.access.op != "load"))
        operation, no_other = Value(w, "ptr", 0, "%op"), w.constant("i64", 0)
        with w.each_bit(bad) as bit:
            lane = bit.zext("i64")
            where = chunk * LANES + lane, w.load(w.at(spot, lane.shl(3)), "i64", 0, 8), size.trunc("i32")
            w.call("record_fault", "void", 0, wave(w), operation, *where, kind, no_other)


def emit_atomic(w: Writer, access: Access, pointer: Value, operands: list[Value]) -> Value:
    """One of LLVM's atomics; the old value as an integer. A comparand follows the new value."""
    if access.op == "cmpxchg":
        new, expected = operands
        pair = w.emit(
            f"cmpxchg ptr {pointer.text}, {new.type} {expected.text}, {new.type} {new.text} seq_cst seq_cst",
            new.element,
        )
        return w.emit(f"extractvalue {{ {new.type}, i1 }} {pair.text}, 0", new.element)
    value = operands[0].bits(access.element) if access.element else operands[0]
    text = f"atomicrmw {access.op} ptr {pointer.text}, {value.type} {value.text} seq_cst"
    return w.emit(text, value.element).as_int()


@frozen
class Spaces:
    """Turns the addresses of a space into host addresses, and says which lie inside it."""

    w: Writer
    space: Space
    size: Value
    wave_size: int

    def _field(self, offset: int) -> Value:
        return self.w.load(field(self.w, offset), "i64", 0, 8)

    def _inside(self, offset: Value, limit: Value) -> Value:
        """offset + size <= limit, with no wrap."""
        room = limit.compare("uge", self.size).select(limit - self.size, 0)
        fits = limit.compare("uge", self.size)
        return offset.compare("ule", room) & fits

    def _global(self, raw: Value) -> tuple[Value, Value]:
        w = self.w
        launch = w.load(field(w, at.WAVE_LAUNCH), "ptr", 0, 8)
        low, high = (w.load(w.at(launch, limit), "i64", 0, 8) for limit in (at.LAUNCH_ARENA, at.LAUNCH_ARENA_END))
        return raw, self._inside(raw - low, high - low)

    def _lds(self, offset: Value) -> tuple[Value, Value]:
        return offset + self._field(at.WAVE_LDS), self._inside(offset, self._field(at.WAVE_LDS_SIZE))

    def _scratch(self, offset: Value, chunk: Value) -> tuple[Value, Value]:
        size = self._field(at.WAVE_SCRATCH_SIZE)
        lane = self.w.vector("i64", list(range(LANES))) + chunk * LANES
        return lane * size + self._field(at.WAVE_SCRATCH) + offset, self._inside(offset, size)

    def resolve(self, raw: Value, chunk: Value) -> tuple[Value, Value]:
        if self.space == "global":
            return self._global(raw)
        if self.space == "lds":
            return self._lds(raw)
        if self.space == "scratch":
            return self._scratch(raw, chunk)
        address, inside = self._global(raw)
        high = raw.lshr(32).trunc("i32")
        low = raw & 0xFFFFFFFF
        private, private_inside = self._scratch(low, chunk)
        is_private = high.eq(at.PRIVATE_APERTURE)
        address, inside = is_private.select(private, address), is_private.select(private_inside, inside)
        if self.space == "flat":
            shared, shared_inside = self._lds(low)
            is_shared = high.eq(at.SHARED_APERTURE)
            address, inside = is_shared.select(shared, address), is_shared.select(shared_inside, inside)
        return address, inside
