"""Operand fetch and write-back, once for every instruction, both tiers, every target."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from attrs import define

from rocmkern.emulator.ir import WIDTH, Value, Writer
from rocmkern.emulator.isa.model import NULL, Inst, Operand, float_bits
from rocmkern.emulator.lanes import Movement
from rocmkern.emulator.layout import PRIVATE_APERTURE, SHARED_APERTURE, WAVE_MODE
from rocmkern.emulator.meaning.api import ELEMENT, IMPLICIT, Context, Row, row_of
from rocmkern.emulator.meaning.rounding import carry_out, depends_on_mode
from rocmkern.emulator.mode import Mode
from rocmkern.emulator.registers import Place, Registers
from rocmkern.emulator.wave import field

Read = Callable[[Value], Value]
Fetch = Callable[[Value], "Value | tuple[Value, ...]"]

SCC_CODE, EXECZ_CODE, VCCZ_CODE = 253, 252, 251
APERTURES: Final = {235: SHARED_APERTURE, 236: SHARED_APERTURE, 237: PRIVATE_APERTURE, 238: PRIVATE_APERTURE}
SPECIALS: Final = frozenset({SCC_CODE, EXECZ_CODE, VCCZ_CODE, *APERTURES})
CONSTANTS: Final = frozenset({"int", "float", "literal"})

# 16-bit results clear the other half on gfx9, except these; from gfx10 on every one keeps it.
KEEPS_HALF: Final = frozenset(
    [
        "v_mad_f16",
        "v_mad_u16",
        "v_mad_i16",
        "v_fma_f16",
        "v_fmac_f16",
        "v_mac_f16",
        "v_madak_f16",
        "v_madmk_f16",
        "v_fmaak_f16",
        "v_fmamk_f16",
        "v_div_fixup_f16",
        "v_fma_mixlo_f16",
        "v_fma_mixhi_f16",
        "v_cvt_pk_fp8_f32",
        "v_cvt_pk_bf8_f32",
    ]
)
CLEARING_ISAS: Final = frozenset({"gfx90a", "gfx940", "gfx950"})


def constant_bits(operand: Operand, type_name: str) -> int:
    """The bits of a constant operand as a source of type `type_name`."""
    width = WIDTH[ELEMENT.get(type_name.removeprefix("2x"), "i32")]
    if type_name.startswith("2x"):
        width = 16 if operand.kind == "float" else 32
    if operand.kind == "float":
        return float_bits(operand.value, max(width, 16))
    if operand.kind == "literal" and width == 64:
        if type_name == "f64":
            return operand.value << 32
        if type_name == "i64" and operand.value >> 31:
            return operand.value | 0xFFFFFFFF << 32
        return operand.value
    return operand.value & ((1 << max(width, 32)) - 1)


def mask_lanes(mask: Value, chunk: Value, lanes: int) -> Value:
    """The part of an i64 lane mask that belongs to a chunk, as i1 lanes."""
    part = mask if chunk.constant == 0 else mask.lshr(chunk * lanes)
    return part.resize(f"i{lanes}").bits("i1") if lanes != 64 else mask.bits("i1")


def mask_bits(lanes_value: Value, chunk: Value) -> Value:
    """The i1 lanes of a chunk as bits of an i64 lane mask."""
    count, bits = lanes_value.lanes, lanes_value.lane_mask()
    bits = bits.resize("i64") if count != 64 else bits
    return bits if chunk.constant == 0 else bits.shl(chunk * count)


@define
class Operands:
    """Fetches the sources of one vector instruction and writes its results."""

    row: Row
    inst: Inst
    regs: Registers
    isa: str
    first_source: int = 0  # where this instruction's operands are among those that `regs` knows
    first_destination: int = 0
    mode: Mode | None = None

    @property
    def writer(self) -> Writer:
        return self.regs.writer

    # Sources.

    def fetchers(self, half: int = 0) -> list[Fetch]:
        """One function of the chunk number per source; what is uniform is read now. `half` is that of packed rows."""
        fetchers: list[Fetch] = []
        position = 0
        for token in self.row.sources:
            if token in IMPLICIT:
                fetchers.append(self._implicit(token))
            elif token.startswith("^"):
                fetchers.append(self._typed(token[1:], ("dst", self.first_destination), self.inst.dst[0], None, half))
            else:
                place = ("src", self.first_source + position)
                fetchers.append(self._typed(token, place, self.inst.src[position], position, half))
                position += 1
        return fetchers

    def _implicit(self, token: str) -> Fetch:
        value = implicit(self.regs, token)
        return lambda chunk: self.regs.lanes_of(value, chunk) if token == "vcc" else value

    def _typed(self, token: str, place: Place, operand: Operand, number: int | None, half: int) -> Fetch:
        if token == "m":
            mask = self.uniform(place, operand, "i64" if self.regs.wave_size == 64 else "i32", token).resize("i64")
            return lambda chunk: self.regs.lanes_of(mask, chunk)
        if token[0] == "r" and token[1:].isdigit():
            parts = [self._raw(place, operand, "b32", i) for i in range(int(token[1:]))]
            return lambda chunk: tuple(part(chunk) for part in parts)
        if token.startswith("2x"):
            halves = [self._half(token[2:], place, operand, number, h, halved=True) for h in (0, 1)]
            return lambda chunk: (halves[0](chunk), halves[1](chunk))
        if self.row.packed:
            return self._half(token, place, operand, number, half, halved=WIDTH[ELEMENT[token]] == 16)
        if token == "mix":
            return self._mix(place, operand, number or 0)
        return self._plain(token, place, operand, number)

    def _bit(self, mask: int, number: int | None) -> bool:
        return number is not None and bool(mask >> number & 1)

    def _plain(self, token: str, place: Place, operand: Operand, number: int | None) -> Fetch:
        mods = self.inst.mods
        raw = self._raw(place, operand, token)
        width = WIDTH[ELEMENT[token]]
        high = width == 16 and mods.sdwa is None and self._bit(mods.op_sel, number) and operand.kind not in CONSTANTS
        high = high or operand.kind == "vh"

        def fetch(chunk: Value) -> Value:
            value = raw(chunk)
            if mods.sdwa is not None and number is not None and number < 2:
                sext = bool(mods.sdwa.sext >> number & 1)
                value = select_bytes(value, mods.sdwa.src_sel[number], sext)
            if width == 16:
                value = (value.lshr(16) if high else value).resize("i16")
            if not has_sign(token):
                return value.bits(ELEMENT[token])
            return self._signs(value, self._bit(mods.abs, number), self._bit(mods.neg, number)).bits(ELEMENT[token])

        return fetch

    def scalar_value(self, value: Value, token: str, number: int) -> Value:
        """A scalar source as its type, with the modifiers that a VOP3 encoding may give it."""
        mods, element = self.inst.mods, ELEMENT[token]
        value = value.resize(f"i{WIDTH[element]}")
        if has_sign(token):
            value = self._signs(value, self._bit(mods.abs, number), self._bit(mods.neg, number))
        return value.bits(element)

    def _half(self, token: str, place: Place, operand: Operand, number: int | None, half: int, halved: bool) -> Read:
        """One half of a packed operand: 16 bits of a register (`halved`), or one register of a pair."""
        mods = self.inst.mods
        second = self._bit(mods.op_sel_hi if half else mods.op_sel, number) if number is not None else bool(half)
        negate = has_sign(token) and self._bit(mods.neg_hi if half else mods.neg, number)
        if not halved:
            raw = self._raw(place, operand, token, int(second) if operand.kind in ("v", "a", "s") else 0)
            return lambda chunk: self._signs(raw(chunk), False, negate).bits(ELEMENT[token])
        raw = self._raw(place, operand, "2x" + token)

        def fetch(chunk: Value) -> Value:
            value = raw(chunk)
            value = (value.lshr(16) if second else value).resize("i16")
            return self._signs(value, False, negate).bits(ELEMENT[token])

        return fetch

    def _mix(self, place: Place, operand: Operand, number: int) -> Fetch:
        mods = self.inst.mods
        is_half = self._bit(mods.op_sel_hi, number)
        raw = self._raw(place, operand, "f16" if is_half else "f32")
        high, absolute, negate = (self._bit(m, number) for m in (mods.op_sel, mods.abs, mods.neg))

        def fetch(chunk: Value) -> Value:
            value = raw(chunk)
            if is_half:
                value = (value.lshr(16) if high else value).resize("i16").bits("half")
                value = (self.mode.taken(value) if self.mode else value).cast("fpext", "float").as_int()
            return self._signs(value, absolute, negate).bits("float")

        return fetch

    def _signs(self, value: Value, absolute: bool, negate: bool) -> Value:
        sign = 1 << (value.width - 1)
        if absolute:
            value = value & (sign - 1)
        return value ^ sign if negate else value

    def _raw(self, place: Place, operand: Operand, token: str, first: int = 0) -> Read:
        """The operand's bits as i32 lanes (i64 for 64-bit types); scalars come without lanes."""
        wide = WIDTH[ELEMENT.get(token.removeprefix("2x"), "i32")] == 64
        if operand.kind in ("v", "a", "vl", "vh"):
            return self._vector(place, first, wide)
        if operand.kind == "s" and first:
            pair = self.regs.scalar(place, "i64")
            scalar = pair.lshr(32).trunc("i32")
        else:
            scalar = self.uniform(place, operand, "i64" if wide else "i32", token)
        return lambda chunk: scalar.splat(self.regs.lanes)

    def _vector(self, place: Place, first: int, wide: bool) -> Read:
        regs = self.regs
        movement = self.movement if place == ("src", 0) else None
        if movement is not None:
            moved = [movement.fetcher(regs, place, first + i) for i in range(1 + wide)]
        else:
            moved = [partial(regs.vector, place, first + i) for i in range(1 + wide)]
        if not wide:
            return moved[0]
        return lambda chunk: self.writer.combine(moved[0](chunk), moved[1](chunk))

    def uniform(self, place: Place, operand: Operand, element: str, token: str) -> Value:
        return uniform(self.regs, place, operand, element, token)

    # Lane movement.

    @property
    def movement(self) -> Movement | None:
        dpp = self.inst.mods.dpp
        return Movement.of(dpp, self.regs.wave_size) if dpp is not None else None

    def write_mask(self) -> Value | None:
        """Lanes that are written: EXEC, less the lanes that DPP leaves alone; None for all."""
        mask, movement = self.regs.exec_mask(), self.movement
        return mask if movement is None else movement.narrow(self.regs, mask)

    # Results.

    def write(
        self, number: int, token: str, value: Value | tuple[Value, ...], chunk: Value, mask: Value | None
    ) -> None:
        """Write vector result `number` of one chunk."""
        place, operand = ("dst", self.first_destination + number), self.inst.dst[number]
        if isinstance(value, tuple):
            for i, part in enumerate(value):
                self.regs.write_vector(place, i, chunk, part.as_int(), mask)
            return
        value = self.scaled(value, number)
        if value.width == 64:
            low, high = self.writer.halves(value.as_int())
            self.regs.write_vector(place, 0, chunk, low, mask)
            self.regs.write_vector(place, 1, chunk, high, mask)
            return
        value = value.as_int()
        if self.inst.mods.sdwa is not None:
            value = self._place_bytes(value.resize("i32"), place, chunk)
        elif value.width == 16:
            value = self._place_half(value.zext("i32"), place, operand, chunk)
        self.regs.write_vector(place, 0, chunk, value.resize("i32"), mask)

    def pack(self, low: Value, high: Value) -> Value | tuple[Value, ...]:
        """The two results of a packed row as one value."""
        low, high = self.scaled(low, 0), self.scaled(high, 0)
        if low.width == 32:
            return low, high
        return low.as_int().zext("i32") | high.as_int().zext("i32").shl(16)

    def scaled(self, value: Value, number: int) -> Value:
        """Output modifier and clamp of a floating-point result."""
        if not value.is_float or number or self.row.destinations[0] not in ("f16", "f32", "f64"):
            return value
        factor, mode = {0: None, 1: 2.0, 2: 4.0, 3: 0.5}[self.inst.mods.omod], self.mode
        if factor is not None:
            multiplied = value * factor
            value = mode.modifies_output(value.element).select(multiplied, value) if mode else multiplied
        if mode:
            value = mode.given(value)
        if self.inst.mods.clamp:
            clamped = value.compare("ogt", 0.0).select(value, 0.0)
            clamped = clamped.compare("olt", 1.0).select(clamped, 1.0)
            value = (value.is_nan() & ~mode.clamps_nan).select(value, clamped) if mode else clamped
        return value

    def _place_half(self, value: Value, place: Place, operand: Operand, chunk: Value) -> Value:
        high = self.inst.mods.op_sel >> 3 & 1 or operand.kind == "vh" or self.inst.name.endswith("_mixhi_f16")
        clears = self.isa in CLEARING_ISAS and self.inst.name not in KEEPS_HALF
        if clears and not high:
            return value
        old = self.regs.vector(place, 0, chunk)
        return (old & 0xFFFF) | value.shl(16) if high else (old & 0xFFFF0000) | value

    def _place_bytes(self, value: Value, place: Place, chunk: Value) -> Value:
        """SDWA destination: a byte or word of the register."""
        sdwa = self.inst.mods.sdwa
        assert sdwa is not None
        if sdwa.dst_sel == 6:
            return value
        bits, shift = (8, 8 * sdwa.dst_sel) if sdwa.dst_sel < 4 else (16, 16 * (sdwa.dst_sel - 4))
        keep = (1 << bits) - 1
        if sdwa.dst_unused == 1:
            return value.shl(32 - bits).ashr(32 - bits - shift) if shift + bits < 32 else value.shl(shift)
        placed = (value & keep).shl(shift)
        if sdwa.dst_unused == 2:
            return placed | (self.regs.vector(place, 0, chunk) & (0xFFFFFFFF ^ keep << shift))
        return placed


def uniform(regs: Registers, place: Place, operand: Operand, element: str, token: str) -> Value:
    """A scalar or constant source."""
    if operand.kind in CONSTANTS:
        return regs.constant(place, element, constant_bits(operand, token))
    return _special(regs, operand.value, element) if operand.kind == "special" else regs.scalar(place, element)


def _special(regs: Registers, code: int, element: str) -> Value:
    wave = "i64" if regs.wave_size == 64 else "i32"
    if code == SCC_CODE:
        return regs.special("scc", "i1").zext(element)
    if code in (EXECZ_CODE, VCCZ_CODE):
        return regs.special("exec" if code == EXECZ_CODE else "vcc", wave).eq(0).zext(element)
    aperture = APERTURES[code]
    return regs.writer.constant(element, aperture << 32 if element == "i64" else aperture)


def is_null(operand: Operand) -> bool:
    """Whether it is the scalar register that reads as 0 and keeps nothing."""
    return operand.kind == "s" and operand.value == NULL


def has_sign(token: str) -> bool:
    """Whether neg and abs act on sources of a type: on integers they mean other things or nothing."""
    return token[0] in "fb"


def select_bytes(value: Value, selector: int, sext: bool) -> Value:
    """SDWA source: byte 0..3, word 4..5 or all (6) of a register."""
    if selector == 6:
        return value
    bits, shift = (8, 8 * selector) if selector < 4 else (16, 16 * (selector - 4))
    moved = value.shl(32 - bits - shift)
    return moved.ashr(32 - bits) if sext else moved.lshr(32 - bits)


def implicit(regs: Registers, token: str) -> Value:
    """A register that is no operand."""
    if token == "pc":
        return regs.next_pc()
    if token == "wave":
        return regs.writer.constant("i64", -1 if regs.wave_size == 64 else 0xFFFFFFFF)
    if token in ("exec", "vcc") and regs.wave_size == 32:
        return regs.special(token, "i32").zext("i64")
    return regs.special(token.removesuffix("_lo"), ELEMENT[token])


def write_implicit(regs: Registers, token: str, value: Value) -> None:
    if token in ("exec", "vcc") and regs.wave_size == 32:
        value = value.trunc("i32")
    regs.write_special(token.removesuffix("_lo"), value)


def _index(regs: Registers, chunk: Value) -> Value:
    steps = regs.writer.vector("i32", list(range(regs.lanes)))
    return steps if chunk.constant == 0 else steps + (chunk * regs.lanes).trunc("i32")


def _active(regs: Registers, chunk: Value) -> Value:
    mask = regs.exec_mask()
    if mask is None:
        return regs.writer.constant("i1", 1, regs.lanes)
    return regs.lanes_of(mask, chunk)


def _mode(regs: Registers, inst: Inst, isa: str) -> Mode | None:
    if not inst.mods.by_mode:
        return None
    return Mode(regs.writer.load(field(regs.writer, WAVE_MODE), "i32", 0, 4), isa)


def emit_vector(row: Row, inst: Inst, regs: Registers, isa: str) -> None:
    """Emit a `valu` or `lanes` row."""
    mode = _mode(regs, inst, isa)
    ops, w = Operands(row, inst, regs, isa, mode=mode), regs.writer
    assert row.emit is not None
    emit = row.integer_clamp if inst.mods.clamp and row.integer_clamp else row.emit
    mask = ops.write_mask()
    halves = [ops.fetchers(half) for half in ((0, 1) if row.packed else (0,))]
    bits = {i: w.variable(w.constant("i64", 0)) for i, t in enumerate(row.destinations) if t in ("m", "mx")}
    for chunk in regs.chunks():
        written = regs.lanes_of(mask, chunk) if mask is not None else None
        context = Context(
            w, regs.lanes, regs.wave_size, isa, partial(_index, regs, chunk), partial(_active, regs, chunk), inst.imm,
            inst.mods, mode,
        )  # fmt: skip
        outcomes = [carry_out(row, emit, context, [fetch(chunk) for fetch in fetchers]) for fetchers in halves]
        if row.packed:
            low, high = outcomes
            assert isinstance(low, Value) and isinstance(high, Value)
            ops.write(0, "packed", ops.pack(low, high), chunk, written)
            continue
        (outcome,) = outcomes
        assert outcome is not None
        results = outcome if isinstance(outcome, tuple) and len(row.destinations) > 1 else (outcome,)
        for i, (token, value) in enumerate(zip(row.destinations, results, strict=True)):
            if i in bits:
                assert isinstance(value, Value)
                bits[i].set(bits[i].get() | mask_bits(value, chunk))
            else:
                ops.write(i, token, value, chunk, written)
    for i, variable in bits.items():
        found = variable.get() if mask is None else variable.get() & mask
        _write_mask(regs, inst, i, row.destinations[i], found)


def emit_dual(inst: Inst, regs: Registers, isa: str) -> None:
    """Emit the two instructions of a VOPD pair: both read before either writes."""
    first, second = inst.parts
    mode, both = _mode(regs, inst, isa), []
    for part, sources, destinations in ((first, 0, 0), (second, len(first.src), len(first.dst))):
        row = row_of(isa, part.name)
        assert row is not None, part.name
        of_part = mode if depends_on_mode(row) else None
        both.append(Operands(row, part, regs, isa, sources, destinations, of_part))
    fetchers = [ops.fetchers() for ops in both]
    mask = regs.exec_mask()
    for chunk in regs.chunks():
        written = regs.lanes_of(mask, chunk) if mask is not None else None
        values = []
        for ops, fetches in zip(both, fetchers, strict=True):
            context = Context(
                regs.writer, regs.lanes, regs.wave_size, isa, partial(_index, regs, chunk),
                partial(_active, regs, chunk), mode=ops.mode,
            )  # fmt: skip
            assert ops.row.emit is not None
            values.append(carry_out(ops.row, ops.row.emit, context, [fetch(chunk) for fetch in fetches]))
        for ops, value in zip(both, values, strict=True):
            assert value is not None
            ops.write(0, ops.row.destinations[0], value, chunk, written)


def _write_mask(regs: Registers, inst: Inst, number: int, token: str, value: Value) -> None:
    if regs.wave_size == 32:
        value = value.trunc("i32")
    if number < len(inst.dst):
        regs.write_scalar(("dst", number), value)
    if token == "mx":
        regs.write_special("exec", value)


def emit_scalar(row: Row, inst: Inst, regs: Registers, isa: str) -> Value | None:
    """Emit a `salu` row; returns the address to go to where it writes the pc."""
    mode = _mode(regs, inst, isa)
    ops = Operands(row, inst, regs, isa, mode=mode)
    context, position = Context(regs.writer, 0, regs.wave_size, isa, mods=inst.mods, mode=mode), 0
    values = list[Value | tuple[Value, ...]]()
    for token in row.sources:
        if token in IMPLICIT:
            values.append(implicit(regs, token))
        elif token.startswith("^"):
            values.append(regs.scalar(("dst", 0), ELEMENT[token[1:]]))
        else:
            element = ELEMENT[token]
            integer = f"i{max(WIDTH[element], 32)}"
            value = ops.uniform(("src", position), inst.src[position], integer, token)
            values.append(ops.scalar_value(value, token, position))
            position += 1
    assert row.emit is not None
    outcome = carry_out(row, row.emit, context, values)
    results = outcome if isinstance(outcome, tuple) else (outcome,)
    jump, position = None, 0
    for token, result in zip(row.destinations, results, strict=True):
        assert result is not None
        if token == "pc":
            jump = result
        elif token in IMPLICIT:
            write_implicit(regs, token, result)
        else:
            value = ops.scaled(result, position).as_int()
            regs.write_scalar(("dst", position), value.resize("i32") if value.width < 32 else value)
            position += 1
    return jump
