"""Checked indices: the kernel finds the first one outside its axis, the host raises the error."""

from __future__ import annotations

import struct
from typing import Final

from attrs import frozen

from rocmkern.dtypes import DType, int64
from rocmkern.errors import KernelIndexError
from rocmkern.ops.launch import empty, kernel, strided
from rocmkern.runtime import DeviceMemory
from rocmkern.tensor import Tensor

_STATUS: Final = struct.Struct("=4Q")
_NOWHERE: Final = (1 << 64) - 1


@frozen(eq=False)
class _Check:
    """One launch of check_ids whose answer the host has not seen."""

    status: DeviceMemory
    operation: str
    dtype: DType
    bound: int
    axis: int

    def settle(self) -> None:
        """Raise KernelIndexError where an index was outside."""
        answer = bytearray(_STATUS.size)
        self.status.copy_to_host(answer)
        position, value, *_ = _STATUS.unpack(answer)
        if position == _NOWHERE:
            return
        index = value - (1 << 64) if self.dtype.kind == "signed" and value >> 63 else value
        raise KernelIndexError(
            f"{self.operation}: index {index} at position {position} on axis {self.axis} of length {self.bound}; "
            f"use {-self.bound}..{self.bound - 1}"
        )


def checked_ids(ids: Tensor, bound: int, axis: int, operation: str) -> Tensor:
    """The ids as contiguous int64, counted from the front.

    Raises KernelIndexError (an IndexError) for one outside `-bound..bound-1`.
    """
    result = empty(ids.shape, int64, ids.device)
    if not result.size:
        return result
    status = ids.device.alloc(_STATUS.size)
    status.fill(0xFF)
    num_dims, info = strided(ids.shape, ids)
    kernel(ids.device, f"check_ids_{ids.dtype.short}")(
        ids.size, ids.size, num_dims, info, ids.address, result.address, bound, status.address
    )
    _Check(status, operation, ids.dtype, bound, axis).settle()
    return result
