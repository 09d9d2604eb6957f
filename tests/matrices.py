"""Matrices for the tests of linear algebra, and what all of them do with matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rocmkern.dtypes import DType

Array = npt.NDArray[Any]


def normal(dtype: DType, *shape: int) -> Array:
    """Normally distributed, the same for a shape every time."""
    x = np.random.default_rng(shape).standard_normal((*shape, 2))
    values: Array = (x[..., 0] + 1j * x[..., 1] if dtype.is_complex else x[..., 0]).astype(dtype.numpy)
    return values


def adjoint(x: Array) -> Array:
    """The conjugate transpose of each matrix."""
    return np.conj(np.swapaxes(x, -1, -2))


def exactly(x: Array) -> Array:
    """With more digits, so that products say what the matrix is worth."""
    wide: Array = x.astype(np.clongdouble if np.iscomplexobj(x) else np.longdouble)
    return wide
