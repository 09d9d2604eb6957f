"""How the meaning of an instruction is said: one row per instruction.

A row is a name, a signature and a function that emits LLVM IR for typed values (`rocmkern.emulator.ir.Value`).
Operand fetch is done before the function runs (literals, inline constants, neg, abs, DPP, SDWA, op_sel, packed
halves) and write-back after it (clamp, omod, op_sel and SDWA of the destination, EXEC), once for all rows, both
tiers, every target and both wave sizes. So a row says only what the instruction computes:

    @valu("v_lshl_add_u32", "u32 = u32 u32 u32")
    def shift_left_add(c: Context, a: Value, b: Value, d: Value) -> Value:
        return a.shl(b) + d

The signature is `destinations = sources`, in the order of `Inst.dst` and `Inst.src`, by type:
    f16 f32 f64, bf16 (as i16)     u16 u32 u64 i16 i32 i64 b16 b32 b64 (u, i and b differ in how a literal is extended)
    m      one bit per lane (i1): a scalar register pair (wave64) or register (wave32)
    mx     as destination: like m, and written to EXEC too (v_cmpx)
    mix    f32, or f16 extended to it, as op_sel_hi says (v_fma_mix)
    2xT    both halves of a packed register as a tuple (v_dot2_f32_f16: "f32 = 2xf16 2xf16 f32")
    r1 r2 … r32 (lanes rows) that many 32-bit registers, a tuple of i32 vectors; a scalar source is broadcast
Implicit registers, which are not among the decoded operands:
    ^T     as a source: the destination's old value read as type T (v_fmac_f32: "f32 = f32 f32 ^f32")
    scc (i1), exec vcc (i64; vcc in a lane-wise row: one bit per lane), exec_lo vcc_lo m0 (i32), pc (i64: as source the
    next instruction's address, as destination a jump), wave (i64: all lanes of this wave size)

Units:
    valu   lane-wise; the values hold `c.lanes` lanes of the wave (a part of it)
    lanes  across lanes; the values hold all `c.wave_size` lanes; `c.exec_bits` is EXEC as a vector of i1
    salu   scalar
    state  out of line on the wave's registers in memory, by pointer: readlane, MFMA; `emit(state)` gets a `State`
    branch, nop, wait, sleep, end, barrier: `control.py`; memory: one `Access` per name in `memory.py`
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, Protocol, TypeVar

from attrs import field, frozen

from rocmkern.emulator.ir import Value, Writer
from rocmkern.emulator.isa.model import PLAIN, Inst, Mods
from rocmkern.emulator.mode import Mode
from rocmkern.locks import lazy

Unit = Literal[
    "valu", "lanes", "salu", "nop", "wait", "sleep", "end", "barrier", "branch", "memory", "state", "count",
    "untranslated", "dual",
]  # fmt: skip

ELEMENT: Final[dict[str, str]] = {
    "f16": "half", "bf16": "i16", "u16": "i16", "i16": "i16", "b16": "i16", "f32": "float", "u32": "i32", "i32": "i32",
    "b32": "i32", "f64": "double", "u64": "i64", "i64": "i64", "b64": "i64", "m": "i1", "scc": "i1", "exec": "i64",
    "mx": "i1", "mix": "float", "vcc": "i64", "exec_lo": "i32", "vcc_lo": "i32", "m0": "i32", "pc": "i64",
    "wave": "i64",
}  # fmt: skip
IMPLICIT: Final = frozenset({"scc", "exec", "vcc", "exec_lo", "vcc_lo", "m0", "pc", "wave"})


NEVER_INLINED: Final = frozenset({"two_over_pi"})
ROUNDED_LAST: Final = frozenset({"ldexp_f32", "ldexp_f64"})  # support functions that are exact up to their last step


@frozen
class Context:
    """What a row may ask besides its operands."""

    writer: Writer
    lanes: int  # lanes of a vector value; 0 for a scalar instruction
    wave_size: int
    isa: str
    _lane_index: Callable[[], Value] | None = None
    _exec_bits: Callable[[], Value] | None = None
    immediate: int = 0  # v_bitop3's table
    mods: Mods = PLAIN  # for the few whose meaning a modifier changes; the engine applies the usual ones
    mode: Mode | None = None  # where the instruction asks MODE; None: the usual one

    @property
    def lane_index(self) -> Value:
        """valu, lanes: the number of each lane in the wave, i32."""
        assert self._lane_index is not None, "a scalar instruction has no lanes"
        return self._lane_index()

    @property
    def exec_bits(self) -> Value:
        """valu, lanes: i1 per lane."""
        assert self._exec_bits is not None, "a scalar instruction has no lanes"
        return self._exec_bits()

    def anywhere(self, condition: Value) -> Value:
        """valu, lanes: whether an i1 holds in some active lane, as a scalar."""
        return (condition.lane_mask() & self.exec_bits.lane_mask()).ne(0)

    def constant(self, element: str, number: int | float) -> Value:
        return self.writer.constant(element, number, self.lanes)

    def intrinsic(self, name: str, *args: Value, extra: str = "") -> Value:
        return self.writer.intrinsic(name, *args, extra=extra)

    def support(self, name: str, element: str, *args: Value) -> Value:
        """Call the function registered by `@support(name, …)`: long expansions live there, compiled once."""
        if (self.writer.inlines and name not in NEVER_INLINED) or (self.writer.rounding and name in ROUNDED_LAST):
            lanes = max(a.lanes for a in args)
            value = SUPPORT[name][1](self, *(a.splat(lanes) for a in args))
            assert isinstance(value, Value)
            return value
        return self.writer.support(name, element, *args)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        return self.intrinsic("fma", a, b, c)

    def umin(self, a: Value, b: Value) -> Value:
        return self.intrinsic("umin", a, b)

    def umax(self, a: Value, b: Value) -> Value:
        return self.intrinsic("umax", a, b)

    def smin(self, a: Value, b: Value) -> Value:
        return self.intrinsic("smin", a, b)

    def smax(self, a: Value, b: Value) -> Value:
        return self.intrinsic("smax", a, b)


class State(Protocol):
    """The wave's registers in memory, for `state` rows. `which` counts sources; "dst" is the first destination."""

    context: Context
    inst: Inst

    def scalar(self, which: int, element: str = "i32") -> Value:
        """A scalar or constant source, or the given lane-less value of M0 and the like."""
        ...

    def rows(self, which: int | str) -> Value:
        """Pointer to a vector operand: per register `wave_size` i32, one register after the other."""
        ...

    def indexed(self, which: int | str) -> Value:
        """Pointer to scalar registers, M0 added to the operand's number."""
        ...

    def offset(self) -> Value:
        """`Inst.imm` as i64."""
        ...

    def exec_mask(self) -> Value:
        """EXEC as i64."""
        ...

    def write_scalar(self, value: Value) -> None:
        """Write the scalar destination."""
        ...

    def write_scc(self, value: Value) -> None:
        """Write an i1."""
        ...

    def mode(self) -> Value:
        """Pointer to the wave's MODE, i32."""
        ...

    def signals(self) -> Value:
        """Pointer to the i64 that counts the workgroup's waves that have signalled its barrier."""
        ...


@frozen
class Access:
    """What a memory instruction moves per lane. The encoding gives the address, `Inst.dst` whether a value returns."""

    op: str  # "load", "store", or an LLVM atomicrmw operation (add umax fadd xchg uinc_wrap …), "cmpxchg", "custom"
    bits: int = 32  # of one element in memory
    count: int = 1  # elements, each into its own register; 64-bit atomics have bits=64
    extend: Literal["zext", "sext"] = "zext"  # of 8- and 16-bit loads
    half: Literal["", "low", "high"] = ""  # d16 forms: the half of the register that is read or written
    element: str = ""  # type of an atomic where not an integer
    stride: int = 0  # bytes per unit of `imm` and `imm1` (two-address LDS forms) or of the scalar offset (scratch)
    operands: int = 1  # of a "custom" atomic, besides the old value
    typed: Literal["", "full", "d16"] = ""  # `count` components of a typed buffer's element, in registers or halves
    place: Literal["", "lane", "wave"] = ""  # without a vector address: a dword per lane, or one for the wave
    transpose: tuple[int, int] | None = None  # bits of the elements that lanes exchange, and lanes that do it together
    block: bool = False  # 32 registers, those that M0 has a bit for


Result = Value | tuple[Value, ...]
Emit = Callable[..., Result | None]
Fault = Callable[[Inst, str, int], str]  # why an instruction of a target and wave size can't run; "" where it can
E = TypeVar("E", bound=Emit)


@frozen(slots=False)
class Row:
    """The meaning of one instruction."""

    name: str
    unit: Unit
    destinations: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    emit: Emit | None = None
    packed: bool = False  # VOP3P: `emit` computes one half; the engine selects the halves by op_sel
    integer_clamp: Emit | None = None  # the saturating form that the clamp bit selects for an integer result
    isas: tuple[str, ...] = field(factory=tuple)
    access: Access | None = None
    fault: Fault | None = None

    @lazy
    def explicit(self) -> tuple[str, ...]:
        """Types of the sources that are operands, in order."""
        return tuple(t for t in self.sources if t not in IMPLICIT and not t.startswith("^"))

    @property
    def rounds(self) -> bool:
        """Whether MODE says how the result is rounded."""
        return self.emit in ROUNDING

    @property
    def doc(self) -> str:
        return (self.emit.__doc__ or "").strip() if self.emit else ""


ROWS: Final[dict[str, Row]] = {}
OVERRIDES: Final[dict[tuple[str, str], Row]] = {}  # (isa, name) → row
SUPPORT: Final[dict[str, tuple[str, Emit]]] = {}
ROUNDING: Final[set[Emit]] = set()


def register(row: Row) -> None:
    """Add a row; a row with `isas` holds for those encoding families only and wins there."""
    for isa in row.isas:
        assert (isa, row.name) not in OVERRIDES, f"{row.name}: two rows for {isa}"
        OVERRIDES[isa, row.name] = row
    if not row.isas:
        assert row.name not in ROWS, f"{row.name}: two rows"
        ROWS[row.name] = row


def row_of(isa: str, name: str) -> Row | None:
    """The meaning of `name` on `isa`, None where there is none."""
    return OVERRIDES.get((isa, name)) or ROWS.get(name)


def _signature(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    left, _, right = text.partition("=")
    return tuple(left.split()), tuple(right.split())


def _decorator(
    unit: Unit,
    names: str,
    signature: str,
    packed: bool,
    integer_clamp: Emit | None,
    isas: tuple[str, ...],
    fault: Fault | None = None,
) -> Callable[[E], E]:
    destinations, sources = _signature(signature)

    def add(emit: E) -> E:
        for name in names.split():
            register(Row(name, unit, destinations, sources, emit, packed, integer_clamp, isas, fault=fault))
        return emit

    return add


def valu(
    names: str,
    signature: str,
    *,
    packed: bool = False,
    integer_clamp: Emit | None = None,
    isas: tuple[str, ...] = (),
) -> Callable[[E], E]:
    """Lane-wise row for each of the space-separated `names` (the same meaning under several targets' names)."""
    return _decorator("valu", names, signature, packed, integer_clamp, isas)


def rounded(emit: E) -> E:
    """The row's floating-point operations round as MODE says; without it they round to nearest even."""
    ROUNDING.add(emit)
    return emit


def salu(names: str, signature: str, *, isas: tuple[str, ...] = ()) -> Callable[[E], E]:
    """Scalar row."""
    return _decorator("salu", names, signature, False, None, isas)


def lanes(names: str, signature: str, *, isas: tuple[str, ...] = ()) -> Callable[[E], E]:
    """Row across the lanes of a wave."""
    return _decorator("lanes", names, signature, False, None, isas)


def state(
    names: str, signature: str = "", *, isas: tuple[str, ...] = (), fault: Fault | None = None
) -> Callable[[E], E]:
    """Out-of-line row on registers in memory. The signature matters for the types of constants."""
    return _decorator("state", names, signature, False, None, isas, fault)


def memory(names: str, access: Access, emit: Emit | None = None, *, isas: tuple[str, ...] = ()) -> None:
    """Memory rows. `emit(context, old, *operands)` gives a "custom" atomic's new value."""
    for name in names.split():
        register(Row(name, "memory", emit=emit, access=access, isas=isas))


def control(names: str, unit: Unit, sources: str = "", emit: Emit | None = None) -> None:
    """Rows that steer the wave. A branch is taken where `emit(context, *sources)` holds, always without one."""
    for name in names.split():
        register(Row(name, unit, sources=tuple(sources.split()), emit=emit))


def support(name: str, signature: str) -> Callable[[E], E]:
    """Out-of-line function of vectors, `emit(context, *values) -> Value`, that rows call through `Context.support`.

    It is compiled once per lane count and cached on its own: the place for transcendental polynomials.
    """

    def add(emit: E) -> E:
        assert name not in SUPPORT, f"{name}: two support functions"
        SUPPORT[name] = (signature, emit)
        return emit

    return add
