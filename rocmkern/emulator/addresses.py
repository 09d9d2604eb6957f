"""Addresses of memory instructions: per encoding, one address per lane, in the host's address space."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from attrs import frozen

from rocmkern.emulator import layout
from rocmkern.emulator.ir import Value, Variable
from rocmkern.emulator.isa.model import Inst
from rocmkern.emulator.isa.table import CDNA
from rocmkern.emulator.meaning.api import Access
from rocmkern.emulator.operands import uniform
from rocmkern.emulator.registers import Registers

PerChunk = Callable[[Value], Value]  # the addresses of a chunk of lanes
Space = Literal["global", "lds", "scratch", "flat", "buffer"]

ADD_LANE: Final = 1 << 23  # of a buffer resource's last dword: the lane's number is added to the index
OUTSIDE: Final = -1  # the address of a lane beyond a buffer's records

SPACE_OF: dict[str, Space] = {
    "DS": "lds", "FLAT": "flat", "GLOBAL": "global", "SCRATCH": "scratch", "MUBUF": "buffer", "MTBUF": "buffer",
    "VFLAT": "flat", "VGLOBAL": "global", "VSCRATCH": "scratch", "VBUFFER": "buffer",
}  # fmt: skip


@frozen
class Addresses:
    """Fills a buffer of one i64 per lane with where each lane goes."""

    inst: Inst
    regs: Registers
    which: int = 0  # 1: the second address of a two-address LDS form
    stride: int = 1  # bytes per unit of the immediate offset
    place: str = ""  # `Access.place`
    isa: str = ""
    payload: Value | None = None  # bytes that a lane moves all or none of in a buffer; 0: it moves nothing
    shift: Value | int = 0  # bytes behind the instruction's address
    span: int = 0  # from a lane's first dword to its last in a buffer
    cut: Variable | None = None  # set where one of them is in range and the other is not

    @property
    def space(self) -> Space:
        return SPACE_OF[self.inst.encoding]

    def fill(self, into: Value | None = None) -> Value:
        """Pointer to the addresses of all lanes: absolute, except LDS and scratch: bytes into it, as u32."""
        w, regs = self.regs.writer, self.regs
        buffer = into or w.buffer(8 * regs.wave_size)
        make = getattr(self, f"_{self.space}")()
        for chunk in regs.chunks():
            addresses = make(chunk)
            w.store(addresses, w.at(buffer, chunk * (8 * regs.lanes)), 64)
        return buffer

    def _offset(self) -> Value:
        return self.regs.immediate(self.which) * self.stride + self.shift

    def _scalar32(self, number: int) -> Value:
        """A scalar address operand, zero-extended; 0 where absent."""
        operand = self.inst.src[number]
        if operand.kind == "off":
            return self.regs.writer.constant("i64", 0)
        return uniform(self.regs, ("src", number), operand, "i32", "b32").zext("i64")

    def _vector32(self, number: int, chunk: Value, register: int = 0) -> Value:
        return self.regs.vector(("src", number), register, chunk).zext("i64")

    def _by_lane(self, base: Value) -> PerChunk:
        """A dword per lane from `base` on, or all at `base`."""
        lanes, step = self.regs.lanes, 4 if self.place == "lane" else 0
        steps = self.regs.writer.vector("i64", [lane * step for lane in range(lanes)])
        return lambda chunk: steps + chunk * (lanes * step) + base

    def _lds(self) -> PerChunk:
        offset = self._offset()
        if self.place:
            return self._by_lane(offset + (self.regs.special("m0", "i32") & 0xFFFF).zext("i64"))
        # 32-bit arithmetic: the register may hold a negative distance.
        return lambda chunk: (self._vector32(0, chunk) + offset) & 0xFFFFFFFF

    def _global(self) -> PerChunk:
        w, (vaddr, saddr) = self.regs.writer, self.inst.src[:2]
        base = self._offset()
        if saddr.kind == "s":
            base = base + self.regs.scalar(("src", 1), "i64")
        if self.place:
            return self._by_lane(base)
        if vaddr.kind != "v":
            return lambda chunk: base.splat(self.regs.lanes)
        if vaddr.count == 1:
            return lambda chunk: self._vector32(0, chunk) + base
        return lambda chunk: (
            w.combine(self.regs.vector(("src", 0), 0, chunk), self.regs.vector(("src", 0), 1, chunk)) + base
        )

    _flat = _global

    def _scratch(self) -> PerChunk:
        vaddr, saddr = self.inst.src[:2]
        base = self._offset()
        if saddr.kind == "s":
            base = base + self._scalar32(1)
        if vaddr.kind != "v":
            return lambda chunk: (base & 0xFFFFFFFF).splat(self.regs.lanes)
        return lambda chunk: (self._vector32(0, chunk) + base) & 0xFFFFFFFF

    def _buffer(self) -> PerChunk:
        """Linear buffers; a swizzled resource is the scratch of this wave, whose base is 0.

        Lanes beyond the records of a linear one get OUTSIDE: they read 0 and write nothing.
        """
        w, mods, regs, size = self.regs.writer, self.inst.mods, self.regs, self.payload
        assert size is not None
        low, second = w.halves(regs.scalar(("src", 1), "i64"))
        base = w.combine(low, second & 0xFFFF)
        swizzled = (second & (1 << 31)).ne(0)
        soffset, imm = self._scalar32(2), self._offset()
        kind = regs.scalar_part(("src", 1), 3)
        by_lane = (kind & ADD_LANE).ne(0) & ~swizzled
        stride = self._stride(second, kind)
        fixed = swizzled.select(soffset.lshr(6 if regs.wave_size == 64 else 5), soffset + base)
        start = fixed + swizzled.select(w.constant("i64", layout.PRIVATE_APERTURE << 32), 0)
        is_inside = self._range(stride, kind, soffset, size)
        free = swizzled if mods.idxen else swizzled | by_lane

        def make(chunk: Value) -> Value:
            lanes = w.vector("i64", list(range(regs.lanes))) + chunk * regs.lanes
            index, offset = by_lane.select(lanes, 0), imm.splat(regs.lanes)
            if mods.idxen:
                index = index + self._vector32(0, chunk)
            if mods.offen:
                offset = offset + self._vector32(0, chunk, int(mods.idxen))
            # loads to LDS take the immediate offset off the vector one, below 0
            linear = (index * stride + offset) & 0xFFFFFFFF
            inside = (is_inside(index, offset, linear) | free) & size.ne(0)
            if self.cut is not None:
                differ = inside ^ (is_inside(index, offset + self.span, linear + self.span) | free)
                self.cut.set(self.cut.get() | differ.lane_mask().ne(0))
            return inside.select(linear + start, OUTSIDE)

        return make

    def _stride(self, second: Value, kind: Value) -> Value:
        """Bytes from one record to the next."""
        stride = second.lshr(16) & 0x3FFF
        if self.isa in CDNA and "format" not in self.inst.name:  # whose place holds more bits of it then
            stride = stride | (kind & ADD_LANE).ne(0).select(kind.lshr(15).shl(14) & 0x3C000, 0)
        if self.isa == "gfx12":
            stride = stride * (stride.like(0x20080401).lshr(kind.lshr(18).shl(3) & 24) & 0xFF)  # 1, 4, 8 or 32 times
        return stride.zext("i64")

    def _range(self, stride: Value, kind: Value, soffset: Value, size: Value) -> Callable[[Value, Value, Value], Value]:
        """Whether index, offset and linear offset lie within the records, which are bytes or count strides."""
        records = self.regs.scalar_part(("src", 1), 2).zext("i64")
        room = records.compare("ugt", soffset).select(records - soffset, 0)
        if self.isa in CDNA:
            if not self.inst.mods.idxen:
                return lambda index, offset, linear: linear.compare("ult", room)
            counted = stride.ne(0)
            return lambda index, offset, linear: counted.select(
                index.compare("ult", records), linear.compare("ult", room)
            )
        way = kind.lshr(28) & 3
        counted, within_record = way.compare("ult", 2) & stride.ne(0), way.eq(0)

        def test(index: Value, offset: Value, linear: Value) -> Value:
            fits = (offset + size).compare("ule", stride) | ~within_record
            found = counted.select(index.compare("ult", records) & fits, (linear + size).compare("ule", room))
            return way.eq(2).select(records.ne(0), found)

        return test


def scalar_access(inst: Inst, regs: Registers, access: Access) -> tuple[Value, Value]:
    """Where scalar memory goes, and how many bytes it moves there: a buffer ends with its records."""
    w, (base, soffset) = regs.writer, inst.src[:2]
    offset, unit = regs.immediate(0), access.stride or 1
    if soffset.kind != "off":
        offset = offset + uniform(regs, ("src", 1), soffset, "i32", "b32").zext("i64") * unit
    start, whole = regs.scalar(("src", 0), "i64"), w.constant("i64", access.bits // 8 * access.count)
    aligned = ~(min(access.bits // 8, 4) - 1)
    if base.count == 2:
        return (start + offset) & aligned, whole
    stride, records = start.lshr(48) & 0x3FFF, regs.scalar_part(("src", 0), 2).zext("i64")
    limit = stride.eq(0).select(records, records * stride)
    left = limit.compare("ugt", offset).select(limit - offset, 0)
    if access.op in ("load", "store") and access.bits == 32:
        size = w.intrinsic("umin", (left + 3) & ~3, whole)
    else:
        size = left.compare("uge", whole).select(whole, 0)
    return ((start & 0xFFFFFFFFFFFF) + offset) & aligned, size
