"""Launching one kernel on NumPy arrays, with the checks that every launch deserves."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rocmkern.dtypes import REAL, DType
from rocmkern.kernels import families
from rocmkern.kernels.cache import get_kernel
from rocmkern.runtime import Device

Array = npt.NDArray[Any]
_GUARD: Final = 64  # bytes behind every buffer that no kernel may touch
_GUARD_BYTE: Final = 0xA5


def run(device: Device, symbol: str, *args: Any, grid: int, block: int = 256, shared_bytes: int = 0) -> None:
    """Launches `symbol` with arrays for pointers; arrays that the catalogue calls out or inout are updated in place.

    Asserts that inputs stay as they were and that nothing is written behind any buffer.
    """
    spec = families.spec(symbol)
    passed: list[Any] = []
    arrays = []
    for parameter, value in zip(spec.parameters, args, strict=True):
        if not isinstance(value, np.ndarray):
            passed.append(value)
            continue
        assert value.dtype == parameter.dtype.numpy, (parameter, value.dtype)
        assert value.flags.c_contiguous
        memory = device.alloc(value.nbytes + _GUARD)
        memory.fill(_GUARD_BYTE)
        if value.nbytes:
            memory.copy_from_host(value.view(np.uint8) if value.ndim else value)
        passed.append(memory)
        arrays.append((parameter, value, memory))
    get_kernel(spec.family, symbol, device)(*passed, grid=grid, block=block, shared_bytes=shared_bytes)
    device.synchronize()
    for parameter, value, memory in arrays:
        came = memory.copy_to_host()
        assert (came[value.nbytes :] == _GUARD_BYTE).all(), f"{symbol} writes behind {parameter.name}"
        result = came[: value.nbytes].view(value.dtype).reshape(value.shape)
        if parameter.role == "in":
            assert result.tobytes() == value.tobytes(), f"{symbol} writes to its input {parameter.name}"
        else:
            value[...] = result


@np.errstate(invalid="ignore")  # ml_dtypes warns of signalling NaNs
def unequal(left: Array, right: Array) -> list[int]:
    """Where two arrays differ in their bits; any NaN equals any other."""
    assert (left.dtype, left.shape) == (right.dtype, right.shape)
    unsigned = np.dtype(f"u{left.dtype.itemsize}")
    left, right = np.ascontiguousarray(left).reshape(-1), np.ascontiguousarray(right).reshape(-1)
    differ = left.view(unsigned) != right.view(unsigned)
    if left.dtype.kind not in "biu":
        differ &= (left == left) | (right == right)
    found: list[int] = np.flatnonzero(differ).tolist()
    return found


def same_bits(left: Array, right: Array) -> bool:
    return not unequal(left, right)


def root(view: Array) -> Array:
    """The array that a view that starts at its first element looks at: what has to be uploaded for it."""
    while isinstance(view.base, np.ndarray):
        view = view.base
    return view


def layout(array: Array, *others: Array) -> Array:
    """Candle's info: dims, then the strides of each array in elements."""
    strides = [s // a.itemsize for a in (array, *others) for s in a.strides]
    return np.array([*array.shape, *strides], np.int64).view(np.uint64)


def bits(rng: np.random.Generator, dtype: DType, shape: int | tuple[int, ...]) -> Array:
    """Random bit patterns: for floats NaNs, infinities and subnormals are among them."""
    if dtype.kind == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    count = int(np.prod(shape))
    return np.frombuffer(rng.bytes(count * dtype.itemsize), dtype.numpy).copy().reshape(shape)


def small_numbers(rng: np.random.Generator, dtype: DType, shape: int | tuple[int, ...]) -> Array:
    """Numbers of which many are equal, NaN, -0.0 and infinities among the floats."""
    values = rng.integers(0 if dtype.kind in ("bool", "unsigned") else -4, 5, shape).astype(dtype.numpy)
    if dtype.is_float:
        special = np.array([np.nan, -0.0, 0.0, np.inf, -np.inf], dtype.numpy)
        chosen = rng.random(shape) < 0.3
        values = np.where(chosen, rng.choice(special, shape), values)
    return values


NAMES: Final = [d.short for d in REAL]
