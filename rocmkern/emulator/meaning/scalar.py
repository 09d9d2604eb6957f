"""Scalar ALU."""

from __future__ import annotations

from rocmkern.emulator.ir import Value
from rocmkern.emulator.meaning.api import Context, Result, salu


@salu("s_mov_b32 s_movk_i32", "b32 = b32")
@salu("s_mov_b64", "b64 = b64")
def move(c: Context, a: Value) -> Result:
    return a


@salu("s_add_u32 s_add_co_u32", "u32 scc = u32 u32")
def add_carry_out(c: Context, a: Value, b: Value) -> Result:
    total = a + b
    return total, total.compare("ult", a)


@salu("s_add_i32 s_add_co_i32", "i32 scc = i32 i32")
def add_signed(c: Context, a: Value, b: Value) -> Result:
    """SCC is signed overflow."""
    total = a + b
    return total, ((total ^ a) & (total ^ b)).compare("slt", 0)


@salu("s_addc_u32 s_add_co_ci_u32", "u32 scc = u32 u32 scc")
def add_with_carry(c: Context, a: Value, b: Value, carry: Value) -> Result:
    total = a.zext("i64") + b.zext("i64") + carry.zext("i64")
    return total.trunc("i32"), total.lshr(32).ne(0)


@salu("s_and_b32", "b32 scc = b32 b32")
@salu("s_and_b64", "b64 scc = b64 b64")
def bit_and(c: Context, a: Value, b: Value) -> Result:
    result = a & b
    return result, result.ne(0)


@salu("s_lshl_b32", "b32 scc = b32 u32")
@salu("s_lshl_b64", "b64 scc = b64 u32")
def shift_left(c: Context, a: Value, count: Value) -> Result:
    result = a.shl(count)
    return result, result.ne(0)


@salu("s_cmp_lt_u32", "scc = u32 u32")
def compare_less(c: Context, a: Value, b: Value) -> Result:
    return a.compare("ult", b)


@salu("s_and_saveexec_b64", "b64 scc exec = b64 exec")
@salu("s_and_saveexec_b32", "b32 scc exec_lo = b32 exec_lo")
def and_save_exec(c: Context, a: Value, mask: Value) -> Result:
    """The destination gets the old EXEC."""
    result = a & mask
    return mask, result.ne(0), result


@salu("s_getpc_b64", "b64 = pc")
def get_pc(c: Context, pc: Value) -> Result:
    return pc


@salu("s_setpc_b64", "pc = b64")
def set_pc(c: Context, to: Value) -> Result:
    return to


@salu("s_swappc_b64", "b64 pc = b64 pc")
def swap_pc(c: Context, to: Value, pc: Value) -> Result:
    return pc, to
