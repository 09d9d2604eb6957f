"""Scalar ALU on integers and masks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rocmkern.emulator.ir import Value
from rocmkern.emulator.meaning.api import Context, Result, salu

Binary = Callable[[Value, Value], Value]

LOGIC: Final[dict[str, Binary]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "andn2": lambda a, b: a & ~b,
    "orn2": lambda a, b: a | ~b,
    "nand": lambda a, b: ~(a & b),
    "nor": lambda a, b: ~(a | b),
    "xnor": lambda a, b: ~(a ^ b),
    "andn1": lambda a, b: ~a & b,
    "orn1": lambda a, b: ~a | b,
}
# gfx11 and later say "not1" where earlier targets say "n2", and "not0" for "n1".
LATER_NAME: Final = {"andn2": "and_not1", "orn2": "or_not1", "andn1": "and_not0", "orn1": "or_not0"}


def _logic(name: str, operation: Binary) -> None:
    names = [name, *([LATER_NAME[name]] if name in LATER_NAME else [])]

    def whole(c: Context, a: Value, b: Value) -> Result:
        """SCC: the result is not 0."""
        result = operation(a, b)
        return result, result.ne(0)

    def save_exec(c: Context, a: Value, mask: Value) -> Result:
        """EXEC becomes the operation of source and EXEC; the destination gets the old EXEC."""
        result = operation(a, mask)
        return mask, result.ne(0), result

    def write_exec(c: Context, a: Value, mask: Value) -> Result:
        """Destination and EXEC become the operation of source and EXEC."""
        result = operation(a, mask)
        return result, result.ne(0), result

    for n in names:
        salu(f"s_{n}_saveexec_b64", "b64 scc exec = b64 exec")(save_exec)
        salu(f"s_{n}_saveexec_b32", "b32 scc exec_lo = b32 exec_lo")(save_exec)
        if name in ("andn1", "andn2"):
            salu(f"s_{n}_wrexec_b64", "b64 scc exec = b64 exec")(write_exec)
            salu(f"s_{n}_wrexec_b32", "b32 scc exec_lo = b32 exec_lo")(write_exec)
        if name not in ("andn1", "orn1"):
            salu(f"s_{n}_b64", "b64 scc = b64 b64")(whole)
            salu(f"s_{n}_b32", "b32 scc = b32 b32")(whole)


for _name, _operation in LOGIC.items():
    _logic(_name, _operation)


@salu("s_mov_b32 s_movk_i32", "b32 = b32")
@salu("s_mov_b64", "b64 = b64")
def move(c: Context, a: Value) -> Result:
    return a


@salu("s_cmov_b32 s_cmovk_i32", "b32 = b32 ^b32 scc")
@salu("s_cmov_b64", "b64 = b64 ^b64 scc")
def conditional_move(c: Context, a: Value, old: Value, scc: Value) -> Result:
    return scc.select(a, old)


@salu("s_cselect_b32", "b32 = b32 b32 scc")
@salu("s_cselect_b64", "b64 = b64 b64 scc")
def select(c: Context, a: Value, b: Value, scc: Value) -> Result:
    return scc.select(a, b)


@salu("s_not_b32", "b32 scc = b32")
@salu("s_not_b64", "b64 scc = b64")
def bit_not(c: Context, a: Value) -> Result:
    return ~a, (~a).ne(0)


@salu("s_add_u32 s_add_co_u32", "u32 scc = u32 u32")
def add_carry_out(c: Context, a: Value, b: Value) -> Result:
    total = a + b
    return total, total.compare("ult", a)


@salu("s_add_i32 s_add_co_i32", "i32 scc = i32 i32")
@salu("s_addk_i32 s_addk_co_i32", "i32 scc = ^i32 i32")
def add_signed(c: Context, a: Value, b: Value) -> Result:
    """SCC is signed overflow."""
    total = a + b
    return total, ((total ^ a) & (total ^ b)).compare("slt", 0)


@salu("s_sub_u32 s_sub_co_u32", "u32 scc = u32 u32")
def subtract_borrow_out(c: Context, a: Value, b: Value) -> Result:
    return a - b, a.compare("ult", b)


@salu("s_sub_i32 s_sub_co_i32", "i32 scc = i32 i32")
def subtract_signed(c: Context, a: Value, b: Value) -> Result:
    """SCC is signed overflow."""
    rest = a - b
    return rest, ((a ^ b) & (rest ^ a)).compare("slt", 0)


@salu("s_addc_u32 s_add_co_ci_u32", "u32 scc = u32 u32 scc")
def add_with_carry(c: Context, a: Value, b: Value, carry: Value) -> Result:
    total = a.zext("i64") + b.zext("i64") + carry.zext("i64")
    return total.trunc("i32"), total.lshr(32).ne(0)


@salu("s_subb_u32 s_sub_co_ci_u32", "u32 scc = u32 u32 scc")
def subtract_with_borrow(c: Context, a: Value, b: Value, borrow: Value) -> Result:
    rest = a.zext("i64") - b.zext("i64") - borrow.zext("i64")
    return rest.trunc("i32"), rest.compare("slt", 0)


@salu("s_add_nc_u64 s_add_u64", "u64 = u64 u64")
def add64(c: Context, a: Value, b: Value) -> Result:
    return a + b


@salu("s_sub_nc_u64 s_sub_u64", "u64 = u64 u64")
def subtract64(c: Context, a: Value, b: Value) -> Result:
    return a - b


@salu("s_mul_i32", "i32 = i32 i32")
@salu("s_mulk_i32", "i32 = ^i32 i32")
@salu("s_mul_u64", "u64 = u64 u64")
def multiply(c: Context, a: Value, b: Value) -> Result:
    return a * b


@salu("s_mul_hi_u32", "u32 = u32 u32")
def multiply_high(c: Context, a: Value, b: Value) -> Result:
    return (a.zext("i64") * b.zext("i64")).lshr(32).trunc("i32")


@salu("s_mul_hi_i32", "i32 = i32 i32")
def multiply_high_signed(c: Context, a: Value, b: Value) -> Result:
    return (a.sext("i64") * b.sext("i64")).lshr(32).trunc("i32")


@salu("s_lshl_b32", "b32 scc = b32 u32")
@salu("s_lshl_b64", "b64 scc = b64 u32")
def shift_left(c: Context, a: Value, count: Value) -> Result:
    result = a.shl(count)
    return result, result.ne(0)


@salu("s_lshr_b32", "b32 scc = b32 u32")
@salu("s_lshr_b64", "b64 scc = b64 u32")
def shift_right(c: Context, a: Value, count: Value) -> Result:
    result = a.lshr(count)
    return result, result.ne(0)


@salu("s_ashr_i32", "i32 scc = i32 u32")
@salu("s_ashr_i64", "i64 scc = i64 u32")
def shift_right_signed(c: Context, a: Value, count: Value) -> Result:
    result = a.ashr(count)
    return result, result.ne(0)


def _shift_add(count: int) -> None:
    @salu(f"s_lshl{count}_add_u32", "u32 scc = u32 u32")
    def shift_add(c: Context, a: Value, b: Value) -> Result:
        """SCC is unsigned overflow."""
        total = a.zext("i64").shl(count) + b.zext("i64")
        return total.trunc("i32"), total.lshr(32).ne(0)


for _count in range(1, 5):
    _shift_add(_count)


def _extremes(name: str, predicate: str) -> None:
    @salu(name, "u32 scc = u32 u32")
    def extreme(c: Context, a: Value, b: Value) -> Result:
        """SCC: the first source was chosen."""
        first = a.compare(predicate, b)
        return first.select(a, b), first


for _name, _predicate in {"s_min_i32": "slt", "s_min_u32": "ult", "s_max_i32": "sgt", "s_max_u32": "ugt"}.items():
    _extremes(_name, _predicate)


def _compares(name: str, signed: str, unsigned: str) -> None:
    def compare(predicate: str) -> Callable[[Context, Value, Value], Result]:
        return lambda c, a, b: a.compare(predicate, b)

    salu(f"s_cmp_{name}_i32", "scc = i32 i32")(compare(signed))
    salu(f"s_cmp_{name}_u32", "scc = u32 u32")(compare(unsigned))
    salu(f"s_cmpk_{name}_i32", "scc = i32 i32")(compare(signed))
    salu(f"s_cmpk_{name}_u32", "scc = u32 u32")(lambda c, a, b: a.compare(unsigned, b & 0xFFFF))
    if name in ("eq", "lg"):
        salu(f"s_cmp_{name}_u64", "scc = u64 u64")(compare(unsigned))


ORDERS: Final = (
    ("eq", "eq", "eq"), ("lg", "ne", "ne"), ("gt", "sgt", "ugt"), ("ge", "sge", "uge"), ("lt", "slt", "ult"),
    ("le", "sle", "ule"),
)  # fmt: skip
for _row in ORDERS:
    _compares(*_row)


@salu("s_bitcmp0_b32", "scc = b32 u32")
@salu("s_bitcmp0_b64", "scc = b64 u32")
def bit_is_clear(c: Context, a: Value, index: Value) -> Result:
    return (a.lshr(index) & 1).eq(0)


@salu("s_bitcmp1_b32", "scc = b32 u32")
@salu("s_bitcmp1_b64", "scc = b64 u32")
def bit_is_set(c: Context, a: Value, index: Value) -> Result:
    return (a.lshr(index) & 1).ne(0)


@salu("s_bitset0_b32", "b32 = u32 ^b32")
@salu("s_bitset0_b64", "b64 = u32 ^b64")
def clear_bit(c: Context, index: Value, old: Value) -> Result:
    return old & ~old.like(1).shl(index)


@salu("s_bitset1_b32", "b32 = u32 ^b32")
@salu("s_bitset1_b64", "b64 = u32 ^b64")
def set_bit(c: Context, index: Value, old: Value) -> Result:
    return old | old.like(1).shl(index)


@salu("s_brev_b32", "b32 = b32")
@salu("s_brev_b64", "b64 = b64")
def reverse(c: Context, a: Value) -> Result:
    return c.intrinsic("bitreverse", a)


@salu("s_bcnt1_i32_b32", "u32 scc = b32")
@salu("s_bcnt1_i32_b64", "u32 scc = b64")
def count_set(c: Context, a: Value) -> Result:
    count = c.intrinsic("ctpop", a).resize("i32")
    return count, count.ne(0)


@salu("s_bcnt0_i32_b32", "u32 scc = b32")
@salu("s_bcnt0_i32_b64", "u32 scc = b64")
def count_clear(c: Context, a: Value) -> Result:
    return count_set(c, ~a)


def _found(a: Value, position: Value) -> Value:
    """-1 where there is no such bit."""
    return a.eq(0).select(-1, position.resize("i32"))


@salu("s_ff1_i32_b32 s_ctz_i32_b32", "u32 = b32")
@salu("s_ff1_i32_b64 s_ctz_i32_b64", "u32 = b64")
def first_set(c: Context, a: Value) -> Result:
    return _found(a, c.intrinsic("cttz", a, extra="i1 false"))


@salu("s_ff0_i32_b32", "u32 = b32")
@salu("s_ff0_i32_b64", "u32 = b64")
def first_clear(c: Context, a: Value) -> Result:
    return first_set(c, ~a)


@salu("s_flbit_i32_b32 s_clz_i32_u32", "u32 = b32")
@salu("s_flbit_i32_b64 s_clz_i32_u64", "u32 = b64")
def leading_zeros(c: Context, a: Value) -> Result:
    return _found(a, c.intrinsic("ctlz", a, extra="i1 false"))


@salu("s_flbit_i32 s_cls_i32", "i32 = i32")
@salu("s_flbit_i32_i64 s_cls_i32_i64", "i32 = i64")
def leading_signs(c: Context, a: Value) -> Result:
    """Bits from the top that equal the sign; -1 for 0 and -1."""
    return leading_zeros(c, a ^ a.ashr(a.width - 1))


@salu("s_sext_i32_i8", "i32 = i32")
def extend_byte(c: Context, a: Value) -> Result:
    return a.shl(24).ashr(24)


@salu("s_sext_i32_i16", "i32 = i32")
def extend_short(c: Context, a: Value) -> Result:
    return a.shl(16).ashr(16)


@salu("s_abs_i32", "i32 scc = i32")
def absolute(c: Context, a: Value) -> Result:
    result = a.compare("slt", 0).select(-a, a)
    return result, result.ne(0)


@salu("s_absdiff_i32", "i32 scc = i32 i32")
def absolute_difference(c: Context, a: Value, b: Value) -> Result:
    return absolute(c, a - b)


@salu("s_bfm_b32", "b32 = u32 u32")
def mask32(c: Context, size: Value, offset: Value) -> Result:
    return (size.like(1).shl(size) - 1).shl(offset)


@salu("s_bfm_b64", "b64 = u32 u32")
def mask64(c: Context, size: Value, offset: Value) -> Result:
    return mask32(c, size.zext("i64"), offset.zext("i64"))


def _field(c: Context, a: Value, packed: Value) -> tuple[Value, Value]:
    """Offset and size, at most the width, of s_bfe's second source."""
    offset = packed & (a.width - 1)
    size = c.umin(packed.lshr(16) & 0x7F, packed.like(a.width))
    return offset.resize(a.element), size.resize(a.element)


@salu("s_bfe_u32", "u32 scc = u32 u32")
@salu("s_bfe_u64", "u64 scc = u64 u32")
def extract(c: Context, a: Value, packed: Value) -> Result:
    offset, size = _field(c, a, packed)
    room = a.like(a.width) - size
    result = size.eq(0).select(a.like(0), a.lshr(offset).shl(room).lshr(room))
    return result, result.ne(0)


@salu("s_bfe_i32", "i32 scc = i32 u32")
@salu("s_bfe_i64", "i64 scc = i64 u32")
def extract_signed(c: Context, a: Value, packed: Value) -> Result:
    offset, size = _field(c, a, packed)
    room = a.like(a.width) - size
    result = size.eq(0).select(a.like(0), a.lshr(offset).shl(room).ashr(room))
    return result, result.ne(0)


def _pack(name: str, first_high: bool, second_high: bool) -> None:
    @salu(f"s_pack_{name}_b32_b16", "b32 = b32 b32")
    def pack(c: Context, a: Value, b: Value) -> Result:
        low = a.lshr(16) if first_high else a & 0xFFFF
        return low | (b & 0xFFFF0000 if second_high else b.shl(16))


for _letters in ("ll", "lh", "hh", "hl"):
    _pack(_letters, _letters[0] == "h", _letters[1] == "h")


@salu("s_bitreplicate_b64_b32", "b64 = b32")
def replicate(c: Context, a: Value) -> Result:
    """Every bit twice."""
    spread = a.zext("i64")
    for shift, mask in (
        (16, 0x0000FFFF0000FFFF), (8, 0x00FF00FF00FF00FF), (4, 0x0F0F0F0F0F0F0F0F), (2, 0x3333333333333333),
        (1, 0x5555555555555555),
    ):  # fmt: skip
        spread = (spread | spread.shl(shift)) & mask
    return spread | spread.shl(1)


@salu("s_wqm_b32", "b32 scc = b32")
@salu("s_wqm_b64", "b64 scc = b64")
def whole_quads(c: Context, a: Value) -> Result:
    """All four bits of a quad where any is set."""
    ones = a.like(0x1111111111111111 & (1 << a.width) - 1)
    result = ((a | a.lshr(1) | a.lshr(2) | a.lshr(3)) & ones) * 15
    return result, result.ne(0)


@salu("s_quadmask_b32", "b32 scc = b32")
@salu("s_quadmask_b64", "b64 scc = b64")
def quads(c: Context, a: Value) -> Result:
    """A bit for each quad where any is set."""
    result = (a | a.lshr(1) | a.lshr(2) | a.lshr(3)) & (0x1111111111111111 & (1 << a.width) - 1)
    for shift, mask in ((3, 0x0303030303030303), (6, 0x000F000F000F000F), (12, 0x000000FF000000FF), (24, 0xFFFF)):
        if shift < 24 or a.width == 64:
            result = (result | result.lshr(shift)) & (mask & (1 << a.width) - 1)
    return result, result.ne(0)


@salu("s_getpc_b64", "b64 = pc")
def get_pc(c: Context, pc: Value) -> Result:
    return pc


@salu("s_setpc_b64", "pc = b64")
def set_pc(c: Context, to: Value) -> Result:
    return to


@salu("s_swappc_b64", "b64 pc = b64 pc")
def swap_pc(c: Context, to: Value, pc: Value) -> Result:
    return pc, to


@salu("s_call_b64", "b64 pc = i64 pc")
def call(c: Context, words: Value, pc: Value) -> Result:
    return pc, pc + words.shl(2)


@salu("s_memtime s_memrealtime s_get_shader_cycles_u64", "b64 =")
def time(c: Context) -> Result:
    return c.writer.call("llvm.readcyclecounter", "i64", 0)


@salu("s_sendmsg_rtn_b32", "b32 =")
def message(c: Context) -> Result:
    return c.writer.constant("i32", 0)


@salu("s_sendmsg_rtn_b64", "b64 =")
def long_message(c: Context) -> Result:
    return c.writer.constant("i64", 0)
