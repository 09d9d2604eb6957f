"""Between dtypes, and from Python numbers to tensors."""

from __future__ import annotations

import atexit
from math import copysign
from typing import Any, Final

import numpy as np

from rocmkern.drivers.protocol import Driver
from rocmkern.dtypes import DType, bool_, part_of
from rocmkern.engine import draft
from rocmkern.engine.operation import planned
from rocmkern.errors import DTypeError
from rocmkern.kernels import plans_transpose
from rocmkern.kernels.families.cast import TILED
from rocmkern.layout import collapse, contiguous
from rocmkern.ops import specialized
from rocmkern.ops.launch import context, elementwise, empty, layout_info
from rocmkern.ops.parts import from_words, words
from rocmkern.promotion import Scalar
from rocmkern.rounding import nearest
from rocmkern.runtime import Device, DeviceMemory
from rocmkern.tensor import Tensor

_KEPT_SCALARS: Final = 1024
_scalars: dict[Driver, dict[tuple[object, ...], DeviceMemory]] = {}
atexit.register(_scalars.clear)  # memory goes back while the drivers still work


def cast(x: Tensor, dtype: DType, *, copy: bool = False) -> Tensor:
    """The values in a dtype: `x` itself where it has it, unless a copy is wanted; contiguous where it is new.

    Raises DTypeError from a complex dtype to a real one other than bool.
    """
    if x.dtype is dtype:
        return duplicate(x) if copy else x
    if dtype.is_complex and not x.dtype.is_complex:
        x = cast(x, part_of(dtype))
    elif x.dtype.is_complex and not dtype.is_complex and dtype is not bool_:
        raise DTypeError(f"cast: {x.dtype} to {dtype} loses the imaginary part; take real() or abs() first")
    return _converted(x, dtype)


@planned
def _converted(x: Tensor, dtype: DType) -> Tensor:
    out, symbol = empty(x.shape, dtype, x.device), f"cast_{x.dtype.short}_{dtype.short}"
    if x.dtype in TILED and dtype in TILED and not x.is_contiguous:
        return _copied(symbol, out, x)
    return elementwise(symbol, out, (x,))


@planned
def duplicate(x: Tensor) -> Tensor:
    """A contiguous copy."""
    if x.dtype.is_complex:
        return from_words(duplicate(words(x)), x.dtype)
    return _copied(f"ucopy_{x.dtype.short}", empty(x.shape, x.dtype, x.device), x)


def _copied(symbol: str, out: Tensor, x: Tensor) -> Tensor:
    """Run a kernel that takes transposed inputs by tiles."""
    if x.layout.is_contiguous or not x.layout.size:
        return elementwise(symbol, out, (x,))
    here = context(x.device)
    if specialized.enabled and specialized.launched(symbol, out, (x,)):
        return out
    dims, (strides,) = collapse(x.shape, x.layout.strides)
    if not dims:
        return elementwise(symbol, out, (x,))
    plan = here.plan(plans_transpose.copy, dims, strides, x.dtype.itemsize, out.dtype.itemsize)
    info = layout_info(x.device, dims + strides)
    here.kernel(x.device, symbol).run(plan, x.layout.size, len(dims), info, x.address, out.address)
    return out


def packed(x: Tensor) -> Tensor:
    """The tensor itself where it is contiguous, else a copy that is."""
    return x if x.layout.is_contiguous else duplicate(x)


def scalar_tensor(value: Scalar, dtype: DType, device: Device) -> Tensor:
    """A number as a tensor without axes; it is shared and kept, so nothing may write to it."""
    table = _scalars.get(device.driver)
    if table is None:
        table = _scalars.setdefault(device.driver, {})
    key = (dtype, value, copysign(1, value.real), copysign(1, value.imag))  # -0.0 equals 0.0, and is another
    found = table.get(key)
    if found is None:
        if len(table) >= _KEPT_SCALARS:
            table.clear()
        data = np.asarray(_encoded(value, dtype), dtype.numpy)
        found = table[key] = device.alloc(dtype.itemsize)
        found.copy_from_host(data.reshape(1))
    draft.constant(found)
    return Tensor(found, dtype, contiguous(()), device)


def _encoded(value: Scalar, dtype: DType) -> Any:
    """A number rounded once, so that NumPy has no more to round."""
    if dtype.is_complex:
        return complex(*(float(nearest(part, part_of(dtype))) for part in (value.real, value.imag)))
    return nearest(value, dtype) if dtype.is_float and not isinstance(value, complex) else value
