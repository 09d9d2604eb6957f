"""The series family against NumPy: every kernel, any strides of the operands, the same roundings."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest

from rocmkern.dtypes import COMPLEX, REAL, DType, float32, float64
from rocmkern.kernels.catalogue import FLOATS, INTEGERS
from rocmkern.kernels.families import reduce
from rocmkern.runtime import Device
from tests.kernels.launching import layout, run, same_bits

Array = np.ndarray[Any, Any]
BY_FLOAT = pytest.mark.parametrize("t", FLOATS, ids=lambda t: t.short)
LAUNCH: Final[dict[str, Any]] = {"grid": 1, "block": 64}


def normal(t: DType, *shape: int) -> Array:
    rng = np.random.default_rng(sum(shape))
    parts = 4 * rng.standard_normal((2, *shape))
    return (parts[0] + 1j * parts[1] if t.is_complex else parts[0]).astype(t.numpy)


def steps(x: Array) -> list[int]:
    """In elements, negative ones wrapped."""
    return [s // x.itemsize % 2**64 for s in x.strides]


@BY_FLOAT
def test_slopes(device: Device, t: DType) -> None:
    """Along each axis of a transposed and reversed array, and of one that goes in packs; short floats round once."""
    carried = np.float64 if t.itemsize == 8 else np.float32
    for x in (normal(t, 5, 2, 3).T[:, :, ::-1], normal(t, 2, 3, 8)):
        for axis, n in enumerate(x.shape):
            out, right = np.zeros(x.shape, t.numpy), int(np.prod(x.shape[axis + 1 :]))
            h, info = carried(0.7), None if x.flags.c_contiguous else layout(x)
            run(device, f"gradient_{t.short}", x.size, 3, info, n, right, steps(x)[axis], 0.7, x, out, **LAUNCH)
            y = np.moveaxis(x, axis, 0).astype(carried)
            want = np.concatenate([(y[1:2] - y[:1]) / h, (y[2:] - y[:-2]) / (h + h), (y[-1:] - y[-2:-1]) / h])
            assert same_bits(out, np.moveaxis(want, 0, axis).astype(t.numpy))


@pytest.mark.parametrize("t", (float32, float64), ids=lambda t: t.short)
def test_areas(device: Device, t: DType) -> None:
    """Between places of a row that others share, over steps of each element, over one step."""
    y, x = normal(t, 4, 7)[:, ::-1], np.cumsum(np.abs(normal(t, 7)), dtype=t.numpy)
    wide, low = np.broadcast_to(x, y.shape), y[:, :-1]
    two, half = np.asarray(2, t.numpy), np.asarray(0.5, t.numpy)
    for places, are_places, distance in (
        (wide[:, :-1], True, (x[1:] - x[:-1]).astype(t.numpy)),
        (wide[:, :-1], False, x[:-1]),
        (None, False, half),
    ):
        out = np.zeros(low.shape, t.numpy)
        info = layout(low, low if places is None else places)
        x_step = 0 if places is None else steps(places)[1]
        run(device, f"areas_{t.short}", out.size, 2, info, steps(y)[1], x_step, are_places, 0.5, low, places,
            out, **LAUNCH)  # fmt: skip
        want = (((low + y[:, 1:]).astype(t.numpy) * distance).astype(t.numpy) / two).astype(t.numpy)
        assert same_bits(out, want)


@pytest.mark.parametrize("t", reduce.FLOATS, ids=lambda t: t.short)
def test_values_between(device: Device, t: DType) -> None:
    """NumPy's in float64, rounded: at places, between, beyond, at NaN; of infinities, of equal places, of one place."""
    places = np.array([-4.0, -1.0, 0.0, 0.0, 2.0, 5.0], t.numpy)
    pairs = np.array([[1.0, np.inf, 3.0, -2.0, 0.3, 0.7], [np.inf, np.inf, -np.inf, 1.0, 1.0, -3.0]], t.numpy)
    x = np.append(np.linspace(-6, 6, 33), [np.nan, np.inf, -np.inf]).astype(t.numpy)
    wide, known, heights = (a.astype(np.float64) for a in (x, places, pairs))
    for n in (6, 2, 1):
        for options in ({}, {"left": -9.0, "right": 9.0}):
            for y, line in zip(pairs, heights, strict=True):
                out, beyond = np.zeros((x.size, 2), t.numpy), (options.get("left", 0.0), options.get("right", 0.0))
                run(device, f"interp_{t.short}", x.size, 0, None, n, 1, 1, 2, False, np.nan, bool(options),
                    bool(options), *beyond, x, places[:n], y[:n], out, **LAUNCH)  # fmt: skip
                want = np.interp(wide, known[:n], line[:n], **options).astype(t.numpy)
                assert (out[:, 1] == 0).all()
                np.testing.assert_allclose(out[:, 0].astype(float), want.astype(float), rtol=1e-15)


def test_values_between_complex_ones(device: Device) -> None:
    """NumPy multiplies by the inverse of the distance there; values may be strided."""
    x, places, values = np.linspace(-1, 4, 70), np.array([0.0, 0.3, 1.7, 3.0]), np.array([3.0, 0.1, -0.7, 0.2])
    x[7] = np.nan
    out, strided = np.zeros(x.size), np.repeat(values, 2)[::2]
    run(device, "interp_f64", x.size, 0, None, 4, 1, 2, 1, True, 0.0, False, False, 0.0, 0.0, x, places, strided, out,
        **LAUNCH)  # fmt: skip
    np.testing.assert_allclose(out, np.nan_to_num(np.interp(x, places, values + 0j).real), rtol=1e-15)


@pytest.mark.parametrize("t", (*REAL, *COMPLEX), ids=lambda t: t.short)
def test_polynomials(device: Device, t: DType) -> None:
    """Each product and sum rounds, and of integers wraps; bool has "or" and "and"."""
    if t.is_float or t.is_complex:
        x, p = normal(t, 3, 30)[:, ::-1], normal(t, 4)
    else:
        rng = np.random.default_rng(5)
        x, p = (rng.integers(0, 2 if t.kind == "bool" else 100, n).astype(t.numpy) for n in ((3, 30), 4))
    out, reverse = np.zeros(x.shape, t.numpy), np.repeat(p, 2)[::-2]
    run(device, f"polyval_{t.short}", x.size, 2, layout(x), 4, 2**64 - 2, x, reverse, out, **LAUNCH)
    want = np.zeros_like(x)
    for factor in reverse:
        want = ((want * x).astype(t.numpy) + factor).astype(t.numpy)
    if t.is_complex:  # NumPy's products may be fused
        np.testing.assert_allclose(out, want, rtol=16 * float(np.finfo(t.numpy).eps), atol=1e-4)
    else:
        assert same_bits(out, want)


@pytest.mark.parametrize("t", INTEGERS, ids=lambda t: t.short)
def test_coordinates(device: Device, t: DType) -> None:
    """A row of them for each axis; of signed numbers the remainders are those of Python."""
    ids = np.arange(-60 if t.kind == "signed" else 0, 60).astype(t.numpy).reshape(-1, 4).T
    lengths, out = (2, 3, 5), np.zeros((3, *ids.shape), t.numpy)
    run(
        device,
        f"unravel_index_{t.short}",
        ids.size,
        2,
        layout(ids),
        3,
        np.array(lengths, np.uint64),
        ids,
        out,
        **LAUNCH,
    )
    np.testing.assert_array_equal(out, np.stack([ids // 15 % 2, ids // 5 % 3, ids % 5]).astype(t.numpy))
