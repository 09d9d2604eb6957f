"""The memory functions of typed buffers: one element per lane, whose format is known when they run.

A load finds its format word at `%data`, a store at `%result`, which it has no other use for.
"""

from __future__ import annotations

from attrs import frozen

from rocmkern.emulator.access import AccessFunction
from rocmkern.emulator.consecutive import LANES
from rocmkern.emulator.formats import COMPONENTS, Format
from rocmkern.emulator.ir import Value, Writer


@frozen
class TypedAccessFunction(AccessFunction):
    """One memory function of typed buffers."""

    isa: str = ""

    @property
    def key(self) -> str:
        return f"{super().key}_{self.access.typed}_{self.isa}"

    @property
    def _halves(self) -> bool:
        return self.access.typed == "d16"

    @property
    def _registers(self) -> int:
        return -(-self.access.count // (1 + self._halves))

    def _format(self, w: Writer) -> Format:
        place = "%data" if self.access.op == "load" else "%result"
        return Format.of(w, self.isa, w.load(Value(w, "ptr", 0, place), "i32", 0, 4))

    def _stored(self, w: Writer) -> None:
        """Registers hold numbers, memory the format's bits."""

    def _size(self, w: Writer) -> Value:
        return self._format(w).size

    def _move(self, w: Writer, good: Value, chunk: Value, resolved: Value, places: Value) -> None:
        shape, element = self._format(w), w.buffer(4 * COMPONENTS)
        is_load = self.access.op == "load"
        w.store(resolved, places, 64)
        lanes = Value(w, "i64", 0, "%mask").lshr(chunk * LANES).trunc("i16") if is_load else good
        with w.each_bit(lanes) as lane:
            address = w.load(w.at(places, lane.zext("i64").shl(3)), "i64", 0, 8)
            pointer = w.emit(f"inttoptr i64 {address.text} to ptr", "ptr")
            offset = (chunk * LANES + lane.zext("i64")).shl(2)
            w.store(w.constant("i32", 0, COMPONENTS), element, 64)
            if is_load:
                with w.when((good.zext("i32").lshr(lane) & 1).ne(0)):
                    _copy(w, shape.size, pointer, element)
                self._read(w, shape, element, offset)
            else:
                self._write(w, shape, element, offset)
                _copy(w, shape.size, element, pointer)

    def _read(self, w: Writer, shape: Format, element: Value, offset: Value) -> None:
        choices = w.buffer(4 * 2 * COMPONENTS)  # by selector; 2 and 3 mean nothing
        w.store(w.constant("i32", 0, 2 * COMPONENTS), choices, 64)
        w.store(shape.one(self._halves), w.at(choices, 4), 4)
        for i in range(COMPONENTS):
            w.store(shape.component(i).read(element, self._halves), w.at(choices, 4 * (COMPONENTS + i)), 4)
        values = [
            w.load(w.at(choices, shape.selector(i).zext("i64").shl(2)), "i32", 0, 4) for i in range(self.access.count)
        ]
        for i, value in enumerate(values):
            if self._halves:
                row, high = self._row(w, "%result", i // 2, offset), i % 2 or self.access.half == "high"
                old = w.load(row, "i32", 0, 4)
                value = (old & 0xFFFF) | value.shl(16) if high else (old & 0xFFFF0000) | (value & 0xFFFF)
            w.store(value, self._row(w, "%result", i // (1 + self._halves), offset), 4)

    def _write(self, w: Writer, shape: Format, element: Value, offset: Value) -> None:
        values = []
        for i in range(self.access.count):
            value = w.load(self._row(w, "%data", i // (1 + self._halves), offset), "i32", 0, 4)
            is_high = self._halves and (i % 2 or self.access.half == "high")
            values.append(value.lshr(16) if is_high else value)
        for i in range(COMPONENTS):
            chosen = w.constant("i32", 0)
            if self.isa == "gfx12":
                chosen = shape.selector(0).compare("uge", COMPONENTS).select(values[0], 0)
            for register, value in reversed(list(enumerate(values))):
                chosen = shape.selector(register).eq(COMPONENTS + i).select(value, chosen)
            shape.component(i).write(element, chosen, self._halves)


def _copy(w: Writer, size: Value, source: Value, target: Value) -> None:
    """An element of 1, 2 or a multiple of 4 bytes."""
    for element, bytes_ in (("i8", 1), ("i16", 2)):
        with w.when(size.eq(bytes_)):
            w.store(w.load(source, element), target)
    with w.when(size.compare("uge", 4)), w.loop(size.lshr(2)) as i:
        w.store(w.load(w.at(source, i.shl(2)), "i32"), w.at(target, i.shl(2)))
