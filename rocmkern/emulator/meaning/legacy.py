"""What graphics have left behind: faces of a cube, products where zero wins, bytes put beside each other; moves between
scalar registers that M0 chooses."""

from __future__ import annotations

from rocmkern.emulator.ir import Value
from rocmkern.emulator.meaning.api import Context, Result, State, rounded, state, valu
from rocmkern.emulator.meaning.convert import insert_byte
from rocmkern.emulator.meaning.vector_float import fused


def _by_axis(c: Context, x: Value, y: Value, z: Value, on_z: Value, on_y: Value, on_x: Value) -> Value:
    """By the coordinate of the largest magnitude; z before y before x where they are equal."""
    a, b, d = (c.intrinsic("fabs", v) for v in (x, y, z))
    is_z = d.compare("oge", a) & d.compare("oge", b)
    return is_z.select(on_z, b.compare("oge", a).select(on_y, on_x))


def _where_negative(v: Value, negative: Value | float, other: Value | float) -> Value:
    return v.compare("olt", 0.0).select(negative, other if isinstance(other, Value) else v.like(other))


@valu("v_cubeid_f32", "f32 = f32 f32 f32")
def cube_face(c: Context, x: Value, y: Value, z: Value) -> Result:
    """The number of the face that the vector points to: 0 to 5 for x, -x, y, -y, z, -z."""
    faces = (_where_negative(v, 2.0 * i + 1, 2.0 * i) for i, v in ((2, z), (1, y), (0, x)))
    return _by_axis(c, x, y, z, *faces)


@valu("v_cubesc_f32", "f32 = f32 f32 f32")
def cube_s(c: Context, x: Value, y: Value, z: Value) -> Result:
    """The first coordinate on the face."""
    return _by_axis(c, x, y, z, _where_negative(z, -x, x), x, _where_negative(x, z, -z))


@valu("v_cubetc_f32", "f32 = f32 f32 f32")
def cube_t(c: Context, x: Value, y: Value, z: Value) -> Result:
    """The second coordinate on the face."""
    return _by_axis(c, x, y, z, -y, _where_negative(y, -z, z), -y)


@valu("v_cubema_f32", "f32 = f32 f32 f32")
@rounded
def cube_axis(c: Context, x: Value, y: Value, z: Value) -> Result:
    """Twice the coordinate of the largest magnitude."""
    return _by_axis(c, x, y, z, z, y, x) * 2.0


@valu("v_mad_legacy_f32", "f32 = f32 f32 f32")
@rounded
def multiply_add_zero(c: Context, a: Value, b: Value, d: Value) -> Result:
    """Two roundings; zero times anything is +0."""
    return (a.eq(0.0) | b.eq(0.0)).select(0.0, a * b) + d


@valu("v_mad_legacy_f16", "f16 = f16 f16 f16")
@rounded
def multiply_add_halves(c: Context, a: Value, b: Value, d: Value) -> Result:
    """Two roundings; the other half is cleared."""
    return a * b + d


@valu("v_fma_legacy_f16", "f16 = f16 f16 f16")
@rounded
def fused_halves(c: Context, a: Value, b: Value, d: Value) -> Result:
    """One rounding; the other half is cleared."""
    return fused(c, a, b, d)


valu("v_cvt_pkaccum_u8_f32", "b32 = f32 u32 ^b32")(insert_byte)


def _move(s: State, source_indexed: bool, result_indexed: bool) -> None:
    w, element = s.context.writer, "i64" if s.inst.dst[0].count == 2 else "i32"
    value = w.load(s.indexed(0), element, 0, 4) if source_indexed else s.scalar(0, element)
    if result_indexed:
        w.store(value, s.indexed("dst"), 4)
    else:
        s.write_scalar(value)


@state("s_movrels_b32", "b32 = b32")
@state("s_movrels_b64", "b64 = b64")
def move_from_indexed(s: State) -> None:
    """M0 is added to the number of the source."""
    _move(s, True, False)


@state("s_movreld_b32", "b32 = b32")
@state("s_movreld_b64", "b64 = b64")
def move_to_indexed(s: State) -> None:
    """M0 is added to the number of the destination."""
    _move(s, False, True)


@state("s_movrelsd_2_b32", "b32 = b32")
def move_between_indexed(s: State) -> None:
    """The low ten bits of M0 are added to the number of the source, ten bits of its high half to the destination's."""
    _move(s, True, True)
