"""Tensors in NumPy's files."""

from __future__ import annotations

from os import PathLike
from typing import IO, Any

import numpy as np

from rocmkern.errors import DTypeError
from rocmkern.ops.creation import asarray
from rocmkern.ops.elementwise import as_tensor
from rocmkern.runtime.device import DeviceLike
from rocmkern.tensor import Tensor

File = str | PathLike[str] | IO[bytes]


def save(file: File, x: Tensor, /) -> None:
    """Write a tensor as NumPy's .npy. Raises DTypeError for bfloat16 and float8, which that format has no name for."""
    np.save(file, _host("save", x))


def savez(file: File, /, *arrays: Tensor, **named: Tensor) -> None:
    """Write tensors as NumPy's .npz: those without a name as arr_0, arr_1, …"""
    write: Any = np.savez  # whose stubs take names for flags
    write(file, *(_host("savez", x) for x in arrays), **{name: _host("savez", x) for name, x in named.items()})


def _host(operation: str, x: Tensor) -> np.ndarray[Any, Any]:
    if as_tensor(operation, x).dtype.numpy.kind not in "biufc":
        raise DTypeError(f"{operation}: dtype {x.dtype}, which NumPy's files have no name for; use astype(float32)")
    return x.numpy()


def load(file: File, /, *, device: DeviceLike = None) -> Tensor | dict[str, Tensor]:
    """The tensor of an .npy file, or those of an .npz by name. Pickled objects are refused."""
    found = np.load(file, allow_pickle=False)
    if isinstance(found, np.ndarray):
        return asarray(found, device=device)
    with found:
        return {name: asarray(found[name], device=device) for name in found.files}
