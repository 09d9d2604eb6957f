"""Polynomials fitted and solved."""

from __future__ import annotations

import numpy as np

from rocmkern.dtypes import complex64, complex128, float64
from rocmkern.errors import ShapeError
from rocmkern.layout import normal_integer
from rocmkern.ops.casting import cast
from rocmkern.ops.creation import upload
from rocmkern.ops.eigen import eigvals
from rocmkern.ops.elementwise import as_tensor
from rocmkern.ops.grids import vander
from rocmkern.ops.manipulation import concat, expand_dims
from rocmkern.ops.matrices import vector_norm
from rocmkern.ops.reduction import floating
from rocmkern.ops.rows_binary import divide, multiply
from rocmkern.ops.solutions import lstsq
from rocmkern.tensor import Tensor


def polyfit(x: Tensor, y: Tensor, /, deg: int, *, w: Tensor | None = None) -> Tensor:
    """The coefficients, that of the highest power first, of the polynomial of degree `deg` that is nearest to points by
    least squares; weights say what each difference counts. Several columns of y give as many columns.

    Worked out in double precision; integers become the default dtype.
    """
    degree = normal_integer(deg, "polyfit", "degree")
    if as_tensor("polyfit", x).ndim != 1 or as_tensor("polyfit", y).ndim not in (1, 2) or y.shape[0] != x.size:
        raise ShapeError(f"polyfit: places {x.shape} and values {y.shape}; give a vector and as many values")
    if degree < 0 or not x.size:
        raise ShapeError(f"polyfit: degree {degree} of {x.size} points; use 0 or more, and a point at least")
    dtype = floating(x.dtype, y.dtype)
    wide = complex128 if dtype.is_complex else float64
    powers, right = vander(cast(x, wide), degree + 1), cast(y, wide)
    if w is not None:
        if as_tensor("polyfit", w).shape != x.shape:
            raise ShapeError(f"polyfit: weights {w.shape} for places {x.shape}; give one for each")
        each = expand_dims(cast(w, float64), axis=1)
        powers = multiply(powers, each)
        right = multiply(right, each if y.ndim == 2 else cast(w, float64))
    scale = vector_norm(powers, axis=0)
    found = lstsq(divide(powers, scale), right, rtol=x.size * 2.0**-52).x
    return cast(divide(found, scale if y.ndim == 1 else expand_dims(scale, axis=1)), dtype)


def roots(p: Tensor, /) -> Tensor:
    """The roots of the polynomial of coefficients p, that of the highest power first, as complex numbers: complex128 of
    float64 and of integers where that is the default, else complex64. The host looks at the coefficients.
    """
    if as_tensor("roots", p).ndim != 1:
        raise ShapeError(f"roots: {p.ndim} dimensions; it takes a vector of coefficients")
    dtype = p.dtype if p.dtype.is_complex else complex128 if floating(p.dtype) is float64 else complex64
    host = p.numpy().astype(np.complex128)
    (places,) = np.nonzero(host)
    if not places.size:
        return upload(np.empty(0, dtype.numpy), p.device)
    zeros_behind = host.size - 1 - int(places[-1])
    factors = host[places[0] : places[-1] + 1]
    if factors.size == 1:
        return upload(np.zeros(zeros_behind, dtype.numpy), p.device)
    companion = np.diag(np.ones(factors.size - 2, np.complex128), -1)
    companion[0] = -factors[1:] / factors[0]
    found = cast(eigvals(upload(companion, p.device)), dtype)
    return concat([found, upload(np.zeros(zeros_behind, dtype.numpy), p.device)]) if zeros_behind else found
