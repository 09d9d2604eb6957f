"""Times what Python costs a launch, and operations on a few elements: plan, allocation, argument block, launch.

    python benchmarks/bench_overhead.py [--device emulator:gfx942] [--calls 500] [--only TEXT]

On a real device or the emulator the column includes the launch itself. `--device double` takes the HIP test double, a
library whose launch does nothing: what is left is ours and hip-python's. Microseconds of CPU time a call, best of
five runs; on a busy machine the only time that can be compared. Behind it stands how many kernels a call launches.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import rocmkern as rk

sys.path.insert(0, str(Path(__file__).parent.parent))

RUNS = 5
# What the host counts or compares, which a device that does not compute has no answer for.
BY_VALUE = (
    "x[mask]", "argwhere", "nonzero", "unique_", "repeat(x, times)", "bincount", "allclose", "array_equal",
)  # fmt: skip
OF_FLOATS = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "exp", "expm1", "gelu", "gelu_tanh", "log",
    "log10", "log1p", "log2", "rsqrt", "sigmoid", "silu", "sin", "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip
OF_ANY = (
    "abs", "ceil", "floor", "isfinite", "isinf", "isnan", "logical_not", "negative", "positive", "reciprocal", "relu",
    "round", "sign", "signbit", "square", "trunc",
)  # fmt: skip
OF_TWO = (
    "add", "atan2", "copysign", "divide", "equal", "floor_divide", "greater", "greater_equal", "hypot", "less",
    "less_equal", "logaddexp", "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "multiply",
    "nextafter", "not_equal", "pow", "remainder", "subtract",
)  # fmt: skip
OF_BITS = ("bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor")
OF_ROWS = (
    "all", "any", "argmax", "argmin", "argsort", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff",
    "log_softmax", "logsumexp", "max", "mean", "median", "min", "normalize", "prod", "softmax", "sort", "std", "sum",
    "unique_all", "unique_counts", "unique_inverse", "unique_values", "var",
)  # fmt: skip
OF_MATRICES = (
    "cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matrix_norm", "matrix_rank", "pinv", "qr",
    "slogdet", "svd", "svdvals", "trace",
)  # fmt: skip
OF_SPECTRA = ("fft", "fft2", "fftn", "hfft", "ifft", "ifft2", "ifftn", "irfft", "irfft2", "irfftn")
Calls = dict[str, Callable[[], object]]


def steps(device: rk.Device) -> Calls:
    """What an operation consists of."""
    affine, memory = rk.get_kernel("affine", "affine_f32", device), device.alloc(16)
    empty = affine.pack(0, 0, None, memory, memory, 2.0, 1.0)
    return {
        "get_kernel": lambda: rk.get_kernel("affine", "affine_f32", device),
        "pack": lambda: affine.pack(0, 0, None, memory, memory, 2.0, 1.0),
        "launch_packed": lambda: affine.launch_packed(empty, grid=1, block=64),
        "alloc, free": lambda: device.alloc(4000),
        "alloc, launch": lambda: affine(0, 0, None, memory, device.alloc(4000), 2.0, 1.0, grid=1, block=64),
    }


def elementwise(device: rk.Device) -> Calls:
    """Of one operand and of two; what mixes dtypes casts first."""
    x, y = rk.asarray([1.0, 2.0, 3.0, 4.0], device=device), rk.asarray([4.0, 3.0, 2.0, 1.0], device=device)
    k, m, c, truth = x.astype(rk.int32), rk.ones((2, 2), device=device), x.astype(rk.complex64), x > 2
    rows: Calls = {f"{name}(x)": partial(getattr(rk, name), x) for name in (*OF_FLOATS, *OF_ANY)}
    rows |= {f"{name}(x, y)": partial(getattr(rk, name), x, y) for name in OF_TWO}
    rows |= {f"{name}(k, k)": partial(getattr(rk, name), k, k) for name in OF_BITS}
    return rows | {
        "x + 1.0": lambda: x + 1.0,
        "x / 3": lambda: x / 3,
        "x > 0": lambda: x > 0,
        "x ** 2": lambda: x**2,
        "m.T + m": lambda: m.T + m,
        "k * x": lambda: k * x,
        "c * c": lambda: c * c,
        "x += y": lambda: x.__iadd__(y),
        "bitwise_invert(k)": lambda: rk.bitwise_invert(k),
        "conj(c)": lambda: rk.conj(c),
        "real(c)": lambda: rk.real(c),
        "imag(c)": lambda: rk.imag(c),
        "astype(x, f16)": lambda: x.astype(rk.float16),
        "where(t, x, y)": lambda: rk.where(truth, x, y),
        "clip(x, 0, 1)": lambda: rk.clip(x, 0, 1),
        "elu(x)": lambda: rk.elu(x),
        "tril(m)": lambda: rk.tril(m),
        "triu(m)": lambda: rk.triu(m),
        "isclose(x, y)": lambda: rk.isclose(x, y),
        "nan_to_num(x)": lambda: rk.nan_to_num(x),
    }


def creation(device: rk.Device) -> Calls:
    """From numbers alone."""
    x, values = rk.ones((4,), device=device), np.ones((4,), np.float32)
    return {
        "array(x)": lambda: rk.array(x),
        "asarray([1.0])": lambda: rk.asarray([1.0], device=device),
        "from_dlpack(numpy)": lambda: rk.from_dlpack(values, device=device),
        "zeros(4)": lambda: rk.zeros((4,), device=device),
        "zeros_like(x)": lambda: rk.zeros_like(x),
        "ones(4)": lambda: rk.ones((4,), device=device),
        "ones_like(x)": lambda: rk.ones_like(x),
        "full(4, 2.0)": lambda: rk.full((4,), 2.0, device=device),
        "full_like(x, 2.0)": lambda: rk.full_like(x, 2.0),
        "arange(4)": lambda: rk.arange(4, device=device),
        "linspace(0, 1, 4)": lambda: rk.linspace(0, 1, 4, device=device),
        "eye(2)": lambda: rk.eye(2, device=device),
        "meshgrid(x, x)": lambda: rk.meshgrid(x, x),
        "fft.fftfreq(4)": lambda: rk.fft.fftfreq(4, device=device),
        "fft.rfftfreq(4)": lambda: rk.fft.rfftfreq(4, device=device),
    }


def movement(device: rk.Device) -> Calls:
    """What copies elements, chooses them and puts them elsewhere."""
    x, m = rk.asarray([1.0, 2.0, 3.0, 4.0], device=device), rk.ones((2, 2), device=device)
    ids, pair = rk.asarray([3, 0, 1, 2], device=device), rk.asarray([1, 0], device=device)
    mask, value, times = x > 2, rk.ones((2,), device=device), rk.asarray([1, 0, 2, 1], device=device)
    return {
        "copy(x)": lambda: x.copy(),
        "contiguous(m.T)": lambda: rk.contiguous(m.T),
        "x[1:]": lambda: x[1:],
        "x.numpy()": lambda: x.numpy(),
        "x[ids]": lambda: x[ids],
        "x[mask]": lambda: x[mask],
        "m[:, i]": lambda: m[:, pair],
        "m[i, j]": lambda: m[pair, pair],
        "m[[0, 1]]": lambda: m[[0, 1]],
        "x[1:] = 1": lambda: x.__setitem__(slice(1, None), 1),
        "x[ids] = x": lambda: x.__setitem__(ids, x),
        "x[mask] = 1": lambda: x.__setitem__(mask, 1),
        "x[mask] = v": lambda: x.__setitem__(mask, value),
        "m[:, i] = 1": lambda: m.__setitem__((slice(None), pair), 1),
        "m[i, j] = v": lambda: m.__setitem__((pair, pair), value),
        "concat([x, x])": lambda: rk.concat([x, x]),
        "stack([x, x])": lambda: rk.stack([x, x]),
        "roll(x, 1)": lambda: rk.roll(x, 1),
        "roll(m, two axes)": lambda: rk.roll(m, (1, 1), axis=(0, 1)),
        "tile(m, (2, 2))": lambda: rk.tile(m, (2, 2)),
        "pad(x, 1)": lambda: rk.pad(x, 1),
        "pad(x, 1, edge)": lambda: rk.pad(x, 1, mode="edge"),
        "repeat(x, 2)": lambda: rk.repeat(x, 2),
        "repeat(x, times)": lambda: rk.repeat(x, times),
        "take(x, ids)": lambda: rk.take(x, ids),
        "take_along_axis": lambda: rk.take_along_axis(x, ids),
        "scatter(x, ids, x)": lambda: rk.scatter(x, ids, x),
        "scatter_add": lambda: rk.scatter_add(x, ids, x),
        "index_add(x, ids, x)": lambda: rk.index_add(x, ids, x),
        "index_copy": lambda: rk.index_copy(x, ids, x),
        "one_hot(ids, 4)": lambda: rk.one_hot(ids, 4),
        "embedding(m, i)": lambda: rk.embedding(m, pair),
        "nonzero(x)": lambda: rk.nonzero(x),
        "fft.fftshift(x)": lambda: rk.fft.fftshift(x),
        "fft.ifftshift(x)": lambda: rk.fft.ifftshift(x),
    }


def by_rows(device: rk.Device) -> Calls:
    """What looks at several elements for each result."""
    x, m = rk.asarray([1.0, 2.0, 3.0, 4.0], device=device), rk.asarray([[2.0, 1.0], [1.0, 3.0]], device=device)
    ids, w, c = rk.asarray([1, 0], device=device), rk.ones((2,), device=device), x.astype(rk.complex64)
    k = x.astype(rk.int32)
    rows: Calls = {f"{name}(x)": partial(getattr(rk, name), x) for name in OF_ROWS}
    for name in ("sum", "argmax", "cumulative_sum", "sort", "softmax", "normalize"):
        rows[f"{name}(m, axis=0)"] = partial(getattr(rk, name), m, axis=0)
    for name in ("unique_values", "unique_counts", "unique_inverse", "unique_all", "prod", "cumulative_prod"):
        rows[f"{name}(c)"] = partial(getattr(rk, name), c)
    return rows | {
        "top_k(x, 2)": lambda: rk.top_k(x, 2),
        "quantile(x, 0.3)": lambda: rk.quantile(x, 0.3),
        "bincount(k)": lambda: rk.bincount(k),
        "searchsorted(x, x)": lambda: rk.searchsorted(x, x),
        "isin(x, x)": lambda: rk.isin(x, x),
        "isin(c, c)": lambda: rk.isin(c, c),
        "allclose(x, x)": lambda: rk.allclose(x, x),
        "array_equal(x, x)": lambda: rk.array_equal(x, x),
        "layer_norm(m, w, w)": lambda: rk.layer_norm(m, w, w),
        "rms_norm(m, w)": lambda: rk.rms_norm(m, w),
        "cross_entropy(m, i)": lambda: rk.cross_entropy(m, ids),
    }


def products(device: rk.Device) -> Calls:
    """Sums of products: matrices, attention, convolutions."""
    x, m = rk.ones((4,), device=device), rk.asarray([[2.0, 1.0], [1.0, 3.0]], device=device)
    b, k, c = rk.ones((2,), device=device), m.astype(rk.int32), m.astype(rk.complex64)
    q, angles = rk.ones((1, 2, 4, 8), device=device), rk.ones((4, 4), device=device)
    image, kernel = rk.ones((1, 1, 4, 4), device=device), rk.ones((1, 1, 3, 3), device=device)
    signal, taps, shift = rk.ones((1, 1, 4), device=device), rk.ones((1, 1, 3), device=device), b[:1]
    return {
        "matmul(m, m)": lambda: m @ m,
        "matmul(m, b)": lambda: m @ b,
        "matmul(k, k)": lambda: k @ k,
        "matmul(c, c)": lambda: c @ c,
        "linear(m, m)": lambda: rk.linear(m, m),
        "linear(m, m, b)": lambda: rk.linear(m, m, b),
        "vecdot(x, x)": lambda: rk.vecdot(x, x),
        "tensordot(m, m)": lambda: rk.tensordot(m, m, axes=1),
        "dot(m, m)": lambda: rk.dot(m, m),
        "inner(x, x)": lambda: rk.inner(x, x),
        "kron(m, m)": lambda: rk.kron(m, m),
        "einsum(m, m)": lambda: rk.einsum("ij,jk->ik", m, m),
        "rope(q, cos, sin)": lambda: rk.rope(q, angles, angles),
        "scaled_dot_product_attention": lambda: rk.scaled_dot_product_attention(q, q, q),
        "conv2d": lambda: rk.conv2d(image, kernel),
        "conv2d, bias": lambda: rk.conv2d(image, kernel, shift),
        "conv1d": lambda: rk.conv1d(signal, taps),
        "conv_transpose2d": lambda: rk.conv_transpose2d(image, kernel),
        "conv_transpose1d": lambda: rk.conv_transpose1d(signal, taps),
        "max_pool2d": lambda: rk.max_pool2d(image, 2),
        "avg_pool2d": lambda: rk.avg_pool2d(image, 2),
        "interpolate": lambda: rk.interpolate(image, (8, 8)),
    }


def matrices(device: rk.Device) -> Calls:
    """linalg and fft, whose kernels take a block or a wave through many steps."""
    x, m = rk.ones((4,), device=device), rk.asarray([[2.0, 1.0], [1.0, 3.0]], device=device)
    b, v, z = rk.ones((2,), device=device), rk.ones((3,), device=device), m.astype(rk.complex64)
    rows: Calls = {f"linalg.{name}(m)": partial(getattr(rk.linalg, name), m) for name in OF_MATRICES}
    rows |= {f"fft.{name}": partial(getattr(rk.fft, name), m) for name in ("rfft", "rfft2", "rfftn", "ihfft")}
    rows |= {f"fft.{name}": partial(getattr(rk.fft, name), z) for name in OF_SPECTRA}
    return rows | {
        "linalg.vector_norm(x)": lambda: rk.linalg.vector_norm(x),
        "linalg.matrix_power": lambda: rk.linalg.matrix_power(m, 2),
        "linalg.solve(m, b)": lambda: rk.linalg.solve(m, b),
        "linalg.outer(x, x)": lambda: rk.linalg.outer(x, x),
        "linalg.cross(v, v)": lambda: rk.linalg.cross(v, v),
    }


def compositions(device: rk.Device) -> Calls:
    """What NumPy has beyond the standard, of several operations each."""
    x, m = rk.asarray([1.0, 2.0, 3.0, 4.0], device=device), rk.asarray([[2.0, 1.0], [1.0, 3.0]], device=device)
    k, b = x.astype(rk.int32), rk.ones((2,), device=device)
    names = ("nanmax", "nanmean", "nanmin", "nanstd", "nansum", "nanvar", "average", "gradient", "trapezoid")
    rows: Calls = {f"{name}(x)": partial(getattr(rk, name), x) for name in (*names, "argwhere", "diag")}
    return rows | {
        "average(x, weights)": lambda: rk.average(x, weights=x),
        "percentile(x, 30)": lambda: rk.percentile(x, 30),
        "histogram(x, range)": lambda: rk.histogram(x, 4, range=(0, 4)),
        "cov(m)": lambda: rk.cov(m),
        "corrcoef(m)": lambda: rk.corrcoef(m),
        "convolve(x, x)": lambda: rk.convolve(x, x),
        "correlate(x, x)": lambda: rk.correlate(x, x),
        "interp(x, x, x)": lambda: rk.interp(x, x, x),
        "polyval(b, x)": lambda: rk.polyval(b, x),
        "hstack([x, x])": lambda: rk.hstack([x, x]),
        "vstack([x, x])": lambda: rk.vstack([x, x]),
        "unravel_index(k, shape)": lambda: rk.unravel_index(k, (3, 3)),
        "linalg.norm(m)": lambda: rk.linalg.norm(m),
        "linalg.cond(m)": lambda: rk.linalg.cond(m),
        "linalg.lstsq(m, b)": lambda: rk.linalg.lstsq(m, b),
    }


GROUPS = (steps, elementwise, creation, movement, by_rows, products, matrices, compositions)


def microseconds(call: Callable[[], object], calls: int) -> float:
    """CPU time of one call in the calling thread, the best of several runs."""
    for _ in range(20):
        call()
    best = float("inf")
    for _ in range(RUNS):
        start = time.thread_time()
        for _ in range(calls):
            call()
        best = min(best, time.thread_time() - start)
    return best / calls * 1e6


def launches(call: Callable[[], object]) -> int:
    """The kernels that a call launches once it was made before."""
    call()
    with rk.Trace() as trace:
        call()
    return sum(row.launches for row in trace.totals())


def report(device: rk.Device, calls: int, only: str, *, computes: bool) -> None:
    print(f"{device.info.name}, {calls} calls")
    for group in GROUPS:
        for name, call in group(device).items():
            if only in name and (computes or not name.startswith(BY_VALUE)):
                print(f"{name:28} {microseconds(call, calls):8.1f} us {launches(call):3}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default=None)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--only", default="", help="operations whose name has this in it")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        name = options.device
        if name == "double":
            from tests import hip_double

            double = stack.enter_context(hip_double.present(1))
            double.recording(False)
            stack.callback(double.recording, True)
            name = "hip:0"
        report(rk.Device(name), options.calls, options.only, computes=options.device != "double")


if __name__ == "__main__":
    main()
