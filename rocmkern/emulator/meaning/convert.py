"""Vector ALU: conversions between number formats."""

from __future__ import annotations

from typing import Final

from rocmkern.emulator.ir import Value
from rocmkern.emulator.meaning.api import Context, Result, rounded, valu
from rocmkern.emulator.meaning.vector_float import quiet

_TYPES: Final[dict[str, str]] = {"f16": "half", "f32": "float", "f64": "double"}


def to_integer(c: Context, a: Value, element: str, signed: bool, width: int = 0) -> Value:
    """Truncated toward zero and saturated to `width` bits (default: the element's); NaN is 0."""
    bits = width or Value(a.writer, element, 0, "").width
    low = -(1 << (bits - 1)) if signed else 0
    high = (1 << (bits - 1)) - 1 if signed else (1 << bits) - 1
    wide = a.cast("fpext", "float") if a.element == "half" else a
    digits = 24 if wide.element == "float" else 53
    # the largest number of the source format that does not exceed `high`
    most = (
        high if high.bit_length() <= digits else (high >> (high.bit_length() - digits)) << (high.bit_length() - digits)
    )
    inside = wide.compare("ogt", float(low)).select(wide, float(low))
    inside = inside.compare("olt", float(most)).select(inside, float(most))
    result = inside.cast("fptosi" if signed else "fptoui", element)
    if most != high:
        result = wide.compare("ogt", float(most)).select(result.like(high), result)
    return wide.is_nan().select(result.like(0), result)


for _from, _to, _signed in (
    ("f32", "i32", True), ("f32", "u32", False), ("f64", "i32", True), ("f64", "u32", False),
    ("f16", "i16", True), ("f16", "u16", False),
):  # fmt: skip

    @valu(f"v_cvt_{_to}_{_from}", f"{_to} = {_from}")
    def _to_integer(c: Context, a: Value, element: str = f"i{_to[1:]}", signed: bool = _signed) -> Result:
        """Truncated toward zero, saturated; NaN gives 0."""
        return to_integer(c, a, element, signed)


@valu("v_cvt_rpi_i32_f32 v_cvt_nearest_i32_f32", "i32 = f32")
def nearest_integer(c: Context, a: Value) -> Result:
    """⌊a + ½⌋, saturated."""
    return to_integer(c, c.intrinsic("floor", a + 0.5), "i32", True)


@valu("v_cvt_flr_i32_f32 v_cvt_floor_i32_f32", "i32 = f32")
def floor_integer(c: Context, a: Value) -> Result:
    """⌊a⌋, saturated."""
    return to_integer(c, c.intrinsic("floor", a), "i32", True)


for _name, _op in (
    ("f32_i32", "sitofp"), ("f32_u32", "uitofp"), ("f64_i32", "sitofp"), ("f64_u32", "uitofp"),
):  # fmt: skip
    _to, _from = _name.split("_")

    @valu(f"v_cvt_{_name}", f"{_to} = {_from}")
    @rounded
    def _from_integer(c: Context, a: Value, op: str = _op, element: str = _TYPES[_to]) -> Result:
        """Rounded to nearest even."""
        return a.cast(op, element)


@valu("v_cvt_f16_i16", "f16 = i16")
@rounded
def half_of_signed(c: Context, a: Value) -> Result:
    return a.cast("sitofp", "float").cast("fptrunc", "half")


@valu("v_cvt_f16_u16", "f16 = u16")
@rounded
def half_of_unsigned(c: Context, a: Value) -> Result:
    return a.cast("uitofp", "float").cast("fptrunc", "half")


@valu("v_cvt_i32_i16", "i32 = i16")
def sign_extend(c: Context, a: Value) -> Result:
    return a.sext("i32")


@valu("v_cvt_u32_u16", "u32 = u16")
def zero_extend(c: Context, a: Value) -> Result:
    return a.zext("i32")


@valu("v_cvt_f32_f64", "f32 = f64")
@rounded
def single_of_double(c: Context, a: Value) -> Result:
    return a.cast("fptrunc", "float")


@valu("v_cvt_f64_f32", "f64 = f32")
def double_of_single(c: Context, a: Value) -> Result:
    return a.cast("fpext", "double")


@valu("v_cvt_f32_f16", "f32 = f16")
def single_of_half(c: Context, a: Value) -> Result:
    return a.cast("fpext", "float")


@valu("v_cvt_f16_f32", "f16 = f32")
@rounded
def half_of_single(c: Context, a: Value) -> Result:
    return a.cast("fptrunc", "half")


for _byte in range(4):

    @valu(f"v_cvt_f32_ubyte{_byte}", "f32 = b32")
    def _byte_to_float(c: Context, a: Value, shift: int = 8 * _byte) -> Result:
        """One byte as a number."""
        return (a.lshr(shift) & 0xFF).cast("uitofp", "float")


@valu("v_cvt_off_f32_i4", "f32 = b32")
def offset_of_nibble(c: Context, a: Value) -> Result:
    """The low four bits as a signed number of sixteenths."""
    return a.shl(28).ashr(28).cast("sitofp", "float") * 0.0625


def pair(low: Value, high: Value) -> Value:
    """Two 16-bit values in 32 bits."""
    return low.as_int().zext("i32") | high.as_int().zext("i32").shl(16)


def truncated_half(c: Context, a: Value) -> Value:
    """f32 to f16 toward zero; finite stays finite."""
    nearest = a.cast("fptrunc", "half")
    size, exact = nearest.as_int() & 0x7FFF, c.intrinsic("fabs", a)
    beyond = (size.bits("half").cast("fpext", "float")).compare("ogt", exact)
    return beyond.select(nearest.as_int() - 1, nearest.as_int()).bits("half")


@valu("v_cvt_pkrtz_f16_f32 v_cvt_pk_rtz_f16_f32", "b32 = f32 f32")
def pack_truncated(c: Context, a: Value, b: Value) -> Result:
    return pair(truncated_half(c, a), truncated_half(c, b))


@valu("v_cvt_pk_f16_f32", "b32 = f32 f32")
@rounded
def pack_half(c: Context, a: Value, b: Value) -> Result:
    return pair(a.cast("fptrunc", "half"), b.cast("fptrunc", "half"))


@valu("v_pack_b32_f16", "b32 = f16 f16")
def pack(c: Context, a: Value, b: Value) -> Result:
    return pair(a, b)


def bfloat_bits(a: Value) -> Value:
    """f32 to the 16 bits of bf16, to nearest even; in integers, since conversion instructions flush subnormals."""
    bits = a.as_int()
    rounded = (bits + 0x7FFF + (bits.lshr(16) & 1)).lshr(16)
    return a.is_nan().select(quiet(a).as_int().lshr(16), rounded).trunc("i16")


@valu("v_cvt_pk_bf16_f32", "b32 = f32 f32")
def pack_bfloat(c: Context, a: Value, b: Value) -> Result:
    return pair(bfloat_bits(a), bfloat_bits(b))


@valu("v_cvt_f32_bf16", "f32 = u32")
def single_of_bfloat(c: Context, a: Value) -> Result:
    return a.shl(16).bits("float")


def _normalized(c: Context, a: Value, signed: bool) -> Value:
    wide = a.cast("fpext", "double")  # in which the product is exact
    scaled = c.intrinsic("rint", wide * (32767.0 if signed else 65535.0))
    low, high = (-32767.0, 32767.0) if signed else (0.0, 65535.0)
    inside = scaled.compare("ogt", low).select(scaled, low)
    inside = inside.compare("olt", high).select(inside, high)
    return wide.is_nan().select(0.0, inside).cast("fptosi", "i32").trunc("i16")


for _from in ("f16", "f32"):
    for _to, _signed in (("i16", True), ("u16", False)):

        @valu(f"v_cvt_pknorm_{_to}_{_from} v_cvt_pk_norm_{_to}_{_from}", f"b32 = {_from} {_from}")
        def _pack_normalized(c: Context, a: Value, b: Value, signed: bool = _signed) -> Result:
            """±1 (or 0 … 1) to the full range of 16 bits, saturated."""
            return pair(_normalized(c, a, signed), _normalized(c, b, signed))


for _to, _signed in (("i16", True), ("u16", False)):

    @valu(f"v_cvt_norm_{_to}_f16", f"{_to} = f16")
    def _normalize(c: Context, a: Value, signed: bool = _signed) -> Result:
        """±1 (or 0 … 1) to the full range of 16 bits, saturated."""
        return _normalized(c, a, signed)

    @valu(f"v_cvt_pk_{_to}_f32", "b32 = f32 f32")
    def _pack_integers(c: Context, a: Value, b: Value, signed: bool = _signed) -> Result:
        """Truncated toward zero, saturated to 16 bits."""
        low, high = (to_integer(c, v, "i32", signed, 16).trunc("i16") for v in (a, b))
        return pair(low, high)


@valu("v_cvt_pk_i16_i32", "b32 = i32 i32")
def pack_signed(c: Context, a: Value, b: Value) -> Result:
    """Saturated."""
    low, high = (c.smin(c.smax(v, v.like(-0x8000)), v.like(0x7FFF)).trunc("i16") for v in (a, b))
    return pair(low, high)


@valu("v_cvt_pk_u16_u32", "b32 = u32 u32")
def pack_unsigned(c: Context, a: Value, b: Value) -> Result:
    """Saturated."""
    low, high = (c.umin(v, v.like(0xFFFF)).trunc("i16") for v in (a, b))
    return pair(low, high)


@valu("v_cvt_pk_u8_f32", "b32 = f32 u32 b32")
@rounded
def insert_byte(c: Context, a: Value, place: Value, old: Value) -> Result:
    """Rounded, saturated to 0 … 255, into one byte of the third operand."""
    whole = c.writer.rounding.integral(a) if c.writer.rounding else c.intrinsic("roundeven", a)
    byte = to_integer(c, whole, "i32", False, 8)
    shift = (place & 3).shl(3)
    return (old & ~shift.like(0xFF).shl(shift)) | byte.shl(shift)


@valu("v_sat_pk_u8_i16", "u16 = b32")
def saturate_bytes(c: Context, a: Value) -> Result:
    """Two signed 16-bit numbers, saturated to bytes."""
    low, high = a.trunc("i16"), a.lshr(16).trunc("i16")
    low, high = (c.smin(c.smax(v, v.like(0)), v.like(255)) for v in (low, high))
    return low | high.shl(8)
