"""Cases of matrices and grids: products, convolutions, factors, eigenvalues, Fourier transforms, random numbers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import numpy as np

import rocmkern as rk
from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.kernels.catalogue import INTEGERS
from rocmkern.verifying import convolutions
from rocmkern.verifying.case import Array, Case, numbers, whole
from rocmkern.verifying.convolutions import Geometry, Pair

_FLOATS: Final = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
_WIDE: Final = (dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128)
# Rows, columns and depth that different kernels serve: few rows, few columns, vectors, many rows, ragged ones.
_PRODUCTS: Final = (
    (70, 130, 65), (1, 300, 200), (300, 1, 200), (5, 300, 200), (3, 40, 4000), (300, 4, 260), (16, 16, 16),
    (200, 200, 512), (129, 257, 64), (2, 6, 5), (12, 600, 96), (600, 12, 96), (512, 512, 64), (8, 8, 3000),
)  # fmt: skip


def matrices() -> Iterator[Case]:
    for t in (*INTEGERS, *_FLOATS, dtypes.complex64, dtypes.complex128, dtypes.float8_e4m3):
        for m, n, k in _PRODUCTS:
            x, y = (whole(t, *s) if not t.is_complex else numbers(t, *s) for s in ((m, k), (k, n)))
            yield Case(f"matmul of {t.name} {m} x {n} x {k}", rk.matmul, (x, y), np.matmul, ulps=64.0 * t.is_complex,
                       of_largest=True)  # fmt: skip
            if min(m, n) > 1:
                yield Case(
                    f"matmul of {t.name} {m} x {n} x {k}, transposed", lambda x, y: rk.matmul(x.T, y.T).T,
                    (x.T.copy(), y.T.copy()), lambda x, y: np.matmul(x.T, y.T).T, ulps=64.0 * t.is_complex,
                    of_largest=True,
                )  # fmt: skip
        lines = tuple(whole(t, 5, 200, seed=i) if not t.is_complex else numbers(t, 5, 200, seed=i) for i in range(2))
        yield Case(f"vecdot of {t.name}", rk.vecdot, lines, lambda x, y: np.sum(np.conj(x) * y, axis=-1, dtype=x.dtype),
                   ulps=64.0 * t.is_complex, of_largest=True)  # fmt: skip
        batch = (3, 33, 20), (3, 20, 17)
        x, y = (whole(t, *s) if not t.is_complex else numbers(t, *s) for s in batch)
        yield Case(f"matmul of {t.name}, batch", rk.matmul, (x, y), np.matmul, ulps=64.0 * t.is_complex,
                   of_largest=True)  # fmt: skip


def grids() -> Iterator[Case]:
    for t in (*INTEGERS, *_FLOATS):
        for padding, stride, channels in ((1, 1, 5), (0, 2, 32)):
            x, kernel = whole(t, 2, channels, 17, 19), whole(t, 32, channels, 3, 3)
            g = Geometry((stride, stride), (padding, padding))
            yield Case(f"conv2d of {t.name}, {channels} channels", partial(_conv2d, g), (x, kernel),
                       partial(_convolve, g))  # fmt: skip
            back = whole(t, channels, 4, 3, 3)
            yield Case(f"conv_transpose2d of {t.name}, {channels} channels", partial(_conv_transpose2d, g), (x, back),
                       partial(_convolve_back, g))  # fmt: skip
            yield Case(f"conv1d of {t.name}, {channels} channels", partial(_conv1d, g), (x[:, :, 0], kernel[:, :, 0]),
                       partial(_convolve_lines, g))  # fmt: skip
            yield Case(f"conv_transpose1d of {t.name}, {channels} channels", partial(_conv_transpose1d, g),
                       (x[:, :, 0], back[:, :, 0]), partial(_convolve_lines_back, g))  # fmt: skip
        skewed = Geometry((2, 1), (1, 2), (1, 2))
        x, kernel, back = whole(t, 2, 4, 15, 12), whole(t, 6, 4, 3, 2), whole(t, 4, 6, 3, 2)
        yield Case(f"conv2d of {t.name}, skewed", partial(_conv2d, skewed), (x, kernel), partial(_convolve, skewed))
        yield Case(f"conv_transpose2d of {t.name}, skewed", partial(_conv_transpose2d, skewed), (x, back),
                   partial(_convolve_back, skewed))  # fmt: skip
        for window in ((2, 2), (3, 2)):
            yield Case(f"max_pool2d of {t.name} {list(window)}", lambda x, w=window: rk.max_pool2d(x, w), (x,),
                       lambda x, w=window: convolutions.windows(x, w, w).max(axis=-1))  # fmt: skip
            yield Case(
                f"avg_pool2d of {t.name} {list(window)}", lambda x, w=window: rk.avg_pool2d(x, w), (x,),
                (lambda x, w=window: convolutions.windows(x, w, w).mean(axis=-1)) if t.is_float else None, ulps=1.0,
            )  # fmt: skip
        yield Case(f"interpolate of {t.name}, nearest", lambda x: rk.interpolate(x, (20, 31)), (x,),
                   lambda x: convolutions.nearest(x, (20, 31)))  # fmt: skip
        yield Case(
            f"interpolate of {t.name}, bilinear", lambda x: rk.interpolate(x, (20, 31), mode="bilinear"), (x,),
            (lambda x: convolutions.bilinear(x, (20, 31), False, (None, None))) if t.is_float else None, ulps=4.0,
            of_largest=True,
        )  # fmt: skip


def _conv2d(g: Geometry, x: Any, kernel: Any) -> Any:
    return rk.conv2d(x, kernel, stride=g.stride, padding=g.padding, dilation=g.dilation)


def _conv_transpose2d(g: Geometry, x: Any, kernel: Any) -> Any:
    return rk.conv_transpose2d(x, kernel, stride=g.stride, padding=g.padding, dilation=g.dilation)


def _conv1d(g: Geometry, x: Any, kernel: Any) -> Any:
    return rk.conv1d(x, kernel, stride=g.stride[1], padding=g.padding[1], dilation=g.dilation[1])


def _conv_transpose1d(g: Geometry, x: Any, kernel: Any) -> Any:
    return rk.conv_transpose1d(x, kernel, stride=g.stride[1], padding=g.padding[1], dilation=g.dilation[1])


def _convolve(g: Geometry, x: Array, kernel: Array) -> Array:
    return convolutions.convolve(x, kernel, g)


def _convolve_back(g: Geometry, x: Array, kernel: Array) -> Array:
    out = g.transposed_out(_last(x), _last(kernel))
    return convolutions.convolve_transposed(x, kernel, g, out)


def _line(g: Geometry) -> Geometry:
    return Geometry((1, g.stride[1]), (0, g.padding[1]), (1, g.dilation[1]))


def _convolve_lines(g: Geometry, x: Array, kernel: Array) -> Array:
    return _convolve(_line(g), x[:, :, None], kernel[:, :, None])[:, :, 0]


def _convolve_lines_back(g: Geometry, x: Array, kernel: Array) -> Array:
    return _convolve_back(_line(g), x[:, :, None], kernel[:, :, None])[:, :, 0]


def _last(x: Array) -> Pair:
    return x.shape[-2], x.shape[-1]


def _spread(t: DType, *shape: int) -> Array:
    """Square matrices far from being singular."""
    return np.asarray(numbers(t, *shape, special=False) + shape[-1] * np.eye(shape[-1]), t.numpy)


def _symmetric(t: DType, *shape: int) -> Array:
    """Hermitian matrices whose eigenvalues lie apart and above zero."""
    x = numbers(t, *shape, special=False).astype(np.complex128 if t.is_complex else np.float64) / shape[-1]
    return np.asarray(x + x.conj().swapaxes(-1, -2) + 3 * np.diag(np.arange(1, shape[-1] + 1)), t.numpy)


def _numpy_precise(x: Array) -> Array:
    """NumPy's linear algebra stops at doubles."""
    return x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)


def factors() -> Iterator[Case]:
    for t in _WIDE:
        for shape in ((5, 5), (40, 40), (70, 70), (4, 6, 6), (3, 40, 40)):
            name, x, y = f"of {t.name} {list(shape)}", _spread(t, *shape), numbers(t, *shape, special=False)
            loose: dict[str, Any] = {"ulps": 64.0 * shape[-1], "of_largest": True}
            yield Case(f"solve {name}", rk.linalg.solve, (x, y), _precise(np.linalg.solve), **loose)
            yield Case(f"inv {name}", rk.linalg.inv, (x,), _precise(np.linalg.inv), **loose)
            yield Case(f"det {name}", rk.linalg.det, (x,), _precise(np.linalg.det), **loose)
            definite = _symmetric(t, *shape)
            yield Case(f"cholesky {name}", rk.linalg.cholesky, (definite,), _precise(np.linalg.cholesky), **loose)
            yield Case(f"qr {name}", lambda x: _product(*rk.linalg.qr(x)), (y,), lambda x: x, **loose)
            yield Case(f"eigvalsh {name}", rk.linalg.eigvalsh, (definite,), _precise(np.linalg.eigvalsh), **loose)
            yield Case(f"svdvals {name}", rk.linalg.svdvals, (y,),
                       _precise(partial(np.linalg.svd, compute_uv=False)), **loose)  # fmt: skip
            yield Case(f"eigvals {name}", lambda x: rk.sum(rk.linalg.eigvals(x), axis=-1), (definite,),
                       lambda x: np.trace(x, axis1=-2, axis2=-1) + 0j, **loose)  # fmt: skip
        x, y = numbers(t, 30, 3, special=False), numbers(t, 30, 3, special=False, seed=1)
        yield Case(f"cross of {t.name}", rk.linalg.cross, (x, y), np.cross, ulps=16.0, of_largest=True)


def _product(q: Any, r: Any) -> Any:
    return q @ r


def _precise(f: Any) -> Any:
    return lambda *arrays: f(*map(_numpy_precise, arrays))


def transforms() -> Iterator[Case]:
    for t in (dtypes.complex64, dtypes.complex128):
        for n in (4, 64, 60, 97, 1000, 4096, 6007, 30_000):
            x = numbers(t, 3, n)
            for name in ("fft", "ifft"):
                yield Case(f"{name} of {t.name} {n}", getattr(rk.fft, name), (x,),
                           _precise(getattr(np.fft, name)), ulps=64.0, of_largest=True)  # fmt: skip


def draws() -> Iterator[Case]:
    for t in _FLOATS:
        for name in ("random", "standard_normal"):
            yield Case(f"{name} of {t.name}", lambda x, f=name: getattr(_generator(x), f)(x.shape, x.dtype),
                       (np.zeros((70, 70), t.numpy),))  # fmt: skip
    for t in INTEGERS:
        yield Case(f"integers of {t.name}", lambda x: _generator(x).integers(0, 100, x.shape, x.dtype),
                   (np.zeros((70, 70), t.numpy),))  # fmt: skip


def _generator(x: Any) -> Any:
    return rk.random.default_rng(9, device=x.device)


def cases() -> Iterator[Case]:
    for made in (matrices, grids, factors, transforms, draws):
        yield from made()
