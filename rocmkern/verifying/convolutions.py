"""Convolutions, pooling and resampling of (b, c, h, w) by NumPy, in the type of their inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

Array = npt.NDArray[Any]
Pair = tuple[int, int]


@frozen
class Geometry:
    """Vertical and horizontal."""

    stride: Pair = (1, 1)
    padding: Pair = (0, 0)
    dilation: Pair = (1, 1)
    groups: int = 1

    def out(self, size: Pair, kernel: Pair) -> Pair:
        h, w = (
            (size[a] + 2 * self.padding[a] - self.dilation[a] * (kernel[a] - 1) - 1) // self.stride[a] + 1
            for a in (0, 1)
        )
        return h, w

    def transposed_out(self, size: Pair, kernel: Pair, extra: Pair = (0, 0)) -> Pair:
        h, w = (
            (size[a] - 1) * self.stride[a] - 2 * self.padding[a] + self.dilation[a] * (kernel[a] - 1) + extra[a] + 1
            for a in (0, 1)
        )
        return h, w


def columns(x: Array, kernel: Pair, g: Geometry, out: Pair) -> Array:
    """(b, c, k_h, k_w, out_h, out_w): what each kernel position meets at each output."""
    padded = np.zeros((*x.shape[:2], *(x.shape[2 + a] + 2 * g.padding[a] for a in (0, 1))), x.dtype)
    padded[:, :, g.padding[0] : g.padding[0] + x.shape[2], g.padding[1] : g.padding[1] + x.shape[3]] = x
    result = np.zeros((*x.shape[:2], *kernel, *out), x.dtype)
    for ky in range(kernel[0]):
        for kx in range(kernel[1]):
            y, left = ky * g.dilation[0], kx * g.dilation[1]
            rows = padded[:, :, y : y + g.stride[0] * out[0] : g.stride[0]]
            result[:, :, ky, kx] = rows[..., left : left + g.stride[1] * out[1] : g.stride[1]][:, :, : out[0], : out[1]]
    return result


def convolve(x: Array, kernel: Array, g: Geometry) -> Array:
    """`kernel` is (c_out, c_in / groups, k_h, k_w)."""
    size: Pair = kernel.shape[2], kernel.shape[3]
    out = g.out((x.shape[2], x.shape[3]), size)
    met = columns(x, size, g, out)
    parts = [
        np.einsum("bckluv,ockl->bouv", part, weights)
        for part, weights in zip(np.split(met, g.groups, 1), np.split(kernel, g.groups, 0), strict=True)
    ]
    return np.concatenate(parts, axis=1)


def convolve_transposed(x: Array, kernel: Array, g: Geometry, out: Pair) -> Array:
    """`kernel` is (c_in, c_out / groups, k_h, k_w): every input scatters the kernel, the padding is cut off."""
    b, _, h, w = x.shape
    whole_h = max((h - 1) * g.stride[0] + g.dilation[0] * (kernel.shape[2] - 1) + 1, out[0] + 2 * g.padding[0])
    whole_w = max((w - 1) * g.stride[1] + g.dilation[1] * (kernel.shape[3] - 1) + 1, out[1] + 2 * g.padding[1])
    parts = []
    for part, weights in zip(np.split(x, g.groups, 1), np.split(kernel, g.groups, 0), strict=True):
        whole = np.zeros((b, kernel.shape[1], whole_h, whole_w), x.dtype)
        for ky in range(kernel.shape[2]):
            for kx in range(kernel.shape[3]):
                y, left = ky * g.dilation[0], kx * g.dilation[1]
                target = whole[:, :, y : y + g.stride[0] * h : g.stride[0], left : left + g.stride[1] * w : g.stride[1]]
                target += np.einsum("bcuv,co->bouv", part, weights[:, :, ky, kx])
        parts.append(whole[:, :, g.padding[0] : g.padding[0] + out[0], g.padding[1] : g.padding[1] + out[1]])
    return np.concatenate(parts, axis=1)


def windows(x: Array, kernel: Pair, stride: Pair) -> Any:
    """(b, c, out_h, out_w, k_h * k_w)."""
    g = Geometry(stride)
    out = g.out((x.shape[2], x.shape[3]), kernel)
    met = columns(x, kernel, g, out)
    return met.transpose(0, 1, 4, 5, 2, 3).reshape(*x.shape[:2], *out, -1)


def nearest(x: Array, out: Pair) -> Array:
    y, left = (np.arange(out[a]) * x.shape[2 + a] // out[a] for a in (0, 1))
    return x[:, :, y][..., left]


def bilinear(x: Array, out: Pair, align_corners: bool, factors: tuple[float | None, float | None]) -> Any:
    """torch's interpolation, in f64."""

    def axis(n: int, m: int, factor: float | None) -> tuple[Array, Array, Array]:
        at = np.arange(m)
        if align_corners:
            position = at * ((n - 1) / (m - 1) if m > 1 else 0.0)
        else:
            position = np.maximum((at + 0.5) * (1 / factor if factor else n / m) - 0.5, 0)
        low = np.minimum(position.astype(int), n - 1)
        high = np.minimum(low + 1, n - 1)
        return low, high, np.where(high > low, position - low, 0.0)

    y0, y1, wy = axis(x.shape[2], out[0], factors[0])
    x0, x1, wx = axis(x.shape[3], out[1], factors[1])
    wide = x.astype(np.float64)
    upper = wide[:, :, y0][..., x0] * (1 - wx) + wide[:, :, y0][..., x1] * wx
    lower = wide[:, :, y1][..., x0] * (1 - wx) + wide[:, :, y1][..., x1] * wx
    return upper * (1 - wy[:, None]) + lower * wy[:, None]
