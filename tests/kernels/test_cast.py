"""cast: every element type to every other, with one rounding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmkern.dtypes import BY_SHORT, REAL, DType
from rocmkern.kernels.families.cast import FAMILY, TILED
from rocmkern.runtime import Device
from tests.kernels.candle import symbols
from tests.kernels.launching import Array, bits, layout, run, same_bits, unequal

FLOATS = ("f16", "bf16", "f8_e4m3", "f32", "f64")


def rounded(exact: list[float | int], dtype: DType) -> Array:
    """Python numbers to a float type by one rounding to nearest even, from their exact values."""
    if dtype.short == "f64":
        return np.array([float(x) for x in exact])
    return np.array([nearest(x, dtype) for x in exact], dtype.numpy)


def nearest(x: float | int, dtype: DType) -> float:
    """The value of `dtype` nearest to x, ties to even; by integer arithmetic, not by the hardware."""
    precision, lowest, largest = {
        "f32": (24, -149, 2.0**128), "f16": (11, -24, 2.0**16), "bf16": (8, -133, 2.0**128),
        "f8_e4m3": (4, -9, 480.0),
    }[dtype.short]  # fmt: skip
    if x != x or x in (np.inf, -np.inf) or x == 0:
        return float(x) if dtype.short != "f8_e4m3" or x == 0 else np.nan
    numerator, denominator = (x, 1) if isinstance(x, int) else x.as_integer_ratio()
    magnitude = abs(numerator)
    exponent = max(magnitude.bit_length() - denominator.bit_length() - precision, lowest - 1)
    while True:
        scaled = (magnitude << max(-exponent, 0), denominator << max(exponent, 0))
        if scaled[0] < scaled[1] << precision and exponent >= lowest:
            break
        exponent += 1
    whole, rest = divmod(*scaled)
    whole += 2 * rest > scaled[1] or (2 * rest == scaled[1] and whole % 2 == 1)
    value = float(whole) * 2.0**exponent if exponent < 900 else np.inf
    if value >= largest:
        value = np.nan if dtype.short == "f8_e4m3" else np.inf
    return -value if numerator < 0 else value


@np.errstate(invalid="ignore")  # ml_dtypes warns of signalling NaNs
def expected(x: Array, source: DType, target: DType) -> Array:
    """What semantics_policy says, by Python's integers and floats."""
    if source is target:
        return x
    exact = x.astype(np.float64).tolist() if source.is_float else [int(v) for v in x.tolist()]
    if target.kind == "bool":
        return np.array([v != 0 for v in exact], np.bool_)
    if target.is_float:
        result = rounded(exact, target)
        return np.copysign(result, x.astype(np.float64)).astype(target.numpy) if source.is_float else result
    info = np.iinfo(target.numpy)
    if not source.is_float:
        return np.array([v % 2**target.bits for v in exact], f"u{target.itemsize}").view(target.numpy)
    clipped = [0 if v != v else int(max(min(v, 2.0**64), -(2.0**64))) for v in exact]
    return np.array([min(max(v, info.min), info.max) for v in clipped], target.numpy)


def interesting(rng: np.random.Generator, source: DType) -> Array:
    """Random bits, small numbers, and the neighbourhood of every power of two, where rounding and ends are."""
    noise = bits(rng, source, 300)
    if source.kind == "bool":
        return noise
    if source.is_float:
        powers = 2.0 ** np.arange(-30, 70)
        near = np.concatenate([powers * f for f in (1, 1 + 2**-4, 1 + 2**-8, 1 + 2**-9, 1 + 2**-11, 1 - 2**-10, 1.5)])
        with np.errstate(over="ignore"):
            values = np.concatenate([near, -near, np.arange(-300, 300) / 2, [np.nan, np.inf, -np.inf, 0.0, -0.0]])
            return np.concatenate([noise, values.astype(source.numpy)])
    info = np.iinfo(source.numpy)
    exact = [
        s * (2**k + d)
        for k in range(64)
        for d in (-1, 0, 1, 2**k // 256, 2**k // 256 + 1, 2**k // 2048 + 1)
        for s in (1, -1)
    ]
    kept = [v for v in exact if info.min <= v <= info.max]
    return np.concatenate([noise, np.array(kept, source.numpy)])


@pytest.mark.parametrize("target", [d.short for d in REAL])
@pytest.mark.parametrize("source", [d.short for d in REAL])
def test_every_pair_converts_with_one_rounding(device: Device, source: str, target: str) -> None:
    """Integers wrap; floats truncate and saturate, NaN gives 0; the rest rounds once to nearest even."""
    s, d = BY_SHORT[source], BY_SHORT[target]
    x = interesting(np.random.default_rng(4), s)
    out = np.zeros(x.size, d.numpy)
    run(device, f"cast_{source}_{target}", x.size, 1, None, x, out, grid=2)
    want = expected(x, s, d)
    bad = unequal(out, want)
    assert not bad, [(x[i], out[i], want[i]) for i in bad[:5]]


def test_float_to_u8_saturates(device: Device) -> None:
    """Out of range goes to the nearest end and NaN to 0, the same on every device (tensorflow 59702, mlx 2015)."""
    x = np.array([-1, -0.5, 0.9, 255.9, 256, 300, np.inf, np.nan], np.float32)
    out = np.zeros(8, np.uint8)
    run(device, "cast_f32_u8", 8, 1, None, x, out, grid=1)
    assert out.tolist() == [0, 0, 0, 255, 255, 255, 255, 0]


def test_i32_reaches_every_type(device: Device) -> None:
    """Candle has no i32 casts (candle 3870)."""
    x = np.array([-1, 0, 40000], np.int32)
    for target in ("i64", "f32"):
        out = np.zeros(3, BY_SHORT[target].numpy)
        run(device, f"cast_i32_{target}", 3, 1, None, x, out, grid=1)
        assert out.tolist() == [-1, 0, 40000]


@pytest.mark.parametrize("pair", [("f32", "f16"), ("f32", "f32"), ("f16", "f16"), ("bf16", "f32"), ("u8", "f32")])
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_any_layout_equals_the_contiguous_copy(device: Device, pair: tuple[str, str], data: st.DataObject) -> None:
    """Permuted, narrowed and broadcast inputs, also those that go through LDS tiles."""
    source, target = pair
    shape = data.draw(
        st.lists(st.sampled_from((1, 2, 3, 16, 17, 33, 70)), min_size=1, max_size=3).filter(
            lambda s: np.prod(s) < 20000
        )
    )
    order = data.draw(st.permutations(range(len(shape))))
    skip = data.draw(st.integers(0, 1))
    base = bits(np.random.default_rng(5), BY_SHORT[source], tuple(n + skip for n in shape))
    view = base[tuple(slice(0, n) for n in shape)].transpose(order)
    if data.draw(st.booleans()):
        view = np.broadcast_to(view[..., None], (*view.shape, 3))
    out = np.zeros(view.shape, BY_SHORT[target].numpy)
    info, nd = layout(view), view.ndim
    run(device, f"cast_{source}_{target}", view.size, nd, info, base, out, grid=data.draw(st.sampled_from((1, 4))))
    flat = np.ascontiguousarray(view).reshape(-1)
    want = expected(flat, BY_SHORT[source], BY_SHORT[target])
    assert same_bits(out.reshape(-1), want)


@pytest.mark.parametrize("short", [d.short for d in TILED])
def test_transposition_by_tiles(device: Device, short: str) -> None:
    """A matrix larger than a tile in both axes, odd or even, in batches, for every block size."""
    rng = np.random.default_rng(6)
    for batch, rows, columns, block in ((1, 70, 133, 256), (3, 66, 68, 64), (2, 16, 129, 1024)):
        base = bits(rng, BY_SHORT[short], (batch, rows, columns))
        view = base.transpose(0, 2, 1)
        for target in ("f32", short):
            out = np.zeros(view.shape, BY_SHORT[target].numpy)
            run(device, f"cast_{short}_{target}", view.size, 3, layout(view), base, out, grid=2, block=block)
            with np.errstate(invalid="ignore"):
                assert same_bits(out, view.astype(out.dtype))


def test_all_pairs_are_there() -> None:
    """14 by 14 types, Candle's 58 among them."""
    assert len(FAMILY.kernels) == 196
    assert symbols("cast") <= set(FAMILY.by_symbol)
