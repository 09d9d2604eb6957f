"""Matrix instructions: MFMA and SMFMAC of CDNA, WMMA and SWMMAC of RDNA3 and RDNA4. EXEC is ignored, as on hardware.

D = A·B + C. A and B are unpacked into tables of the type that is summed; then, for some of D's rows at a time, one loop
over k adds the products in ascending order, with one rounding per step (integers wrap, or saturate at the end with
clamp; the f8f6f4 forms sum in f64 and round once). An xf32 loses the 13 low bits of its mantissa.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import define, field

from rocmkern.emulator.ir import WIDTH, Value, Writer
from rocmkern.emulator.isa.model import Inst
from rocmkern.emulator.isa.table import ISAS, tables
from rocmkern.emulator.isa.vector import LOAD_SCALE
from rocmkern.emulator.meaning.api import Context, State, state
from rocmkern.emulator.meaning.convert import bfloat_bits, pair
from rocmkern.emulator.meaning.float8 import FORMATS, to_single
from rocmkern.emulator.meaning.matrix_layout import BITS, Fragment, Layout, layout

CHUNK: Final = 16  # lanes of D that are summed together
SUM_BYTES: Final = 64  # per lane of a chunk, of the sums that share a loop over k: as many as have a register
LOW_OF_XF32: Final = 0xFFFFE000
SCALE_BLOCK: Final = 32  # values of k that share a scale


@define
class Product:
    """The emission of one matrix instruction."""

    state: State
    shape: Layout
    element: str = field(init=False)  # type of the sums

    def __attrs_post_init__(self) -> None:
        wide = self.shape.result == "f64" or "f8f6f4" in self.state.inst.name
        self.element = "i32" if self.shape.result == "i32" else "double" if wide else "float"

    @property
    def context(self) -> Context:
        return self.state.context

    @property
    def writer(self) -> Writer:
        return self.context.writer

    @property
    def bytes(self) -> int:
        return WIDTH[self.element] // 8

    def row(self, base: Value, index: int, lanes: int = 0) -> Value:
        """One register of all lanes, or of as many from `base` on."""
        return self.writer.load(self.writer.at(base, index * self.shape.lanes * 4), "i32", lanes or self.shape.lanes)

    # Sources.

    def elements(self, base: Value, which: int, lanes: int) -> Iterator[Value]:
        """What each of `lanes` lanes holds of A or B, whose registers begin at `base`, as the type that is summed."""
        fragment, w = self.fragment(which), self.writer
        bits = BITS[fragment.kind]
        for j in range(fragment.per_lane):
            if bits == 64:
                yield w.combine(self.row(base, 2 * j, lanes), self.row(base, 2 * j + 1, lanes)).bits("double")
                continue
            at = j * bits % 32
            word = self.row(base, j * bits // 32, lanes).lshr(at)
            if at + bits > 32:
                word = word | self.row(base, j * bits // 32 + 1, lanes).shl(32 - at)
            yield self._widened(word, which, j, fragment.kind)

    def fragment(self, which: int) -> Fragment:
        return (self.shape.a, self.shape.b)[which]

    def _widened(self, word: Value, which: int, j: int, kind: str) -> Value:
        """An element in the low bits of `word`."""
        mods, bits = self.state.inst.mods, BITS[kind]
        if self.element == "i32":
            signed = kind == "i8" or bool(mods.neg >> which & 1)
            top = word.shl(32 - bits)
            return top.ashr(32 - bits) if signed else top.lshr(32 - bits)
        if kind in FORMATS:
            single = to_single(self.context, word, kind)
        elif kind == "f16":
            single = word.trunc("i16").bits("half").cast("fpext", "float")
        else:
            single = (word.shl(16) if kind == "bf16" else word & LOW_OF_XF32 if kind == "xf32" else word).bits("float")
        if bits == 16 and (mods.neg_hi if j % 2 else mods.neg) >> which & 1:
            single = -single
        return single.cast("fpext", self.element)

    def scales(self, which: int) -> Value | None:
        """In memory, each lane's scale of A or B: of the E8M0 byte that op_sel and op_sel_hi choose."""
        if "_scale_" not in self.state.inst.name:
            return None
        w, mods, place = self.writer, self.state.inst.mods, 3 + which
        byte = 8 * ((mods.op_sel >> which & 1) | (mods.op_sel_hi >> which & 1) << 1)
        if self.state.inst.src[place].kind in ("v", "a"):
            word = self.row(self.state.rows(place), 0)
        else:
            word = self.state.scalar(place).splat(self.shape.lanes)
        code = word.lshr(byte) & 0xFF
        bits = (code.zext("i64") + (1023 - 127)).shl(52)
        table = w.buffer(self.shape.lanes * 8)
        w.store(code.eq(0xFF).select(bits.like(0x7FF8 << 48), bits), table, 64)
        return table

    def table(self, which: int) -> Value:
        """A or B in memory: the lanes' first elements, their second elements, and so on."""
        shape, w, mods = self.shape, self.writer, self.state.inst.mods
        swizzle = mods.blgp if which and self.element != "double" else 0
        lanes = shape.lanes if swizzle else CHUNK
        table = w.buffer(self.fragment(which).per_lane * shape.lanes * self.bytes)
        scales, base = self.scales(which), self.state.rows(which)
        with w.loop(shape.lanes // lanes) as part:
            for j, value in enumerate(
                self.elements(w.at(base, part * (4 * lanes), 4 * (shape.lanes - lanes)), which, lanes)
            ):
                if scales is not None:
                    value = value * w.load(w.at(scales, self._scale_lane(which, part, j) * 8), "double", lanes)
                if shape.result == "f64" and mods.blgp >> which & 1:
                    value = -value
                if swizzle:
                    value = w.shuffle(value, None, [_swizzled(lane, swizzle) for lane in range(lanes)])
                w.store(value, w.at(table, part * (lanes * self.bytes) + j * shape.lanes * self.bytes), 64)
        return table

    def _scale_lane(self, which: int, part: Value, j: int) -> Value:
        """The lane that holds the scale of element `j` of the lanes from part · 16 on."""
        fragment, size = self.fragment(which), self.shape.size
        group, at = part.lshr(size // CHUNK - 1), part & (size // CHUNK - 1)
        k = (group + j // fragment.chunk * fragment.groups) * fragment.chunk + j % fragment.chunk
        return k.lshr(SCALE_BLOCK.bit_length() - 1) * size + at * CHUNK

    def place_in_table(self, fragment: Fragment, k: Value) -> Value:
        """The first row or column at `k` in the table, in elements."""
        shape, chunk = self.shape, fragment.chunk.bit_length() - 1
        turn = k.lshr(chunk)
        group, which = turn & (fragment.groups - 1), turn.lshr(fragment.groups.bit_length() - 1)
        j = which.shl(chunk) | (k & (fragment.chunk - 1))
        return j * shape.lanes + group * (shape.blocks * shape.size)

    def columns_of_pairs(self) -> Value:
        """For each element that A has, the offset of B's row that it meets, in the order of A's table."""
        shape, w = self.shape, self.writer
        held = shape.a.per_lane
        word, width = self.row(self.state.rows(2), 0), 2 * held
        if width < 32:
            word = word.lshr(self._index_set(32 // width) * width)
        group = w.vector("i32", [lane // shape.size * shape.size for lane in range(shape.lanes)])
        table = w.buffer(held * shape.lanes * 4)
        for j in range(held):
            k = (word.lshr(2 * j) & 3) + 4 * (j // 2)
            w.store((k * shape.lanes + group) * self.bytes, w.at(table, j * shape.lanes * 4), 64)
        return table

    def _index_set(self, sets: int) -> int:
        """Which part of the index register is used."""
        mods = self.state.inst.mods
        if self.shape.lanes == 32:
            return mods.op_sel & (sets - 1)
        return 0 if mods.cbsz else mods.abid & (sets - 1)

    # Sums.

    def addend(self, register: int, chunk: int) -> Value:
        """C's element for sixteen lanes."""
        shape, w, inst = self.shape, self.writer, self.state.inst
        which: int | str = "dst" if shape.sparse else 2
        if not shape.sparse and inst.src[2].kind not in ("v", "a"):
            kind = {"f64": "double", "i32": "i32"}.get(shape.result, "float")
            value = self.state.scalar(2, kind).splat(CHUNK)
        else:
            base = self.state.rows(which)

            def read(index: int) -> Value:
                return w.load(w.at(base, (index * shape.lanes + chunk * CHUNK) * 4), "i32", CHUNK)

            if shape.result == "f64":
                value = w.combine(read(2 * register), read(2 * register + 1)).bits("double")
            elif shape.result in ("f32", "i32"):
                value = read(register).bits("float" if shape.result == "f32" else "i32")
            else:
                packed = self.context.isa != "gfx11"
                word = read(register // 2 if packed else register)
                half = word.lshr(16 * (register % 2 if packed else inst.mods.op_sel >> 2 & 1))
                wide = half.trunc("i16").bits("half").cast("fpext", "float")
                value = wide if shape.result == "f16" else half.shl(16).bits("float")
        if value.is_float:
            value = self.context.intrinsic("fabs", value) if inst.mods.neg_hi & 4 else value
            value = -value if inst.mods.neg & 4 or (shape.result == "f64" and inst.mods.blgp & 4) else value
            value = value.cast("fpext", self.element)
        return value

    def _pick(self, segment: Value, order: list[int]) -> Value:
        """Sixteen lanes of A's or B's row in the table: one element for all, neighbours, or any."""
        w = self.writer
        at = w.at(segment, order[0] * self.bytes)
        if len(set(order)) == 1:
            return w.load(at, self.element, 0, self.bytes).splat(CHUNK)
        if order == list(range(order[0], order[0] + CHUNK)):
            return w.load(at, self.element, CHUNK, self.bytes)
        whole = w.load(segment, self.element, self.shape.blocks * self.shape.size, self.bytes)
        return w.shuffle(whole, None, order)

    def emit(self) -> None:
        """D = A·B + C."""
        shape, w = self.shape, self.writer
        a, b = self.table(0), self.table(1)
        pairs = self.columns_of_pairs() if shape.sparse else None
        chunks = range(shape.lanes // CHUNK)
        step = SUM_BYTES // self.bytes // len(chunks)
        for first in range(0, shape.registers, step):
            registers = range(first, min(first + step, shape.registers))
            sums = {(r, c): w.variable(self._start(r, c)) for r in registers for c in chunks}
            with w.loop(shape.k // (2 if shape.sparse else 1)) as k:
                at = self.place_in_table(shape.a, k)
                row = w.at(a, at * self.bytes)
                column = w.at(b, self.place_in_table(shape.b, k) * self.bytes) if pairs is None else b
                met = None if pairs is None else w.at(pairs, at * 4)
                for (register, chunk), total in sums.items():
                    total.set(self._sum(total.get(), row, column, met, register, chunk))
            for chunk in chunks:
                self._store([self._end(sums[r, chunk].get(), r, chunk) for r in registers], first, chunk)

    def _start(self, register: int, chunk: int) -> Value:
        if self.element == "i32":
            return self.writer.constant("i32", 0, CHUNK)
        return self.addend(register, chunk)

    def _sum(self, total: Value, row: Value, column: Value, met: Value | None, register: int, chunk: int) -> Value:
        """One product more. `met`: where A's elements at this k say which of B's rows they meet."""
        shape, mods, w = self.shape, self.state.inst.mods, self.writer
        places = [shape.place(register, chunk * CHUNK + i) for i in range(CHUNK)]
        broadcast = 0 if shape.sparse or self.element == "double" else mods.cbsz
        x = self._pick(row, [(_block(b, broadcast, mods.abid) * shape.size + r) for b, r, _ in places])
        if met is not None:
            column = w.at(column, w.load(w.at(met, 4 * places[0][1]), "i32", 0, 4).zext("i64"))
        y = self._pick(column, [b * shape.size + c for b, _, c in places])
        return self.context.fma(x, y, total) if total.is_float else total + x * y

    def _end(self, total: Value, register: int, chunk: int) -> Value:
        if self.element != "i32":
            return total if self.shape.result == "f64" else total.cast("fptrunc", "float")
        addend = self.addend(register, chunk)
        return self.context.intrinsic("sadd.sat", addend, total) if self.state.inst.mods.clamp else addend + total

    def _store(self, values: list[Value], first: int, chunk: int) -> None:
        """D's registers from `first` on, of sixteen lanes."""
        shape, w, base = self.shape, self.writer, self.state.rows("dst")

        def spot(index: int) -> Value:
            return w.at(base, (index * shape.lanes + chunk * CHUNK) * 4)

        if shape.result == "f64":
            words = [half for value in values for half in w.halves(value.as_int())]
            first *= 2
        elif shape.result in ("f32", "i32"):
            words = [value.bits("i32") for value in values]
        else:
            narrow = [bfloat_bits(v) if shape.result == "bf16" else v.cast("fptrunc", "half") for v in values]
            if self.context.isa == "gfx11":
                high = self.state.inst.mods.op_sel >> 2 & 1
                old = [
                    w.load(spot(first + i), "i32", CHUNK).lshr(16 - 16 * high).trunc("i16") for i in range(len(values))
                ]
                words = [pair(o, v) if high else pair(v, o) for o, v in zip(old, narrow, strict=True)]
            else:
                words = [pair(narrow[i], narrow[i + 1]) for i in range(0, len(narrow), 2)]
                first //= 2
        for i, word in enumerate(words):
            w.store(word, spot(first + i), 4)


def _block(block: int, broadcast: int, chosen: int) -> int:
    """CBSZ and ABID: of 2**broadcast neighbouring blocks of A all use one."""
    return block >> broadcast << broadcast | chosen if broadcast else block


def _swizzled(lane: int, pattern: int) -> int:
    """BLGP: the lane that a lane of B is taken from."""
    if pattern in (1, 2):
        return lane % 32 + 32 * (pattern - 1)
    if pattern == 3:
        return (lane + 16) % 64
    return lane % 16 + 16 * (pattern - 4)


def _emit(s: State) -> None:
    """D = A·B + C."""
    Product(s, layout(s.inst, s.context.isa)).emit()


def _fault(inst: Inst, isa: str, wave_size: int) -> str:
    shape, broadcast, chosen = layout(inst, isa), inst.mods.cbsz, inst.mods.abid
    if shape.lanes != wave_size:
        return f"needs waves of {shape.lanes} lanes, not {wave_size}"
    is_cast = broadcast and not (shape.sparse or shape.result == "f64" or "f8f6f4" in inst.name)
    if is_cast and (1 << broadcast > shape.blocks or chosen >> broadcast):
        return f"(cbsz {broadcast}, abid {chosen}) broadcasts a block that is none of {shape.blocks}"
    return ""


def _names(isa: str, prefix: tuple[str, ...]) -> list[str]:
    return sorted({row.name for row in tables(isa)["VOP3P"] if row is not None and row.name.startswith(prefix)})


_NAMES: Final = dict.fromkeys(
    name for isa in ISAS for name in _names(isa, ("v_mfma_", "v_smfmac_", "v_wmma_", "v_swmmac_")) if name != LOAD_SCALE
)
_F64: Final = " ".join(name for name in _NAMES if name.startswith("v_mfma_f64"))
state(_F64, "= b64 b64 f64", fault=_fault)(_emit)
state(" ".join(name for name in _NAMES if name not in _F64.split()), fault=_fault)(_emit)
