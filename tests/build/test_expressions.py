"""Kernels from a line of C++, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import rocmkern as rk
from rocmkern.errors import ArgumentError, AxisError, BuildError, ConfigError, DTypeError


@pytest.fixture(scope="module", params=["gfx942", "gfx1100"])
def place(request: pytest.FixtureRequest) -> rk.Device:
    return rk.Device(f"emulator:{request.param}")


X = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_elements_broadcast_and_types_follow_the_tensors(place: rk.Device) -> None:
    """One kernel for f32, f64 and f16; numbers pass by value."""
    squared = rk.ElementwiseKernel("T x, T y, float32 by", "T z", "z = T((x - y) * (x - y)) * T(by)", "squared")
    for kind in (np.float32, np.float64, np.float16):
        x, y = X.astype(kind), np.arange(3, dtype=kind).reshape(3, 1)
        found = squared(rk.asarray(x, device=place), rk.asarray(y, device=place), 0.5)
        assert np.array_equal(np.asarray(found), (x - y) ** 2 * kind(0.5))


def test_raw_inputs_given_outputs_and_several(place: rk.Device) -> None:
    """A raw input is indexed at will, `_ind` knows the size, and what is passed is filled."""
    turn = rk.ElementwiseKernel("raw T x", "T y, int64 at", "y = x[_ind.size() - i - 1]; at = i")
    x = rk.asarray(X.ravel(), device=place)
    y, at = turn(x, size=12)
    assert np.array_equal(np.asarray(y), X.ravel()[::-1]) and np.array_equal(np.asarray(at), np.arange(12))
    mine = rk.zeros(12, dtype=rk.float32, device=place), rk.zeros(12, dtype=rk.int64, device=place)
    turn(x, *mine)
    assert np.array_equal(np.asarray(mine[0]), X.ravel()[::-1])


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2), -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(place: rk.Device, axis: int | tuple[int, ...] | None, keepdims: bool) -> None:
    """Along any axes, over more elements than a block has threads, and over none."""
    norm = rk.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm", reduce_type="float64")
    for shape in ((3, 5, 300), (2, 0, 4)):
        x = np.linspace(0, 2, int(np.prod(shape)), dtype=np.float64).reshape(shape)
        found = norm(rk.asarray(x, device=place), axis=axis, keepdims=keepdims)
        np.testing.assert_allclose(np.asarray(found), np.sqrt((x * x).sum(axis=axis, keepdims=keepdims)), rtol=1e-12)


def test_wrong_use(place: rk.Device) -> None:
    """Each mistake is told by the kernel's name."""
    twice = rk.ElementwiseKernel("T x, T y", "T z", "z = x + y", "twice")
    x = rk.ones(4, dtype=rk.float32, device=place)
    with pytest.raises(DTypeError, match="twice: y is float64, float32 was wanted; cast it first"):
        twice(x, rk.ones(4, dtype=rk.float64, device=place))
    with pytest.raises(ArgumentError, match="twice: 1 arguments came; it takes `T x, T y`"):
        twice(x)
    with pytest.raises(ArgumentError, match="twice: no argument is a tensor; pass one"):
        twice(1, 2)
    with pytest.raises(ConfigError, match="kernel: parameter 'x'; write a type and a name"):
        rk.ElementwiseKernel("x", "T y", "y = x")
    with pytest.raises(AxisError, match="total: axis 1 of 1 dimensions; count from -1 on"):
        rk.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")(x, axis=1)
    with pytest.raises(BuildError, match="use of undeclared identifier 'w'"):
        rk.ElementwiseKernel("T x", "T y", "y = w")(x)
