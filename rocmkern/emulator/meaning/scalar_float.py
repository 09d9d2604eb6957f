"""Scalar floating point of gfx1150 and later: the meanings of the vector instructions, once per wave."""

from __future__ import annotations

from typing import Final

from rocmkern.emulator.ir import Value
from rocmkern.emulator.meaning import convert, float_order, float_parts, transcendental, vector_float
from rocmkern.emulator.meaning.api import ROWS, Context, Result, salu

USED: Final = (convert, float_order, float_parts, transcendental, vector_float)  # their rows are registered by import

TYPES: Final = ("f32", "f16")
SAME: Final = "add mul sub min max min_num max_num minimum maximum fmac ceil floor trunc rndne"
CONVERSIONS: Final = "f32_i32 f32_u32 i32_f32 u32_f32 f16_f32 f32_f16"
PSEUDO: Final = "exp log rcp rsq sqrt"


def _like_vector(scalar: str, vector: str) -> None:
    row = ROWS[vector]
    assert row.emit is not None
    salu(scalar, f"{' '.join(row.destinations)} = {' '.join(row.sources)}")(row.emit)


for _type in TYPES:
    for _operation in SAME.split():
        _like_vector(f"s_{_operation}_{_type}", f"v_{_operation}_{_type}")
    for _operation in PSEUDO.split():
        _like_vector(f"v_s_{_operation}_{_type}", f"v_{_operation}_{_type}")
    for _predicate in float_order.PREDICATES:
        _row = ROWS[f"v_cmp_{_predicate}_{_type}"]
        assert _row.emit is not None
        salu(f"s_cmp_{_predicate}_{_type}", f"scc = {_type} {_type}")(_row.emit)
for _conversion in CONVERSIONS.split():
    _like_vector(f"s_cvt_{_conversion}", f"v_cvt_{_conversion}")
_like_vector("s_cvt_pk_rtz_f16_f32", "v_cvt_pk_rtz_f16_f32")
_like_vector("s_fmaak_f32", "v_fmaak_f32")
_like_vector("s_fmamk_f32", "v_fmamk_f32")


@salu("s_cvt_hi_f32_f16", "f32 = b32")
def single_of_high_half(c: Context, a: Value) -> Result:
    return a.lshr(16).trunc("i16").bits("half").cast("fpext", "float")
