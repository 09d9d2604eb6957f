"""Convolutions of every kind, dtype, layout and geometry; im2col, pooling and resampling."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from attrs import evolve
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels import plans_conv
from rocmkern.kernels.families.conv import FLOATS, NUMBERS, SHIPPED, TILED
from rocmkern.runtime import Device
from rocmkern.verifying import convolutions as reference
from rocmkern.verifying.convolutions import Geometry
from tests.kernels.launching import layout, run
from tests.kernels.reduce_reference import epsilon, ulp

Array = npt.NDArray[Any]
F32 = dtypes.float32


def numbers(rng: np.random.Generator, t: DType, shape: tuple[int, ...]) -> Array:
    if t.is_float:
        return rng.standard_normal(shape).astype(t.numpy)
    low, high = (0, 9) if t.kind == "unsigned" else (-5, 6)
    return rng.integers(low, high, shape).astype(t.numpy)


def wide(x: Array, t: DType) -> Array:
    return x.astype(np.longdouble) if t.is_float else x.astype(np.int64)


def info(*arrays: Array) -> Array:
    """Dims and strides of each array in turn."""
    return np.concatenate([layout(a) for a in arrays])


def assert_sums(came: Array, want: Array, magnitude: Array, t: DType, terms: int) -> None:
    """Exact for integers; for floats the bound of a sum of `terms` products, absolute values summing to `magnitude`."""
    if not t.is_float:
        np.testing.assert_array_equal(came, want.astype(t.numpy))
        return
    bound = ulp(want, t) / 2 + magnitude * epsilon(t) * (terms + 1)
    assert (np.abs(came.astype(np.longdouble) - want) <= bound).all(), t


def assert_convolution(came: Array, x: Array, kernel: Array, g: Geometry, t: DType) -> None:
    wide_x, wide_k = wide(x, t), wide(kernel, t)
    want = reference.convolve(wide_x, wide_k, g)
    magnitude = reference.convolve(np.abs(wide_x), np.abs(wide_k), g)
    assert_sums(came, want, magnitude, t, int(np.prod(kernel.shape[1:])))


def axes_arguments(g: Geometry, out: tuple[int, int]) -> tuple[int, ...]:
    return g.groups, *out, *g.stride, *g.padding, *g.dilation


def convolve(device: Device, name: str, t: DType, x: Array, kernel: Array, g: Geometry, *, grid: int = 3) -> Array:
    """conv2d_axes or conv2d_tiles."""
    out = g.out((x.shape[2], x.shape[3]), (kernel.shape[2], kernel.shape[3]))
    dst = np.full((x.shape[0], kernel.shape[0], *out), 77).astype(t.numpy)
    bias = (None,) if name == "conv2d_axes" else ()
    arguments = *axes_arguments(g, out), info(x, kernel), x, kernel, *bias, dst
    run(device, f"{name}_{t.short}", *arguments, grid=grid)
    return dst


@pytest.mark.parametrize("t", NUMBERS, ids=str)
def test_convolutions_of_candle(device: Device, t: DType) -> None:
    """L1 and L12: stride and dilation together in one and two dimensions, transposed or not, kernels of any strides."""
    rng = np.random.default_rng(1)
    for g in (Geometry(), Geometry((2, 2), (1, 1), (2, 2)), Geometry((3, 3), (2, 2), (1, 1))):
        stride, padding, dilation = g.stride[0], g.padding[0], g.dilation[0]
        x = numbers(rng, t, (2, 3, 9, 8))
        kernel = numbers(rng, t, (3, 6, 2, 3))[:, ::2].transpose(2, 0, 3, 1)  # (2, 3, 3, 3), sliced and permuted
        out = g.out((9, 8), (3, 3))
        dst = np.zeros((2, 2, *out), t.numpy)
        sizes = x.size, out[1], out[0], stride, padding, dilation
        run(device, f"conv2d_{t.short}", *sizes, info(x, kernel), x, kernel, dst, grid=2)
        assert_convolution(dst, x, kernel, g, t)

        line, line_kernel = x[:, :, 4], kernel[:, :, 1]
        flat = Geometry((1, stride), (0, padding), (1, dilation))
        dst = np.zeros((2, 2, out[1]), t.numpy)
        signal = np.ascontiguousarray(line)
        arguments = signal.size, out[1], stride, padding, dilation, info(signal, np.ascontiguousarray(line_kernel))
        run(device, f"conv1d_{t.short}", *arguments, signal, np.ascontiguousarray(line_kernel), dst, grid=1)
        assert_convolution(dst[:, :, None], signal[:, :, None], line_kernel[:, :, None], flat, t)


def assert_transposed(came: Array, x: Array, kernel: Array, g: Geometry, t: DType) -> None:
    out = came.shape[2], came.shape[3]
    wide_x, wide_k = wide(x, t), wide(kernel, t)
    want = reference.convolve_transposed(wide_x, wide_k, g, out)
    magnitude = reference.convolve_transposed(np.abs(wide_x), np.abs(wide_k), g, out)
    assert_sums(came, want, magnitude, t, int(kernel.shape[0] * np.prod(kernel.shape[2:])))


@pytest.mark.parametrize("t", NUMBERS, ids=str)
def test_transposed_convolutions_of_candle(device: Device, t: DType) -> None:
    """Every input scatters the kernel; padding is cut off, output padding added at the far end."""
    rng = np.random.default_rng(2)
    for g, extra in ((Geometry(), 0), (Geometry((2, 2), (1, 1)), 1), (Geometry((3, 3), (0, 0), (2, 2)), 0)):
        stride, padding, dilation = g.stride[0], g.padding[0], g.dilation[0]
        x, kernel = numbers(rng, t, (2, 3, 4, 5)), numbers(rng, t, (3, 2, 3, 2))
        out = g.transposed_out((4, 5), (3, 2), (extra, extra))
        dst = np.zeros((2, 2, *out), t.numpy)
        sizes = x.size, out[1], out[0], stride, padding, extra, dilation
        run(device, f"conv_transpose2d_{t.short}", *sizes, info(x, kernel), x, kernel, dst, grid=2)
        assert_transposed(dst, x, kernel, g, t)

        signal, weights = np.ascontiguousarray(x[:, :, 1]), np.ascontiguousarray(kernel[:, :, 2])
        flat = Geometry((1, stride), (0, padding), (1, dilation))
        dst = np.zeros((2, 2, out[1]), t.numpy)
        sizes_1d = signal.size, out[1], stride, padding, extra, dilation
        run(device, f"conv_transpose1d_{t.short}", *sizes_1d, info(signal, weights), signal, weights, dst, grid=1)
        assert_transposed(dst[:, :, None], signal[:, :, None], weights[:, :, None], flat, t)


@pytest.mark.parametrize("t", NUMBERS, ids=str)
def test_own_geometry_for_each_axis(device: Device, t: DType) -> None:
    """Groups, and stride, padding and dilation that differ between the axes, for every dtype and kernel."""
    rng = np.random.default_rng(3)
    g = Geometry((2, 1), (1, 3), (1, 2), groups=2)
    x, kernel = numbers(rng, t, (2, 6, 7, 9)), numbers(rng, t, (4, 3, 3, 2))
    for name in ("conv2d_axes", *SHIPPED) if t in TILED else ("conv2d_axes",):
        assert_convolution(convolve(device, name, t, x, kernel, g), x, kernel, g, t)
    weights = numbers(rng, t, (6, 2, 3, 2))
    out = g.transposed_out((7, 9), (3, 2))
    dst = np.zeros((2, 4, *out), t.numpy)
    arguments = *axes_arguments(g, out), info(x, weights), x, weights
    run(device, f"conv_transpose2d_axes_{t.short}", *arguments, None, dst, grid=2)
    assert_transposed(dst, x, weights, g, t)


@pytest.mark.parametrize("t", NUMBERS, ids=str)
def test_a_bias_is_added_to_each_channel(device: Device, t: DType) -> None:
    """To the sums of a convolution and of a transposed one, before they are rounded; integers wrap."""
    rng = np.random.default_rng(4)
    x, kernel, bias = numbers(rng, t, (2, 3, 4, 5)), numbers(rng, t, (3, 3, 1, 1)), numbers(rng, t, (3,))
    pixels, mixed, shift = wide(x, t), wide(kernel[..., 0, 0], t), wide(bias, t)[:, None, None]
    want = np.einsum("bchw,oc->bohw", pixels, mixed) + shift
    magnitude = np.einsum("bchw,oc->bohw", abs(pixels), abs(mixed)) + abs(shift)
    for name, weights in (("conv2d", kernel), ("conv_transpose2d", kernel.transpose(1, 0, 2, 3))):
        dst = np.zeros((2, 3, 4, 5), t.numpy)
        arguments = *axes_arguments(Geometry(), (4, 5)), info(x, weights), x, weights, bias, dst
        run(device, f"{name}_axes_{t.short}", *arguments, grid=2)
        assert_sums(dst, want, magnitude, t, 4)


@pytest.mark.parametrize("name", ["conv2d_axes", *SHIPPED])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_geometry_convolves(device: Device, name: str, data: st.DataObject) -> None:
    """Sizes from one pixel up, kernels larger than the image if padding allows, sliced and permuted images."""
    small = st.integers(1, 3)
    kernel_size = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    g = Geometry(
        data.draw(st.tuples(small, small)), data.draw(st.tuples(st.integers(0, 3), st.integers(0, 3))),
        data.draw(st.tuples(small, small)), data.draw(small),
    )  # fmt: skip
    size = data.draw(st.tuples(st.integers(1, 20), st.integers(1, 20)))
    out = g.out(size, kernel_size)
    if min(out) < 1:
        return
    batch, per_group, out_per_group = data.draw(st.tuples(small, st.integers(1, 4), st.integers(1, 70)))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    shape = (batch, per_group * g.groups, *size)
    x = numbers(rng, F32, shape)
    if data.draw(st.booleans()):
        x = numbers(rng, F32, (size[1], shape[1], batch, 2 * size[0])).transpose(2, 1, 3, 0)[:, :, ::2]
    kernel = numbers(rng, F32, (out_per_group * g.groups, per_group, *kernel_size))
    came = convolve(device, name, F32, x, kernel, g, grid=data.draw(st.integers(1, 5)))
    assert_convolution(came, x, kernel, g, F32)


def test_more_pixels_and_channels_than_a_tile(device: Device) -> None:
    """Cut tiles both ways, and a depth of several steps."""
    rng = np.random.default_rng(5)
    for t in TILED:
        x, kernel = numbers(rng, t, (1, 5, 13, 15)), numbers(rng, t, (70, 5, 3, 3))
        g = Geometry(padding=(1, 1))
        for name in SHIPPED:
            assert_convolution(convolve(device, name, t, x, kernel, g, grid=2), x, kernel, g, t)


def test_sliced_kernel_is_read_by_its_strides(device: Device) -> None:
    """G4: a 1×1 kernel sliced out of a larger one; the sum of squares is 57.6732."""
    x = (0.1 * np.arange(1, 33)).astype(np.float32).reshape(1, 2, 4, 4)
    whole = (0.1 * np.arange(1, 13)).astype(np.float32).reshape(3, 4, 1, 1)
    kernel = whole[:, 1:3]
    dst = np.zeros((1, 3, 2, 2), np.float32)
    arguments = x.size, 2, 2, 2, 0, 1, info(x, kernel)
    run(device, "conv2d_f32", *arguments, x, np.ascontiguousarray(whole.reshape(-1)[1:]), dst, grid=1)
    assert abs((dst.astype(np.float64) ** 2).sum() - 57.6732) < 1e-4
    np.testing.assert_allclose(dst.reshape(-1)[:4], [0.53, 0.63, 0.93, 1.03], rtol=1e-5)


@pytest.mark.parametrize("t", NUMBERS, ids=str)
def test_im2col_lays_out_what_each_output_meets(device: Device, t: DType) -> None:
    """(b, out_h, out_w, c, k_h, k_w) and (b, out, c, k); outside the image is zero."""
    rng = np.random.default_rng(6)
    g = Geometry((2, 2), (1, 1), (2, 2))
    x = numbers(rng, t, (2, 7, 3, 8)).transpose(0, 2, 1, 3)
    out = g.out((7, 8), (3, 2))
    want = reference.columns(x, (3, 2), g, out).transpose(0, 4, 5, 1, 2, 3)
    dst = np.zeros(want.shape, t.numpy)
    run(device, f"im2col_{t.short}", dst.size, *out, 3, 2, 2, 1, 2, info(x), x, dst, grid=2)
    np.testing.assert_array_equal(dst, want)
    signal = np.ascontiguousarray(x[:, :, 2])
    flat = Geometry((1, 2), (0, 1), (1, 2))
    line = reference.columns(signal[:, :, None], (1, 2), flat, (1, out[1]))[:, :, 0, :, 0].transpose(0, 3, 1, 2)
    dst = np.zeros(line.shape, t.numpy)
    run(device, f"im2col1d_{t.short}", 2 * out[1] * 3, out[1], 2, 2, 1, 2, info(signal), signal, dst, grid=1)
    np.testing.assert_array_equal(dst, line)


@pytest.mark.parametrize("t", NUMBERS, ids=str)
def test_col2im_sums_what_falls_on_an_output(device: Device, t: DType) -> None:
    """The second half of a transposed convolution by matrix product."""
    rng = np.random.default_rng(7)
    for stride, kernel in ((1, 3), (2, 3), (3, 2)):
        col = numbers(rng, t, (2, 5, 4, kernel))
        length = (5 - 1) * stride + kernel
        want = np.zeros((2, 4, length), np.longdouble if t.is_float else np.int64)
        for i in range(5):
            want[:, :, i * stride : i * stride + kernel] += wide(col[:, i], t)
        dst = np.zeros((2, 4, length), t.numpy)
        run(device, f"col2im1d_{t.short}", dst.size, length, 5, 4, kernel, stride, col, dst, grid=1)
        assert_sums(dst, want, np.abs(want) + 4, t, kernel)


@pytest.mark.parametrize("t", NUMBERS, ids=str)
def test_pooling_takes_whole_windows(device: Device, t: DType) -> None:
    """Windows inside the image; the mean of integers is exact before it is truncated."""
    rng = np.random.default_rng(8)
    x = numbers(rng, t, (2, 7, 8, 3)).transpose(0, 3, 1, 2)
    for kernel, stride in (((2, 2), (2, 2)), ((3, 1), (1, 2)), ((7, 8), (1, 1))):
        windows = reference.windows(wide(x, t), kernel, stride)
        dst = np.zeros(windows.shape[:4], t.numpy)
        arguments = x.size, *kernel, *stride, info(x), x, dst
        run(device, f"max_pool2d_{t.short}", *arguments, grid=1)
        np.testing.assert_array_equal(wide(dst, t), windows.max(axis=-1))
        run(device, f"avg_pool2d_{t.short}", *arguments, grid=2)
        if t.is_float:
            assert_sums(dst, windows.mean(axis=-1), np.abs(windows).mean(axis=-1), t, 2 * windows.shape[-1])
        else:
            np.testing.assert_array_equal(dst, np.trunc(windows.sum(axis=-1) / windows.shape[-1]).astype(t.numpy))


@pytest.mark.parametrize("t", NUMBERS, ids=str)
@pytest.mark.parametrize("counts", [False, True])
def test_pooling_with_padding(device: Device, t: DType, counts: bool) -> None:
    """Windows that reach into padding and, by the last row, beyond it: passed over, and counted in a mean or not."""
    rng = np.random.default_rng(9)
    x = numbers(rng, t, (2, 7, 8, 3)).transpose(0, 3, 1, 2)
    kernel, stride, padding, dilation, out = (3, 2), (2, 3), (1, 1), (2, 1), (4, 3)
    ends = [(out[a] - 1) * stride[a] + dilation[a] * (kernel[a] - 1) + 1 for a in (0, 1)]
    inside = np.zeros(x.shape, np.bool_) | True
    room = [(0, 0), (0, 0), *((padding[a], max(ends[a], x.shape[2 + a])) for a in (0, 1))]
    values, there = np.pad(wide(x, t), room), np.pad(inside, room)

    def windows(padded: Array) -> Array:
        rows = (np.arange(out[0]) * stride[0])[:, None] + np.arange(kernel[0]) * dilation[0]
        columns = (np.arange(out[1]) * stride[1])[:, None] + np.arange(kernel[1]) * dilation[1]
        return padded[:, :, rows[:, None, :, None], columns[None, :, None, :]].reshape(2, 3, *out, -1)

    chosen, held = windows(values), windows(there)
    dst = np.zeros((2, 3, *out), t.numpy)
    sizes = (*out, *kernel, *stride, *padding, *dilation, counts)
    run(device, f"max_pool2d_axes_{t.short}", *sizes, info(x), x, dst, grid=2)
    assert held.any(axis=-1).all()
    np.testing.assert_array_equal(wide(dst, t), np.where(held, chosen, chosen.min()).max(axis=-1))
    places = [np.minimum(kernel[a], x.shape[2 + a] + 2 * padding[a] - np.arange(out[a]) * stride[a]) for a in (0, 1)]
    divisor = places[0][:, None] * places[1] if counts else held.sum(axis=-1)
    run(device, f"avg_pool2d_axes_{t.short}", *sizes, info(x), x, dst, grid=1)
    if t.is_float:
        assert_sums(dst, chosen.sum(axis=-1) / divisor, np.abs(chosen).sum(axis=-1) / divisor, t, 2 * chosen.shape[-1])
    else:
        np.testing.assert_array_equal(dst, np.trunc(chosen.sum(axis=-1) / divisor).astype(t.numpy))


@pytest.mark.parametrize("t", FLOATS, ids=str)
def test_max_pooling_keeps_nan(device: Device, t: DType) -> None:
    """A window with a NaN is NaN; a window of -inf is -inf."""
    x = np.full((1, 1, 2, 6), -np.inf, t.numpy)
    x[0, 0, 1, 2] = np.nan
    dst = np.zeros((1, 1, 1, 3), t.numpy)
    run(device, f"max_pool2d_{t.short}", x.size, 2, 2, 2, 2, info(x), x, dst, grid=1)
    np.testing.assert_array_equal(dst.astype(float)[0, 0, 0], [-np.inf, np.nan, -np.inf])


@pytest.mark.parametrize("t", NUMBERS, ids=str)
def test_nearest_resampling(device: Device, t: DType) -> None:
    """Each output takes the pixel at its place times the scale, rounded down; where 49 * (4 / 98) is below 2 too."""
    x = numbers(np.random.default_rng(9), t, (2, 3, 5, 4)).transpose(0, 1, 3, 2)
    for out in ((4, 5), (8, 10), (3, 2), (7, 11), (98, 3)):
        dst = np.zeros((2, 3, *out), t.numpy)
        scales = x.shape[2] / out[0], x.shape[3] / out[1]
        run(device, f"upsample_nearest2d_{t.short}", *out, *scales, info(x), x, dst, grid=1)
        np.testing.assert_array_equal(dst, reference.nearest(x, out))


@pytest.mark.parametrize("t", NUMBERS, ids=str)
@pytest.mark.parametrize("align_corners", [False, True])
def test_bilinear_resampling(device: Device, t: DType, align_corners: bool) -> None:
    """torch's rule with corners aligned or not, by size or by factor; integers round to nearest."""
    x = numbers(np.random.default_rng(10), t, (2, 3, 5, 4)).transpose(0, 1, 3, 2)
    cases: tuple[tuple[tuple[int, int], tuple[float | None, float | None]], ...] = (
        ((8, 10), (None, None)), ((2, 3), (None, None)), ((1, 1), (None, None)), ((9, 13), (2.25, 2.6)),
    )  # fmt: skip
    for out, factors in cases:
        dst = np.zeros((2, 3, *out), t.numpy)
        flags = align_corners, factors[0] is not None, factors[0] or 0.0, factors[1] is not None, factors[1] or 0.0
        run(device, f"upsample_bilinear2d_{t.short}", out[1], out[0], *flags, info(x), x, dst, grid=1)
        want = reference.bilinear(x, out, align_corners, factors)
        tolerance = 0.5001 if not t.is_float else float(ulp(np.float64(4), t)) + 1e-6 * (t.short != "f64")
        assert np.abs(dst.astype(np.float64) - want).max() <= tolerance


def test_bilinear_of_bytes_rounds() -> None:
    """63.75 is 64, as in torch: the reference that the kernels are held to has the fraction."""
    x = np.array([[[[0, 255]]]], np.uint8)
    assert reference.bilinear(x, (1, 4), False, (None, None)).reshape(-1).tolist() == [0, 63.75, 191.25, 255]


def test_bilinear_rounds_bytes_to_nearest(device: Device) -> None:
    """63.75 becomes 64 and 191.25 becomes 191."""
    x, dst = np.array([[[[0, 255]]]], np.uint8), np.zeros((1, 1, 1, 4), np.uint8)
    run(device, "upsample_bilinear2d_u8", 4, 1, False, False, 0.0, False, 0.0, info(x), x, dst, grid=1)
    assert dst.reshape(-1).tolist() == [0, 64, 191, 255]


@settings(max_examples=10, deadline=None)
@given(size=st.tuples(st.integers(1, 9), st.integers(1, 9)), out=st.tuples(st.integers(1, 20), st.integers(1, 20)))
@example(size=(1, 1), out=(3, 3))
@example(size=(1, 2), out=(3, 6))
def test_resampling_to_any_size(device: Device, size: tuple[int, int], out: tuple[int, int]) -> None:
    """No output reads outside the image, and none exceeds its neighbours."""
    x = np.random.default_rng(size[0]).uniform(-3, 3, (1, 1, *size)).astype(np.float32)
    dst = np.zeros((1, 1, *out), np.float32)
    run(device, "upsample_bilinear2d_f32", out[1], out[0], False, False, 0.0, False, 0.0, info(x), x, dst, grid=1)
    np.testing.assert_allclose(dst, reference.bilinear(x, out, False, (None, None)), atol=2e-6)


def test_plan_takes_tiles_where_they_pay(device: Device) -> None:
    """64 channels of f32 are tiles; depthwise, strided weights, f64 and nothing are not, each for its reason."""
    amd = evolve(device.info, arch="gfx942")
    plan = plans_conv.convolution(16, 64, 3136, 3136, 1, F32, amd)
    assert plan.variant == "conv2d_tiles_f32" and plan.grid == (400, 1, 1) and plan.block == (256, 1, 1)
    nvidia = evolve(device.info, arch="sm_90")
    for depth, variant in ((256, "conv2d_tiles_deep_f32"), (147, "conv2d_tiles_f32")):
        assert plans_conv.convolution(16, 64, 3136, 3136, 1, F32, nvidia, depth=depth).variant == variant
        assert plans_conv.convolution(16, 64, 3136, 3136, 1, F32, amd, depth=depth).variant == plan.variant
    for why, changed in (
        ("1 channels a group fill no tile", {"groups": 64}),
        ("float64 has no tiles", {"t": dtypes.float64}),
        ("the weights of a channel are strided", {"contiguous_weights": False}),
        ("the image has 2³⁰ pixels", {"pixels_in": 1 << 30}),
    ):
        arguments = {"pixels_in": 3136, "groups": 1, "t": F32, "contiguous_weights": True} | changed
        direct = plans_conv.convolution(16, 64, pixels_out=3136, device=device.info, **arguments)
        assert direct.variant.startswith("conv2d_axes_") and why in direct.why
        assert direct.grid[0] * direct.block[0] >= 16 * 64 * 3136
    assert plans_conv.convolution(0, 64, 9, 9, 1, F32, device.info).is_empty


def test_planned_convolution_is_right(device: Device) -> None:
    """The plan's symbol with the plan's grid, through the same arguments for both kernels."""
    rng = np.random.default_rng(12)
    for groups in (1, 8):
        g = Geometry((1, 2), (1, 1), groups=groups)
        x, kernel = numbers(rng, F32, (2, 8, 10, 12)), numbers(rng, F32, (16, 8 // groups, 3, 3))
        out = g.out((10, 12), (3, 3))
        plan = plans_conv.convolution(2, 16, 120, out[0] * out[1], groups, F32, device.info)
        assert ("tiles" in plan.variant) == (groups == 1)
        came = convolve(device, plan.variant.removesuffix("_f32"), F32, x, kernel, g, grid=plan.grid[0])
        assert_convolution(came, x, kernel, g, F32)
