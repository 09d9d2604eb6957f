"""Vector ALU: moves, integers, selection."""

from __future__ import annotations

from rocmkern.emulator.ir import Value
from rocmkern.emulator.meaning.api import Context, Result, valu


@valu("v_mov_b32 v_accvgpr_read_b32 v_accvgpr_write_b32 v_accvgpr_mov_b32", "b32 = b32")
def move(c: Context, a: Value) -> Result:
    return a


@valu("v_add_f32", "f32 = f32 f32")
@valu("v_add_f64", "f64 = f64 f64")
@valu("v_add_u32 v_add_nc_u32", "u32 = u32 u32")
@valu("v_pk_add_f16", "f16 = f16 f16", packed=True)
@valu("v_pk_add_f32", "f32 = f32 f32", packed=True)
def add(c: Context, a: Value, b: Value) -> Result:
    return a + b


@valu("v_add_co_u32", "u32 m = u32 u32")
def add_carry_out(c: Context, a: Value, b: Value) -> Result:
    total = a + b
    return total, total.compare("ult", a)


@valu("v_cndmask_b32", "b32 = b32 b32 m")
def conditional(c: Context, if_false: Value, if_true: Value, mask: Value) -> Result:
    return mask.select(if_true, if_false)


@valu("v_cmp_lt_u32", "m = u32 u32")
def less_unsigned(c: Context, a: Value, b: Value) -> Result:
    return a.compare("ult", b)
