"""Memory instructions: what each moves. Addresses follow from the encoding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from attrs import evolve

from rocmkern.emulator.ir import Value
from rocmkern.emulator.meaning.api import Access, Context, Result, memory
from rocmkern.emulator.meaning.float_order import greatest, least

FLAT: Final = ("global", "flat", "scratch", "buffer")
# Loads of less than a dword, by their names before gfx11 and since.
NARROW: Final = (
    ("ubyte", "u8", Access("load", 8)),
    ("sbyte", "i8", Access("load", 8, extend="sext")),
    ("ushort", "u16", Access("load", 16)),
    ("sshort", "i16", Access("load", 16, extend="sext")),
)
HALVES: Final[tuple[tuple[Literal["low", "high"], str], ...]] = (("low", ""), ("high", "_hi"))


def _flat(old: str, new: str, access: Access, spaces: tuple[str, ...] = FLAT) -> None:
    """A name before gfx11, one since (or the same), in each space."""
    for space in spaces:
        memory(" ".join(dict.fromkeys((f"{space}_{old}", f"{space}_{new}"))), access)


for _n in (1, 2, 3, 4):
    _suffix = "dword" if _n == 1 else f"dwordx{_n}"
    _flat(f"load_{_suffix}", f"load_b{32 * _n}", Access("load", count=_n))
    _flat(f"store_{_suffix}", f"store_b{32 * _n}", Access("store", count=_n))
for _old, _new, _access in NARROW:
    _flat(f"load_{_old}", f"load_{_new}", _access)
    if _access.bits == 8:
        for _half, _tail in HALVES:
            _flat(f"load_{_old}_d16{_tail}", f"load_d16{_tail}_{_new}", evolve(_access, half=_half))
for _half, _tail in HALVES:
    _flat(f"load_short_d16{_tail}", f"load_d16{_tail}_b16", Access("load", 16, half=_half))
_flat("store_byte", "store_b8", Access("store", 8))
_flat("store_short", "store_b16", Access("store", 16))
_flat("store_byte_d16_hi", "store_d16_hi_b8", Access("store", 8, half="high"))
_flat("store_short_d16_hi", "store_d16_hi_b16", Access("store", 16, half="high"))

# Scalar memory.
for _n in (1, 2, 3, 4, 8, 16):
    _suffix = "dword" if _n == 1 else f"dwordx{_n}"
    for _kind in ("s", "s_buffer"):
        memory(f"{_kind}_load_{_suffix} {_kind}_load_b{32 * _n}", Access("load", count=_n))
        if _n in (1, 2, 4):
            memory(f"{_kind}_store_{_suffix}", Access("store", count=_n))
for _, _name, _access in NARROW:
    for _kind in ("s", "s_buffer"):
        memory(f"{_kind}_load_{_name}", _access)
for _n in (1, 2, 4):
    _suffix = "dword" if _n == 1 else f"dwordx{_n}"
    for _operation in ("load", "store"):
        memory(f"s_scratch_{_operation}_{_suffix}", Access(_operation, count=_n, stride=64))

# Atomics: name before gfx11, name since (type suffix apart), LLVM's operation, letter of the type.
ATOMICS: Final = (
    ("swap", "swap", "xchg", "b"),
    ("cmpswap", "cmpswap", "cmpxchg", "b"),
    ("add", "add", "add", "u"),
    ("sub", "sub", "sub", "u"),
    ("smin", "min", "min", "i"),
    ("umin", "min", "umin", "u"),
    ("smax", "max", "max", "i"),
    ("umax", "max", "umax", "u"),
    ("and", "and", "and", "b"),
    ("or", "or", "or", "b"),
    ("xor", "xor", "xor", "b"),
    ("inc", "inc", "uinc_wrap", "u"),
    ("dec", "dec", "udec_wrap", "u"),
)
ATOMIC_SPACES: Final = ("global", "flat", "buffer")

for _old, _new, _operation, _letter in ATOMICS:
    for _bits, _tail in ((32, ""), (64, "_x2")):
        _flat(
            f"atomic_{_old}{_tail}", f"atomic_{_new}_{_letter}{_bits}", Access(_operation, _bits), ATOMIC_SPACES
        )  # fmt: skip
        memory(f"s_atomic_{_old}{_tail} s_buffer_atomic_{_old}{_tail}", Access(_operation, _bits))


def _half_pairs(old: Value, data: Value, element: str) -> tuple[Value, Value]:
    """The two halves of both, as floats."""
    w = old.writer
    pairs = [w.emit(f"bitcast i32 {v.text} to <2 x {element}>", element, 2) for v in (old, data)]
    return pairs[0], pairs[1]


def _taken(c: Context, operand: Value) -> Value:
    return c.mode.taken(operand) if c.mode else operand


def _given(c: Context, result: Value) -> Value:
    return c.mode.given(result) if c.mode else result


def _packed_f16(c: Context, old: Value, data: Value) -> Result:
    a, b = (_taken(c, v) for v in _half_pairs(old, data, "half"))
    return _given(c, a + b).bits("i32").lane(0)


def round_bf16(w: Value) -> Value:
    """f32 to bf16 bits, nearest even, NaN kept."""
    bits = w.as_int()
    rounded = (bits + 0x7FFF + (bits.lshr(16) & 1)).lshr(16)
    return w.is_nan().select(bits.lshr(16) | 0x40, rounded)


def _packed_bf16(c: Context, old: Value, data: Value) -> Result:
    low = round_bf16(old.shl(16).bits("float") + data.shl(16).bits("float"))
    high = round_bf16((old & 0xFFFF0000).bits("float") + (data & 0xFFFF0000).bits("float"))
    return (low & 0xFFFF) | high.shl(16)


ELEMENTS: Final = {32: "float", 64: "double"}


def _swap_if_equal(c: Context, old: Value, new: Value, comparand: Value) -> Result:
    """Zeros of both signs are equal, NaN is equal to nothing."""
    element = ELEMENTS[old.width]
    return _taken(c, old.bits(element)).eq(_taken(c, comparand.bits(element))).select(new, old)


def _add_floats(names: str, bits: int) -> None:
    def add(c: Context, old: Value, data: Value) -> Result:
        a, b = (_taken(c, v.bits(ELEMENTS[bits])) for v in (old, data))
        return _given(c, a + b).as_int()

    memory(names, Access("fadd", bits, element=ELEMENTS[bits]), add)


def _order_floats(names: str, choose: Callable[[Context, Value, Value], Value], bits: int) -> None:
    """Zeros are ordered by sign, and a number wins over a NaN, which LLVM's atomics do not promise."""

    def emit(c: Context, old: Value, data: Value) -> Result:
        a, b = (_taken(c, v.bits(ELEMENTS[bits])) for v in (old, data))
        return _given(c, choose(c, a, b)).as_int()

    emit.__name__ = choose.__name__
    memory(names, Access("custom", bits), emit)


for _space in ATOMIC_SPACES:
    for _bits in ELEMENTS:
        _add_floats(f"{_space}_atomic_add_f{_bits}", _bits)
    for _kind, _choose in (("min", least), ("max", greatest)):
        _order_floats(f"{_space}_atomic_{_kind}_f64 {_space}_atomic_f{_kind}_x2", _choose, 64)
        _order_floats(
            f"{_space}_atomic_f{_kind} {_space}_atomic_{_kind}_f32 {_space}_atomic_{_kind}_num_f32", _choose, 32
        )  # fmt: skip
    memory(
        f"{_space}_atomic_fcmpswap {_space}_atomic_cmpswap_f32", Access("custom", 32, operands=2), _swap_if_equal
    )  # fmt: skip
    memory(f"{_space}_atomic_fcmpswap_x2", Access("custom", 64, operands=2), _swap_if_equal)
    memory(f"{_space}_atomic_pk_add_f16", Access("custom"), _packed_f16)
    memory(f"{_space}_atomic_pk_add_bf16", Access("custom"), _packed_bf16)


def _subtract_clamped(c: Context, old: Value, data: Value) -> Result:
    return c.intrinsic("usub.sat", old, data)


def _subtract_if_enough(c: Context, old: Value, data: Value) -> Result:
    return old.compare("uge", data).select(old - data, old)


for _space in (*ATOMIC_SPACES, "ds"):
    _names = "{0}_sub_clamp_u32 {0}_sub_clamp_rtn_u32" if _space == "ds" else "{0}_atomic_sub_clamp_u32"
    memory(_names.format(_space), Access("custom"), _subtract_clamped)
    memory(_names.replace("sub_clamp", "cond_sub").format(_space), Access("custom"), _subtract_if_enough)
for _space in ("global", "buffer"):
    memory(f"{_space}_atomic_csub {_space}_atomic_csub_u32", Access("custom"), _subtract_clamped)

# Without a vector address.
for _operation in ("load", "store"):
    memory(f"global_{_operation}_dword_addtid global_{_operation}_addtid_b32", Access(_operation, place="lane"))
for _old, _new in (("read", "load"), ("write", "store")):
    memory(f"ds_{_old}_addtid_b32 ds_{_new}_addtid_b32", Access(_new, place="lane"))
memory("ds_append", Access("add", place="wave"))
memory("ds_consume", Access("sub", place="wave"))

# Between memory and LDS, each lane a dword or more.
memory("buffer_store_lds_dword", Access("store"))
for _space in ("global", "scratch"):
    for _name, _, _access in NARROW:
        memory(f"{_space}_load_lds_{_name}", _access)
    memory(f"{_space}_load_lds_dword", Access("load"))
for _n in (3, 4):
    memory(f"global_load_lds_dwordx{_n}", Access("load", count=_n))

# LDS.
for _n in (1, 2, 3, 4):
    memory(f"ds_read_b{32 * _n} ds_load_b{32 * _n}", Access("load", count=_n))
    memory(f"ds_write_b{32 * _n} ds_store_b{32 * _n}", Access("store", count=_n))
for _, _name, _access in NARROW:
    memory(f"ds_read_{_name} ds_load_{_name}", _access)
    if _name != "i16":
        for _half, _tail in HALVES:
            memory(f"ds_read_{_name}_d16{_tail} ds_load_{_name}_d16{_tail}", evolve(_access, half=_half))
for _bits in (8, 16):
    memory(f"ds_write_b{_bits} ds_store_b{_bits}", Access("store", _bits))
    memory(f"ds_write_b{_bits}_d16_hi ds_store_b{_bits}_d16_hi", Access("store", _bits, half="high"))
for _bits in (32, 64):
    for _tail, _units in (("", 1), ("st64", 64)):
        _count, _stride = _bits // 32, _bits // 8 * _units
        memory(
            f"ds_read2{_tail}_b{_bits} ds_load_2addr{'_stride64' if _tail else ''}_b{_bits}",
            Access("load", count=_count, stride=_stride),
        )
        memory(
            f"ds_write2{_tail}_b{_bits} ds_store_2addr{'_stride64' if _tail else ''}_b{_bits}",
            Access("store", count=_count, stride=_stride),
        )
        memory(
            f"ds_wrxchg2{_tail}_rtn_b{_bits} ds_storexchg_2addr{'_stride64' if _tail else ''}_rtn_b{_bits}",
            Access("xchg", _bits, stride=_stride),
        )

LDS_ATOMICS: Final = (
    ("add_u", "add"), ("sub_u", "sub"), ("inc_u", "uinc_wrap"), ("dec_u", "udec_wrap"), ("min_i", "min"),
    ("max_i", "max"), ("min_u", "umin"), ("max_u", "umax"), ("and_b", "and"), ("or_b", "or"), ("xor_b", "xor"),
)  # fmt: skip


def _reverse_subtract(c: Context, old: Value, data: Value) -> Result:
    return data - old


def _or_masked(c: Context, old: Value, mask: Value, data: Value) -> Result:
    return old & ~mask | data


def _wrap(c: Context, old: Value, less: Value, more: Value) -> Result:
    return old.compare("uge", less).select(old - less, old + more)


def _exchange_marked(c: Context, old: Value, data: Value) -> Result:
    """Each dword whose highest bit is set is written, without that bit."""
    result = old
    for shift, other in ((0, -1 << 32), (32, 0xFFFFFFFF)):
        is_marked = (data.lshr(shift + 31) & 1).ne(0)
        result = is_marked.select(result & other | data & 0x7FFFFFFF << shift, result)
    return result


for _bits in (32, 64):
    for _name, _operation in LDS_ATOMICS:
        _kind, _letter = _name.split("_")
        memory(f"ds_{_kind}_{_letter}{_bits} ds_{_kind}_rtn_{_letter}{_bits}", Access(_operation, _bits))
    memory(f"ds_rsub_u{_bits} ds_rsub_rtn_u{_bits}", Access("custom", _bits), _reverse_subtract)
    memory(f"ds_mskor_b{_bits} ds_mskor_rtn_b{_bits}", Access("custom", _bits, operands=2), _or_masked)
    memory(
        f"ds_cmpst_f{_bits} ds_cmpst_rtn_f{_bits} ds_cmpstore_f{_bits} ds_cmpstore_rtn_f{_bits}",
        Access("custom", _bits, operands=2),
        _swap_if_equal,
    )
    memory(f"ds_wrxchg_rtn_b{_bits} ds_storexchg_rtn_b{_bits}", Access("xchg", _bits))
    memory(
        f"ds_cmpst_b{_bits} ds_cmpst_rtn_b{_bits} ds_cmpstore_b{_bits} ds_cmpstore_rtn_b{_bits}",
        Access("cmpxchg", _bits),
    )
    _add_floats(f"ds_add_f{_bits} ds_add_rtn_f{_bits}", _bits)
    for _kind, _choose in (("min", least), ("max", greatest)):
        _order_floats(
            f"ds_{_kind}_f{_bits} ds_{_kind}_rtn_f{_bits} ds_{_kind}_num_f{_bits} ds_{_kind}_num_rtn_f{_bits}",
            _choose,
            _bits,
        )
memory("ds_pk_add_f16 ds_pk_add_rtn_f16", Access("custom"), _packed_f16)
memory("ds_pk_add_bf16 ds_pk_add_rtn_bf16", Access("custom"), _packed_bf16)
memory("ds_wrap_rtn_b32", Access("custom", operands=2), _wrap)
memory("ds_condxchg32_rtn_b64", Access("custom", 64), _exchange_marked)

# Matrices that are transposed on the way, for matrix instructions. 8-bit ones of gfx12 are missing: which lanes
# exchange what is not published.
for _bits, _registers in ((16, 2), (8, 2), (4, 2), (6, 3)):
    memory(f"ds_read_b{32 * _registers}_tr_b{_bits}", Access("load", count=_registers, transpose=(_bits, 16)))
memory("global_load_tr_b128", Access("load", count=4, transpose=(16, 8)))

for _space in ("global", "scratch"):
    memory(f"{_space}_load_block", Access("load", block=True))
    memory(f"{_space}_store_block", Access("store", block=True))
