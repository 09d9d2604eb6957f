"""Instructions of kernels that change MODE or begin with an unusual one: rounding and denormals as it says.

f32 and f64 are added and multiplied with the CPU's rounding set for the one operation. f16 goes by way of f32, since
rounding twice in one direction is rounding once, and numbers become narrower by comparison with the nearest one.
Everything else, polynomials for instance, rounds to nearest.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from attrs import define

from rocmkern.emulator.ir import SUFFIX, Value, Writer
from rocmkern.emulator.meaning.api import Context, Emit, Result, Row, support
from rocmkern.emulator.mode import HALF_OVERFLOW

FLOATS: Final = frozenset({"f16", "f32", "f64", "mix"})
# Exact, of formats that MODE says nothing of, or with rules of their own.
INDEPENDENT: Final = (
    "v_dot", "v_cvt_scalef32_", "v_cvt_sr_f16_", "v_cvt_sr_bf16_", "v_cvt_f32_fp8", "v_cvt_f32_bf", "v_cvt_pk_bf16_",
    "v_cmp_class_", "v_cmpx_class_", "v_trig_preop_",
)  # fmt: skip
KEEPING: Final = frozenset({"ds_add_f64", "ds_add_rtn_f64"})
HALVES: Final = frozenset(
    {"v_cvt_pkrtz_f16_f32", "v_cvt_pk_rtz_f16_f32", "s_cvt_pk_rtz_f16_f32", "v_cvt_pk_f16_f32"}
)  # two f16 in 32 bits
NEAREST, UP, DOWN, TO_ZERO = range(4)
AS_THE_CPU_IS_TOLD: Final = 'metadata !"round.dynamic", metadata !"fpexcept.strict"'
OPERATIONS: Final = {"fadd": 2, "fsub": 2, "fmul": 2, "fma": 3}  # → operands


@cache
def depends_on_mode(row: Row) -> bool:
    """Whether MODE makes a difference to an instruction."""
    if row.unit == "memory":
        # of atomics those of LDS, which flush denormals but always round to nearest
        return row.name.startswith("ds_") and row.name.endswith(("_f16", "_f32", "_f64")) and row.name not in KEEPING
    tokens = {t.removeprefix("^") for t in (*row.sources, *row.destinations)}
    return bool(tokens & FLOATS) and not row.name.startswith(INDEPENDENT)


for _operation, _count in OPERATIONS.items():
    for _type in ("f32", "f64"):

        @support(f"{_operation}_{_type}_by_mode", f"{_type} = {' '.join([_type] * _count)} u32")
        def _rounded_as_told(c: Context, *values: Value, operation: str = _operation) -> Value:
            """The last value is MODE's rounding, alike in all lanes."""
            *operands, rounding = values
            w, first = c.writer, operands[0]
            told = rounding.lane(0) if rounding.lanes else rounding
            is_directed = told.ne(NEAREST)
            with w.when(is_directed):
                w.set_rounding((told + 1) & 3)  # LLVM: 0 toward zero, 1 to nearest, 2 up, 3 down
            symbol = f"llvm.experimental.constrained.{operation}." + (f"v{first.lanes}" if first.lanes else "")
            symbol += SUFFIX[first.element]
            listed = ", ".join([o.type for o in operands] + ["metadata", "metadata"])
            w.declarations[symbol] = f"declare {first.type} @{symbol}({listed})"
            passed = ", ".join([f"{o.type} {o.text}" for o in operands] + [AS_THE_CPU_IS_TOLD])
            result = w.emit(f"call {first.type} @{symbol}({passed}) strictfp", first.element, first.lanes)
            with w.when(is_directed):
                w.set_rounding(w.constant("i32", 1))
            return result


@define
class Rounding:
    """What a writer's floating-point operations do while an instruction that rounds as MODE says is emitted."""

    writer: Writer
    operations: Value  # i32, how sums and products are rounded, as MODE has it
    conversions: Value  # the same of what becomes a narrower type
    holds_halves: Value  # i1: an f16 that overflows becomes the largest

    def arithmetic(self, operation: str, *values: Value) -> Value:
        w, lanes = self.writer, max(v.lanes for v in values)
        values = tuple(v.splat(lanes) for v in values)
        if values[0].element != "half":
            symbol = f"{operation}_{SUFFIX[values[0].element]}_by_mode"
            return w.support(symbol, values[0].element, *values, self.operations)
        wide = self.arithmetic(operation, *(v.cast("fpext", "float") for v in values))
        result = self.converted("fptrunc", wide, "half")
        if operation == "fma":  # to nearest, twice is not once
            nearest = self._held(w.support("fma_f16", "half", *values), wide)
            result = self.is_nearest.select(nearest, result)
        return result

    @property
    def is_nearest(self) -> Value:
        return self.operations.eq(NEAREST)

    def converted(self, operation: str, value: Value, element: str) -> Value:
        """fptrunc, or an integer's sitofp and uitofp."""
        w = self.writer
        with w.to_nearest():
            if operation != "fptrunc":
                wide = "float" if value.width < 32 else "double"  # holds every integer of the type
                value, operation = value.cast(operation, wide), "fptrunc"
            if value.element == element:
                return value
            near = value.cast(operation, element)
            size, bits = w.intrinsic("fabs", value), near.as_int()
            back = w.intrinsic("fabs", near.cast("fpext", value.element))
            negative = value.as_int().compare("slt", 0)
            how = self.conversions
            outward = negative.select(how.eq(DOWN), how.eq(UP))
            inward = ~outward & how.ne(NEAREST)
            bits = (outward & back.compare("olt", size)).select(bits + 1, bits)
            bits = (inward & back.compare("ogt", size)).select(bits - 1, bits)
            return self._held(bits.bits(element), value)

    def integral(self, value: Value) -> Value:
        w = self.writer
        result = w.intrinsic("roundeven", value)
        for how, name in ((UP, "ceil"), (DOWN, "floor"), (TO_ZERO, "trunc")):
            result = self.operations.eq(how).select(w.intrinsic(name, value), result)
        return result

    def _held(self, result: Value, exact: Value) -> Value:
        """An f16 that overflowed."""
        if result.element != "half":
            return result
        w, bits = self.writer, result.as_int()
        finite = w.intrinsic("fabs", exact).compare("olt", float("inf"))
        over = (bits & 0x7FFF).eq(0x7C00) & finite & self.holds_halves
        return over.select(bits - 1, bits).bits("half")


def carry_out(row: Row, emit: Emit, c: Context, values: list[Value | tuple[Value, ...]]) -> Result | None:
    """What a row's emission gives; under MODE where the instruction depends on it."""
    mode, w = c.mode, c.writer
    if mode is None:
        return emit(c, *values)
    taken = [
        mode.taken(v) if isinstance(v, Value) and t.removeprefix("^") in FLOATS else v
        for t, v in zip(row.sources, values, strict=True)
    ]
    if row.rounds:
        is_single = not ({"f16", "f64"} & {*row.destinations} or "f64" in row.sources or row.name in HALVES)
        how, products = (mode.rounding(is_single=single) for single in (is_single, is_single or "mix" in row.sources))
        w.rounding = Rounding(w, products, how, mode.bit(HALF_OVERFLOW))
    result = emit(c, *taken)
    w.rounding = None
    if row.name not in HALVES:
        return result
    assert isinstance(result, Value)
    low, high = (mode.given(half.bits("half")).as_int() for half in (result.trunc("i16"), result.lshr(16).trunc("i16")))
    return low.zext("i32") | high.zext("i32").shl(16)
