"""Softmax, the norms, rotary embeddings and running totals against their definitions in wide arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels import plans_rows
from rocmkern.kernels.families.reduce import FLOATS, NUMBERS, accumulator
from rocmkern.runtime import Device
from rocmkern.runtime.dim3 import DimLike
from tests.kernels.launching import layout, run
from tests.kernels.reduce_reference import epsilon, ulp

Array = npt.NDArray[Any]
COLUMNS: Final = (1, 2, 31, 32, 33, 63, 64, 65, 128, 1023, 1024, 1025, 4096)
EPS: Final = 1e-5


def assert_near(came: Array, want: Array, t: DType, *, slack: float = 0.0, floor: float = 1e-30) -> None:
    """Half an ulp of `t`, and `slack` roundings of the accumulating type, scaled by `want` or at least `floor`."""
    got = came.astype(np.longdouble)
    with np.errstate(all="ignore"):
        rounded = want.astype(t.numpy).astype(np.longdouble)
        bound = ulp(want, t) * 0.501 + slack * epsilon(t) * np.maximum(np.abs(want), floor)
        finite = np.isfinite(rounded)
        np.testing.assert_array_equal(got[~finite], rounded[~finite])
        error = np.abs(got - want)
    assert (error[finite] <= bound[finite]).all(), (t, error[finite].max(), came, want)


def softmax(x: Array) -> Array:
    power = np.exp(x - x.max(axis=1, keepdims=True))
    return power / power.sum(axis=1, keepdims=True)


def log_softmax(x: Array) -> Array:
    shifted = x - x.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def rms_norm(x: Array, alpha: Array | float = 1) -> Array:
    return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + EPS) * alpha


def layer_norm(x: Array, alpha: Array | float = 1, beta: Array | float = 0) -> Array:
    centred = x - x.mean(axis=1, keepdims=True)
    return rms_norm(centred, alpha) + beta


def wide(x: Array) -> Array:
    return x.astype(np.longdouble)


def over_rows(device: Device, name: str, t: DType, x: Array, *middle: Any, weights: tuple[Any, ...] = ()) -> Array:
    """One of the *_rows kernels as its plan has it."""
    out = np.zeros_like(x)
    plan = plans_rows.normalization(*x.shape, t.itemsize, device.info)
    run(device, f"{name}_rows_{t.short}", *x.shape, *middle, x, *weights, out, grid=plan.grid, block=plan.block)
    return out


@pytest.mark.parametrize("t", FLOATS, ids=str)
@pytest.mark.parametrize("cols", COLUMNS)
def test_softmax_equals_its_definition(device: Device, t: DType, cols: int) -> None:
    """Rows in registers and rows that are streamed; Candle's launch of (1, 32, 1) and ours."""
    x = (np.random.default_rng(cols).standard_normal((5, cols)) * 3).astype(t.numpy)
    want = softmax(wide(x))
    slack = 8 + 2 * np.abs(wide(x)).max() + cols**0.5  # one thread sums a row where the block makes no team
    assert_near(over_rows(device, "softmax", t, x), want, t, slack=slack)
    assert_near(over_rows(device, "log_softmax", t, x), log_softmax(wide(x)), t, slack=slack, floor=1)
    for block in ((1, 32), 64, 100):
        out = np.zeros_like(x)
        run(device, f"softmax_{t.short}", x, out, cols, grid=5, block=block)
        assert_near(out, want, t, slack=slack)


def test_softmax_of_special_rows(device: Device) -> None:
    """Large values don't overflow; equal ones share; one infinity makes NaN, as in NumPy; -inf gets nothing."""
    t = dtypes.float32
    x = np.full((4, 33), 1234, np.float32)
    x[1, 1:] = -np.inf
    x[2, 5] = np.nan
    x[3] = -np.inf
    came = over_rows(device, "softmax", t, x)
    assert_near(came[0], np.full(33, 1 / np.longdouble(33)), t, slack=4)
    assert came[1].tolist() == [1.0] + [0.0] * 32
    assert np.isnan(came[2]).all() and np.isnan(came[3]).all()


@pytest.mark.parametrize("t", FLOATS, ids=str)
def test_softmax_of_a_row_with_infinity_is_nan(device: Device, t: DType) -> None:
    """Everywhere in it, of any length, in registers and streamed, by Candle's launch and ours; other rows are not."""
    for cols in (1, 5, 33, 64, 1025, 8192):
        x = np.zeros((3, cols), t.numpy)
        x[0, cols // 2], x[1, -1], x[1, 0] = np.inf, -np.inf, np.inf
        block = np.zeros_like(x)
        run(device, f"softmax_{t.short}", x, block, cols, grid=3, block=(1, 32))
        rows, logs = (over_rows(device, name, t, x) for name in ("softmax", "log_softmax"))
        for came in (rows, logs, block):
            assert np.isnan(came[:2].astype(np.float32)).all(), (t, cols)
            assert not np.isnan(came[2].astype(np.float32)).any(), (t, cols)


@pytest.mark.parametrize("t", FLOATS, ids=str)
@pytest.mark.parametrize("cols", [5, 64, 1030, 8192])
def test_norms_of_any_scale(device: Device, t: DType, cols: int) -> None:
    """Squares that would overflow or vanish do neither: numbers times a power of two are normed as the numbers are."""
    exponents = (0, 12, -12) if t.short == "f16" else (0, 60, -60, 100, -100)
    if t.short == "f64":
        exponents = (0, 600, -600, 1000, -1000)
    row = np.random.default_rng(cols).uniform(0.5, 1.0, cols).astype(t.numpy).astype(np.float64)
    x = np.stack([np.ldexp(row, e) for e in exponents]).astype(t.numpy)
    assert np.isfinite(x.astype(np.float64)).all()
    length = np.sqrt((row * row).sum())
    wanted = {
        "rmsnorm": row / np.sqrt((row * row).mean()), "unit": row / length, "layernorm": (row - row.mean()) / row.std(),
    }  # fmt: skip
    weights = {"rmsnorm": (None,), "unit": (), "layernorm": (None, None)}
    for name, want in wanted.items():
        came = wide(over_rows(device, name, t, x, 0.0, weights=weights[name]))
        bound = 2 * ulp(wide(np.abs(want).max()), t) + 64 * epsilon(t) * np.abs(want).max()
        assert (np.abs(came - want) <= bound).all(), (name, came, want)


@pytest.mark.parametrize("t", FLOATS, ids=str)
@pytest.mark.parametrize("cols", COLUMNS)
def test_norms_equal_their_definitions(device: Device, t: DType, cols: int) -> None:
    """G17: with weights and without, by Candle's launch and ours, at sizes around waves and blocks."""
    rng = np.random.default_rng(cols)
    x = rng.standard_normal((3, cols)).astype(t.numpy)
    alpha, beta = (rng.standard_normal(cols).astype(t.numpy) for _ in range(2))
    rms, layer = rms_norm(wide(x), wide(alpha)), layer_norm(wide(x), wide(alpha), wide(beta))
    magnitude = np.abs(layer_norm(wide(x), wide(alpha))).max() + np.abs(wide(beta)).max()
    assert_near(over_rows(device, "rmsnorm", t, x, EPS, weights=(alpha,)), rms, t, slack=24)
    assert_near(over_rows(device, "rmsnorm", t, x, EPS, weights=(None,)), rms_norm(wide(x)), t, slack=24)
    came = over_rows(device, "layernorm", t, x, EPS, weights=(alpha, beta))
    assert np.abs(wide(came) - layer).max() <= ulp(layer, t).max() + 64 * epsilon(t) * magnitude
    plain = over_rows(device, "layernorm", t, x, EPS, weights=(None, None))
    assert np.abs(wide(plain) - layer_norm(wide(x))).max() <= ulp(wide(plain), t).max() + 64 * epsilon(t) * 4
    block = 32 if cols < 1024 else 1024
    sizes = np.int32(cols), np.int32(block), np.float32(EPS)
    out = np.zeros_like(x)
    run(device, f"rmsnorm_{t.short}", x, out, alpha, *sizes, grid=3, block=block)
    eps_error = 1e-8 / 2**-53 if t.short == "f64" else 0  # eps comes in f32
    assert_near(out, rms, t, slack=24 + eps_error)
    run(device, f"layernorm_{t.short}", x, out, alpha, beta, *sizes, grid=3, block=block)
    assert np.abs(wide(out) - layer).max() <= ulp(layer, t).max() + (64 + eps_error) * epsilon(t) * magnitude


@pytest.mark.parametrize("t", FLOATS, ids=str)
def test_rows_of_several_waves_equal_their_definitions(device: Device, t: DType) -> None:
    """Rows that fill the last of their waves in part: sums, largest values and moments that waves exchange once."""
    cols = 8192 - 64
    assert "kept in registers" in plans_rows.normalization(2, cols, t.itemsize, device.info).why
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, cols)).astype(t.numpy)
    alpha, beta = (rng.standard_normal(cols).astype(t.numpy) for _ in range(2))
    assert_near(over_rows(device, "softmax", t, x), softmax(wide(x)), t, slack=40)
    assert_near(over_rows(device, "log_softmax", t, x), log_softmax(wide(x)), t, slack=40, floor=1)
    rms = over_rows(device, "rmsnorm", t, x, EPS, weights=(alpha,))
    assert_near(rms, rms_norm(wide(x), wide(alpha)), t, slack=24)
    layer = over_rows(device, "layernorm", t, x, EPS, weights=(alpha, beta))
    want = layer_norm(wide(x), wide(alpha), wide(beta))
    assert np.abs(wide(layer) - want).max() <= ulp(want, t).max() + 64 * epsilon(t) * 20


@pytest.mark.parametrize("t", FLOATS, ids=str)
def test_softmax_of_waves_without_a_finite_value(device: Device, t: DType) -> None:
    """Whole waves of -inf beside finite ones give 0 and not NaN; a row of nothing else gives NaN, as in NumPy."""
    x = np.full((3, 4096), -np.inf, t.numpy)
    x[0, 2000:2050] = -100
    x[1, 4095] = 7
    came = over_rows(device, "softmax", t, x).astype(np.float64)
    assert (came[0, :2000] == 0).all() and abs(came[0].sum() - 1) < 1e-2
    assert came[1, 4095] == 1 and (came[1, :4095] == 0).all()
    assert np.isnan(came[2]).all()
    logs = over_rows(device, "log_softmax", t, x).astype(np.float64)
    assert np.isneginf(logs[1, :4095]).all() and logs[1, 4095] == 0


@pytest.mark.parametrize("cols", [8, 5])
def test_softmax_keeps_subnormal_shares(device: Device, cols: int) -> None:
    """bf16 has shares below 2^-126, in rows kept in registers and in others."""
    t = dtypes.bfloat16
    x = np.array([0, -88, -89.5, -91, -95, -np.inf, -np.inf, -np.inf][:cols], t.numpy)[None]
    want = softmax(wide(x))
    assert 0 < want[0, 3] < 2.0**-126
    came = over_rows(device, "softmax", t, x)
    assert (np.abs(wide(came) - want) <= np.maximum(2.0**-133, want * 2.0**-8)).all()


def test_half_precision_norm_does_not_overflow(device: Device) -> None:
    """G26: rms norm of 4096 values of 60000 in f16 is 1."""
    t = dtypes.float16
    x = np.full((1, 4096), 60000, np.float16)
    assert (over_rows(device, "rmsnorm", t, x, EPS, weights=(np.ones(4096, np.float16),)) == 1).all()


@pytest.mark.parametrize("cols", [64, 65, 2000, 16384])
def test_layer_norm_keeps_digits_under_a_large_mean(device: Device, cols: int) -> None:
    """L5: E[x²] − E[x]² would have lost the variance here."""
    t = dtypes.float32
    x = (np.random.default_rng(5).standard_normal((2, cols)) + 4096).astype(np.float32)
    came = over_rows(device, "layernorm", t, x, EPS, weights=(None, None))
    assert np.abs(wide(came) - layer_norm(wide(x))).max() < 2e-3


@settings(max_examples=15, deadline=None)
@given(
    rows=st.integers(1, 70),
    cols=st.integers(1, 150),
    grid=st.integers(1, 4),
    block=st.sampled_from([(8, 32), (64, 4), (3, 7), (256, 1)]),
)
def test_rows_kernels_take_any_geometry(
    device: Device, rows: int, cols: int, grid: int, block: tuple[int, int]
) -> None:  # fmt: skip
    """Teams beyond the last row wait at the others' barriers and write nothing."""
    x = np.random.default_rng(rows).standard_normal((rows, cols)).astype(np.float32)
    out = np.zeros_like(x)
    run(device, "softmax_rows_f32", rows, cols, x, out, grid=grid, block=block)
    assert_near(out, softmax(wide(x)), dtypes.float32, slack=24)
    run(device, "layernorm_rows_f32", rows, cols, EPS, x, None, None, out, grid=grid, block=block)
    scale = np.abs(x).max(axis=1, keepdims=True) / np.sqrt(wide(x).var(axis=1, keepdims=True) + EPS)
    bound = 4e-6 * np.maximum(1, np.abs(out)) + 2.0**-22 * scale  # the mean's rounding, as large as it becomes
    assert (np.abs(wide(out) - layer_norm(wide(x))) <= bound).all()


def turned(first: Array, second: Array, cos: Array, sin: Array) -> tuple[Array, Array]:
    return first * cos - second * sin, first * sin + second * cos


def rope_reference(kind: str, x: Array, cos: Array, sin: Array) -> Array:
    """`x` as (b, h, t, d), the tables as (b or 1, 1, t, d/2)."""
    out = np.empty_like(x)
    half = x.shape[-1] // 2
    pairs = (slice(0, None, 2), slice(1, None, 2)) if kind == "rope_i" else (slice(0, half), slice(half, None))
    out[..., pairs[0]], out[..., pairs[1]] = turned(x[..., pairs[0]], x[..., pairs[1]], cos, sin)
    return out


@pytest.mark.parametrize("t", FLOATS, ids=str)
@pytest.mark.parametrize("kind", ["rope", "rope_i", "rope_thd"])
@pytest.mark.parametrize("batched", [False, True])
def test_rope_turns_pairs(device: Device, t: DType, kind: str, batched: bool) -> None:
    """Halves, neighbours, and heads inside positions; one table for all, or one a batch entry; any grid."""
    rng = np.random.default_rng(7)
    b, h, n, d = 2, 3, 5, 16
    x = rng.standard_normal((b, h, n, d)).astype(t.numpy)
    angles = rng.uniform(-3, 3, (b if batched else 1, 1, n, d // 2))
    cos, sin = np.cos(angles).astype(t.numpy), np.sin(angles).astype(t.numpy)
    want = rope_reference(kind, wide(x), wide(cos), wide(sin))
    inside = kind == "rope_thd"
    source = np.ascontiguousarray(x.swapaxes(1, 2)) if inside else x
    stride_b = h * n * d if batched else 0
    sizes = {"rope": (b * h, n * d, d), "rope_i": (b * h, n * d), "rope_thd": (b, n, h, d)}[kind]
    for grid in (1, 4):
        out = np.zeros_like(source)
        run(device, f"{kind}_{t.short}", source, cos, sin, out, *sizes, stride_b, grid=grid, block=64)
        came = wide(out.swapaxes(1, 2) if inside else out)
        assert np.abs(came - want).max() <= ulp(want, t).max() + 8 * epsilon(t) * np.abs(want).max()


TOTALS: Final[dict[str, Callable[..., Array]]] = {"sum": np.cumsum, "prod": np.cumprod}


def running_total(device: Device, op: str, t: DType, x: Array, part: int, *, grid: int, block: DimLike) -> Array:
    """A scan of the middle axis of (left, n, right) in parts of `part`: parts, scan of their states, then the rest."""
    left, n, right = x.shape
    parts = -(-n // part)
    out = np.zeros_like(x)
    carry = None
    if parts > 1:
        state = accumulator(t)
        states = np.zeros(left * right * parts * state.itemsize, np.uint8)
        rows = x.transpose(0, 2, 1)
        symbol = f"split_{op}_{t.short}"
        run(device, symbol, x.size, n, part, 3, layout(rows), x, states, grid=grid, block=block)
        totals = states.view(state.numpy)
        carry = np.zeros_like(totals)
        run(
            device, f"cum{op}_{state.short}", left * right, parts, 1, parts, None, totals, carry, grid=grid, block=block
        )
    run(device, f"cum{op}_{t.short}", left, n, right, part, carry, x, out, grid=grid, block=block)
    return out


@pytest.mark.parametrize("op", TOTALS)
def test_running_totals_of_every_dtype(device: Device, op: str) -> None:
    """Rows and columns, whole and in parts, of every dtype."""
    rng = np.random.default_rng(11)
    for t in NUMBERS:
        for shape in ((3, 37, 1), (2, 21, 5)):
            low, high = (0, 5) if op == "sum" else (1, 3)
            x = rng.integers(low, high, shape).astype(t.numpy)
            if t.is_float and op == "prod":
                x = np.where(x > 1, t.numpy.type(2), t.numpy.type(0.5))
            work = np.longdouble if t.is_float else np.int64
            want = TOTALS[op](x.astype(work), axis=1)
            for part in (shape[1], 8):
                came = running_total(device, op, t, x, part, grid=3, block=(16, 4))
                np.testing.assert_array_equal(came, want.astype(t.numpy), f"{op} {t} {shape} {part}")


@settings(max_examples=25, deadline=None)
@given(
    left=st.integers(1, 5),
    n=st.integers(1, 2500),
    right=st.sampled_from([1, 1, 2, 7]),
    part=st.sampled_from([1 << 20, 1000, 129]),
    grid=st.integers(1, 4),
    block=st.sampled_from([64, 1, 48, (4, 16), (256, 1), (128, 2), (32, 32), 1024]),
)
@example(left=2, n=2049, right=1, part=1 << 20, grid=1, block=1024)
def test_running_totals_take_any_geometry(
    device: Device, left: int, n: int, right: int, part: int, grid: int, block: DimLike
) -> None:
    """Tiles across waves, idle teams, parts of any length: integers that only the right order of carries gives."""
    t = dtypes.int32
    x = np.random.default_rng(n).integers(-1000, 1000, (left, n, right)).astype(np.int32)
    came = running_total(device, "sum", t, x, min(part, n), grid=grid, block=block)
    np.testing.assert_array_equal(came, np.cumsum(x, axis=1))


def test_running_sum_follows_its_plan(device: Device) -> None:
    """A long row in f32 stays within the rounding of a sum of that length."""
    x = np.random.default_rng(2).standard_normal((1, 70_000, 1)).astype(np.float32)
    plan = plans_rows.running_total(*x.shape, device.info)
    grid, block = plan.first.grid[0], plan.first.block
    came = running_total(device, "sum", dtypes.float32, x, plan.part, grid=grid, block=block)
    bound = np.cumsum(np.abs(wide(x)), axis=1) * 2.0**-20
    assert (np.abs(wide(came) - np.cumsum(wide(x), axis=1)) <= bound).all()


def test_running_sum_keeps_nan_from_where_it_is(device: Device) -> None:
    """What comes before a NaN is untouched by it."""
    x = np.ones((1, 300, 1), np.float32)
    x[0, 100] = np.nan
    came = running_total(device, "sum", dtypes.float32, x, 300, grid=1, block=64)[0, :, 0]
    assert came[:100].tolist() == list(range(1, 101)) and np.isnan(came[100:]).all()
