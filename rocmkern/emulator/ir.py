"""Text of LLVM IR, written through typed values: the language in which the meaning of instructions is said."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Final, Protocol

from attrs import define, field

from rocmkern.errors import UnsupportedInstruction

WIDTH: Final[dict[str, int]] = {
    "i1": 1, "i4": 4, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "i128": 128, "half": 16, "float": 32, "double": 64,
    "ptr": 64,
}  # fmt: skip
FLOATS: Final = frozenset({"half", "float", "double"})
INT_OF: Final[dict[str, str]] = {"half": "i16", "float": "i32", "double": "i64"}
ROUNDED: Final = frozenset({"fadd", "fsub", "fmul"})
CONVERTED: Final = frozenset({"fptrunc", "sitofp", "uitofp"})
SUFFIX: Final[dict[str, str]] = {"half": "f16", "float": "f32", "double": "f64", "ptr": "p0"}

PERMUTE: Final = "llvm.x86.avx512.vpermi2var.d.512"


AVX512_VARIABLE: Final = "ROCMKERN_AVX512"


@cache
def host_features() -> frozenset[str]:
    """What this CPU has, in LLVM's names; without AVX-512 where ROCMKERN_AVX512 is 0."""
    import llvmlite.binding as llvm

    hidden = ("avx512", "avx10") if os.environ.get(AVX512_VARIABLE) == "0" else ()
    return frozenset(name for name, has in llvm.get_host_cpu_features().items() if has and not name.startswith(hidden))


@cache
def target_features() -> str:
    """Those as an LLVM target machine takes them."""
    import llvmlite.binding as llvm

    known = llvm.get_host_cpu_features()
    return ",".join(f"{'+' if name in host_features() else '-'}{name}" for name in sorted(known))


def float_text(element: str, value: float) -> str:
    """`value` as an LLVM constant of a floating-point `element` type; it must be exact in that type."""
    if element == "half":
        return "0xH" + struct.pack(">e", value).hex().upper()
    return "0x" + struct.pack(">d", value).hex().upper()


def within(pointer: Value, nbytes: int) -> None:
    """Raise UnsupportedInstruction where code would touch more of a wave than it may."""
    if pointer.room is not None and nbytes > pointer.room:
        raise UnsupportedInstruction(f"translate: {nbytes} bytes of a wave are wanted where {pointer.room} are allowed")


def type_text(element: str, lanes: int) -> str:
    return f"<{lanes} x {element}>" if lanes else element


@define(eq=False)
class Value:
    """An SSA value: `element` type, `lanes` (0 for a scalar) and its text. Operators emit into the writer it came from.

    Integer operators wrap; floating-point ones are IEEE. A Python number becomes a constant of this value's type,
    a scalar meets a vector by broadcast. Shifts take their count modulo the width, as the hardware does.
    """

    writer: Writer
    element: str
    lanes: int
    text: str
    constant: int | float | None = None
    room: int | None = None  # of a pointer into a wave: how many bytes from it on may be touched

    @property
    def type(self) -> str:
        return type_text(self.element, self.lanes)

    @property
    def width(self) -> int:
        return WIDTH[self.element]

    @property
    def is_float(self) -> bool:
        return self.element in FLOATS

    def _binary(self, op: str, other: Operandish, prefix: str = "") -> Value:
        a, b = self.writer.pair(self, other)
        if self.writer.rounding is not None and op in ROUNDED:
            return self.writer.rounding.arithmetic(op, a, b)
        return self.writer.emit(f"{prefix}{op} {a.type} {a.text}, {b.text}", a.element, a.lanes)

    def __add__(self, other: Operandish) -> Value:
        return self._binary("fadd" if self.is_float else "add", other)

    def __sub__(self, other: Operandish) -> Value:
        return self._binary("fsub" if self.is_float else "sub", other)

    def __rsub__(self, other: int | float) -> Value:
        return self.like(other) - self

    def __mul__(self, other: Operandish) -> Value:
        return self._binary("fmul" if self.is_float else "mul", other)

    __radd__ = __add__
    __rmul__ = __mul__

    def __truediv__(self, other: Operandish) -> Value:
        return self._binary("fdiv", other)

    def __and__(self, other: Operandish) -> Value:
        return self._binary("and", other)

    def __or__(self, other: Operandish) -> Value:
        return self._binary("or", other)

    def __xor__(self, other: Operandish) -> Value:
        return self._binary("xor", other)

    __rand__ = __and__
    __ror__ = __or__
    __rxor__ = __xor__

    def __invert__(self) -> Value:
        return self ^ -1

    def __neg__(self) -> Value:
        if self.is_float:
            return self.writer.emit(f"fneg {self.type} {self.text}", self.element, self.lanes)
        return self.like(0) - self

    def _shift(self, op: str, count: Operandish) -> Value:
        if isinstance(count, Value):
            count = count.resize(self.element) & (self.width - 1)
        return self._binary(op, count)

    def shl(self, count: Operandish) -> Value:
        return self._shift("shl", count)

    def lshr(self, count: Operandish) -> Value:
        return self._shift("lshr", count)

    def ashr(self, count: Operandish) -> Value:
        return self._shift("ashr", count)

    def compare(self, predicate: str, other: Operandish) -> Value:
        """i1 of an LLVM predicate: eq ne ult sle … for integers, oeq olt uno … for floats."""
        a, b = self.writer.pair(self, other)
        op = "fcmp" if self.is_float else "icmp"
        return self.writer.emit(f"{op} {predicate} {a.type} {a.text}, {b.text}", "i1", a.lanes)

    def eq(self, other: Operandish) -> Value:
        return self.compare("oeq" if self.is_float else "eq", other)

    def ne(self, other: Operandish) -> Value:
        return self.compare("une" if self.is_float else "ne", other)

    def is_nan(self) -> Value:
        return self.compare("uno", self)

    def select(self, if_true: Operandish, if_false: Operandish) -> Value:
        """Of an i1: lane-wise choice."""
        if isinstance(if_true, Value):
            a, b = self.writer.pair(if_true, if_false)
        else:
            assert isinstance(if_false, Value)
            b, a = self.writer.pair(if_false, if_true)
        lanes = self.lanes or a.lanes
        if self.lanes:
            a, b = a.splat(lanes), b.splat(lanes)
        return self.writer.emit(
            f"select {self.type} {self.text}, {a.type} {a.text}, {b.type} {b.text}", a.element, a.lanes
        )

    def bits(self, element: str) -> Value:
        """The same bits as another element type; a wider or narrower one changes the number of lanes."""
        if element == self.element:
            return self
        lanes = self.lanes * self.width // WIDTH[element] if self.lanes else 0
        if not self.lanes and WIDTH[element] < self.width:
            lanes = self.width // WIDTH[element]
        return self.writer.emit(f"bitcast {self.type} {self.text} to {type_text(element, lanes)}", element, lanes)

    def lane_mask(self) -> Value:
        """Of i1 lanes: one integer, a bit for each, the first lowest."""
        return self.writer.emit(f"bitcast {self.type} {self.text} to i{self.lanes}", f"i{self.lanes}")

    def as_int(self) -> Value:
        return self.bits(INT_OF.get(self.element, self.element))

    def cast(self, op: str, element: str) -> Value:
        """An LLVM conversion: zext sext trunc sitofp uitofp fpext fptrunc. Float to integer: `Writer.to_int`."""
        if element == self.element:
            return self
        if self.writer.rounding is not None and op in CONVERTED:
            return self.writer.rounding.converted(op, self, element)
        to = type_text(element, self.lanes)
        return self.writer.emit(f"{op} {self.type} {self.text} to {to}", element, self.lanes)

    def zext(self, element: str) -> Value:
        return self.cast("zext", element)

    def sext(self, element: str) -> Value:
        return self.cast("sext", element)

    def trunc(self, element: str) -> Value:
        return self.cast("trunc", element)

    def resize(self, element: str) -> Value:
        """Zero-extended or truncated to another integer type."""
        return self.zext(element) if WIDTH[element] > self.width else self.trunc(element)

    def like(self, number: int | float) -> Value:
        """A constant of this value's type."""
        return self.writer.constant(self.element, number, self.lanes)

    def splat(self, lanes: int) -> Value:
        if self.lanes or not lanes:
            return self
        if self.constant is not None:
            return self.writer.constant(self.element, self.constant, lanes)
        vector = type_text(self.element, lanes)
        one = self.writer.emit(f"insertelement {vector} poison, {self.type} {self.text}, i64 0", self.element, lanes)
        return self.writer.emit(
            f"shufflevector {vector} {one.text}, {vector} poison, <{lanes} x i32> zeroinitializer", self.element, lanes
        )

    def lane(self, index: Value | int) -> Value:
        """The element at `index`, a number or a scalar i32 that is in range."""
        which = index.text if isinstance(index, Value) else str(index)
        return self.writer.emit(f"extractelement {self.type} {self.text}, i32 {which}", self.element, 0)


Operandish = Value | int | float


class Rounded(Protocol):
    """Operations that round otherwise than to nearest even."""

    def arithmetic(self, operation: str, *values: Value) -> Value: ...

    def converted(self, operation: str, value: Value, element: str) -> Value: ...

    def integral(self, value: Value) -> Value: ...

    @property
    def is_nearest(self) -> Value:
        """Scalar i1: to nearest all the same."""
        ...


@define
class Writer:
    """The body of one LLVM function in the making."""

    lines: list[str] = field(factory=list)
    prologue: list[str] = field(factory=list)  # runs first: allocas, and what is loaded once for the whole function
    declarations: dict[str, str] = field(factory=dict)  # symbol → declaration line
    supports: set[str] = field(factory=set)  # names of support functions that are called
    inlines: bool = False  # support functions that are worth it are written out instead of called
    globals: dict[str, str] = field(factory=dict)  # symbol → line that defines a private constant
    rounding: Rounded | None = None  # of floating-point operations from here on; None: to nearest even
    sets_rounding: bool = False  # the function changes how the CPU rounds
    _count: int = 0

    def fresh(self, stem: str = "") -> str:
        self._count += 1
        return f"{stem}{self._count}"

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def emit(self, text: str, element: str, lanes: int = 0) -> Value:
        name = "%" + self.fresh("t")
        self.lines.append(f"  {name} = {text}")
        return Value(self, element, lanes, name)

    def hoist(self, text: str, element: str, lanes: int = 0) -> Value:
        """Like `emit`, at the start of the function: only for what depends on its parameters."""
        name = "%" + self.fresh("h")
        self.prologue.append(f"  {name} = {text}")
        return Value(self, element, lanes, name)

    def buffer(self, size: int, align: int = 64) -> Value:
        """Pointer to `size` uninitialised bytes on the stack."""
        return self.hoist(f"alloca [{size} x i8], align {align}", "ptr")

    def constant(self, element: str, number: int | float, lanes: int = 0) -> Value:
        if element in FLOATS:
            text = float_text(element, float(number))
        elif element == "i1":
            text = "true" if number else "false"
        else:
            text = str(int(number))
        return Value(self, element, lanes, f"splat ({element} {text})" if lanes else text, number)

    def vector(self, element: str, numbers: list[int]) -> Value:
        """A constant vector of integers, lane by lane."""
        items = ", ".join(f"{element} {n}" for n in numbers)
        return Value(self, element, len(numbers), f"<{items}>")

    def pair(self, a: Value, b: Operandish) -> tuple[Value, Value]:
        if not isinstance(b, Value):
            return a, a.like(b)
        assert a.element == b.element, f"{a.element} meets {b.element}"
        if a.lanes and not b.lanes:
            return a, b.splat(a.lanes)
        return (a.splat(b.lanes), b) if b.lanes and not a.lanes else (a, b)

    def call(self, symbol: str, element: str, lanes: int, *args: Value, attributes: str = "") -> Value:
        """Call an external function with the types of `args`."""
        result = type_text(element, lanes)
        parameters = ", ".join(a.type for a in args)
        self.declarations[symbol] = f"declare {result} @{symbol}({parameters}) {attributes}".rstrip()
        passed = ", ".join(f"{a.type} {a.text}" for a in args)
        if element == "void":
            self.line(f"call void @{symbol}({passed})")
            return Value(self, "void", 0, "")
        return self.emit(f"call {result} @{symbol}({passed})", element, lanes)

    def intrinsic(self, name: str, *args: Value, extra: str = "") -> Value:
        """`llvm.<name>` over the first argument's type; `extra` are literal trailing operands such as "i1 true"."""
        if self.rounding is not None and name == "fma":
            return self.rounding.arithmetic(name, *args)
        lanes = max(a.lanes for a in args)
        args = tuple(a.splat(lanes) for a in args)
        first = args[0]
        symbol = f"llvm.{name}." + (f"v{lanes}" if lanes else "") + SUFFIX.get(first.element, first.element)
        parameters = ", ".join([a.type for a in args] + [e.split()[0] for e in extra.split(", ") if e])
        passed = ", ".join([f"{a.type} {a.text}" for a in args] + ([extra] if extra else []))
        self.declarations[symbol] = f"declare {first.type} @{symbol}({parameters})"
        return self.emit(f"call {first.type} @{symbol}({passed})", first.element, lanes)

    @contextmanager
    def to_nearest(self) -> Iterator[None]:
        """Operations that round to nearest even whatever `rounding` says."""
        rounding, self.rounding = self.rounding, None
        yield
        self.rounding = rounding

    def set_rounding(self, how: Value) -> None:
        """Tell the CPU, in LLVM's numbers."""
        self.sets_rounding = True
        self.declarations["llvm.set.rounding"] = "declare void @llvm.set.rounding(i32)"
        self.line(f"call void @llvm.set.rounding(i32 {how.text}) strictfp")

    def support(self, name: str, element: str, *args: Value) -> Value:
        """Call a support function (`rocmkern.emulator.meaning.api.support`) that is compiled once, out of line."""
        lanes = max(a.lanes for a in args)
        args = tuple(a.splat(lanes) for a in args)
        symbol = f"{name}_{lanes}" if lanes else name
        self.supports.add(symbol)
        return self.call(symbol, element, lanes, *args)

    def shuffle(self, a: Value, b: Value | None, order: list[int]) -> Value:
        """Lanes of `a` followed by `b`; -1 is anything."""
        mask = ", ".join(f"i32 {n}" if n >= 0 else "i32 poison" for n in order)
        other = b.text if b is not None else "poison"
        return self.emit(
            f"shufflevector {a.type} {a.text}, {a.type} {other}, <{len(order)} x i32> <{mask}>", a.element, len(order)
        )

    def look_up(self, table: Value, index: Value) -> Value:
        """Lane i of the result is lane index[i] of `table`; both i32, the index in range, of at least 16 lanes."""
        if "avx512f" not in host_features() or table.lanes > 64:
            return self._look_up_in_memory(table, index)
        parts = [self.shuffle(table, None, list(range(i, i + 16))) for i in range(0, table.lanes, 16)]
        results = []
        for start in range(0, index.lanes, 16):
            which = self.shuffle(index, None, list(range(start, start + 16)))
            pairs = [
                self.call(PERMUTE, "i32", 16, parts[i], which, parts[min(i + 1, len(parts) - 1)])
                for i in range(0, len(parts), 2)
            ]
            high = (which & 32).ne(0)
            results.append(high.select(pairs[1], pairs[0]) if len(pairs) > 1 else pairs[0])
        return self.concatenate(results)

    def _look_up_in_memory(self, table: Value, index: Value) -> Value:
        buffer = self.buffer(4 * table.lanes)
        self.store(table, buffer, 64)
        result = self.constant("i32", 0, index.lanes)
        for i in range(index.lanes):
            item = self.load(self.at(buffer, index.lane(i).zext("i64").shl(2)), "i32", 0, 4)
            text = f"insertelement {result.type} {result.text}, i32 {item.text}, i32 {i}"
            result = self.emit(text, "i32", index.lanes)
        return result

    def concatenate(self, parts: list[Value]) -> Value:
        """One vector of a power of two of equal ones."""
        while len(parts) > 1:
            parts = [self.shuffle(a, b, list(range(2 * a.lanes))) for a, b in zip(parts[::2], parts[1::2], strict=True)]
        return parts[0]

    def combine(self, low: Value, high: Value) -> Value:
        """64 bits of two i32."""
        return low.zext("i64") | high.zext("i64").shl(32)

    def halves(self, value: Value) -> tuple[Value, Value]:
        """The two i32 of an i64."""
        return value.trunc("i32"), value.lshr(32).trunc("i32")

    # Memory and control: for the engines and out-of-line rows.
    def at(self, base: Value, offset: Value | int, most: int | None = None) -> Value:
        """The address `offset` bytes behind `base`; `most`: what an offset into a wave is at most."""
        if isinstance(offset, int):
            if not offset:
                return base
            most, offset = offset, self.constant("i64", offset)
        pointer = self.emit(f"getelementptr i8, ptr {base.text}, {offset.type} {offset.text}", "ptr")
        if base.room is not None:
            if most is None or most < 0:
                raise UnsupportedInstruction("translate: an offset into a wave has no limit; say the most it can be")
            within(base, most)
            pointer.room = base.room - most
        return pointer

    def load(self, pointer: Value, element: str, lanes: int = 0, align: int = 1, *, volatile: bool = False) -> Value:
        within(pointer, WIDTH[element] * max(lanes, 1) // 8)
        kind = "volatile " if volatile else ""
        return self.emit(f"load {kind}{type_text(element, lanes)}, ptr {pointer.text}, align {align}", element, lanes)

    def store(self, value: Value, pointer: Value, align: int = 1) -> None:
        within(pointer, value.width * max(value.lanes, 1) // 8)
        self.line(f"store {value.type} {value.text}, ptr {pointer.text}, align {align}")

    def label(self, name: str) -> None:
        """Begin block `name`, falling into it where the previous one is open."""
        if self.lines and not self.is_closed:
            self.line(f"br label %{name}")
        self.lines.append(f"{name}:")

    @property
    def is_closed(self) -> bool:
        last = self.lines[-1].strip() if self.lines else ""
        return last.startswith(("br ", "ret ", "unreachable", "switch ")) or last == "]"

    def branch(self, condition: Value, if_true: str, if_false: str, weights: str = "") -> None:
        self.line(f"br i1 {condition.text}, label %{if_true}, label %{if_false}{weights}")

    def jump(self, name: str) -> None:
        self.line(f"br label %{name}")

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """Code that runs only where a scalar i1 holds. Values made inside stay inside."""
        inside, after = self.fresh("then"), self.fresh("after")
        self.branch(condition, inside, after)
        self.label(inside)
        yield
        self.label(after)

    def variable(self, value: Value) -> Variable:
        """A mutable cell, a register after mem2reg."""
        name = "%" + self.fresh("var")
        self.prologue.append(f"  {name} = alloca {value.type}")
        cell = Variable(self, value.element, value.lanes, Value(self, "ptr", 0, name))
        cell.set(value)
        return cell

    @contextmanager
    def loop(self, count: Value | int, element: str = "i64") -> Iterator[Value]:
        """A counted loop from 0; at least one round."""
        cell = self.variable(self.constant(element, 0))
        body, after = self.fresh("loop"), self.fresh("done")
        self.label(body)
        index = cell.get()
        yield index
        following = index + 1
        cell.set(following)
        self.branch(following.compare("ult", count), body, after)
        self.label(after)

    @contextmanager
    def each_bit(self, mask: Value) -> Iterator[Value]:
        """A loop over the set bits of an integer, lowest first; yields the index as i32."""
        cell = self.variable(mask)
        head, body, after = self.fresh("bits"), self.fresh("bit"), self.fresh("done")
        self.label(head)
        rest = cell.get()
        self.branch(rest.ne(0), body, after)
        self.label(body)
        cell.set(rest & (rest - 1))
        yield self.intrinsic("cttz", rest, extra="i1 true").resize("i32")
        self.jump(head)
        self.label(after)


@define(eq=False)
class Variable:
    """A mutable cell of a function."""

    writer: Writer
    element: str
    lanes: int
    place: Value

    def get(self) -> Value:
        return self.writer.emit(
            f"load {type_text(self.element, self.lanes)}, ptr {self.place.text}", self.element, self.lanes
        )

    def set(self, value: Value) -> None:
        self.writer.line(f"store {value.type} {value.text}, ptr {self.place.text}")
