"""What only a kernel can find wrong: an index outside its axis, a singular matrix. The host raises the error when it
waits anyway.

No kernel follows such an index or leaves its memory for such a matrix, so what was launched in between did no harm.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, TypeVar

from attrs import frozen

from rocmkern.dtypes import DType, int64
from rocmkern.engine.checks import NOWHERE, Check, answers_of
from rocmkern.engine.draft import thread
from rocmkern.errors import KernelIndexError, LinAlgError
from rocmkern.ops.launch import empty, kernel, strided
from rocmkern.runtime import Device
from rocmkern.runtime.capturing import current
from rocmkern.tensor import Tensor

Launched = TypeVar("Launched")
_STATUS: Final = struct.Struct("=4Q")


@frozen(eq=False)
class _CheckOfIds:
    """A launch of check_ids."""

    operation: str
    dtype: DType
    bound: int
    axis: int

    def error(self, answer: bytes) -> KernelIndexError | None:
        position, value, *_ = _STATUS.unpack(answer)
        if position == NOWHERE:
            return None
        index = value - (1 << 64) if self.dtype.kind == "signed" and value >> 63 else value
        return KernelIndexError(
            f"{self.operation}: index {index} at position {position} on axis {self.axis} of length {self.bound}; "
            f"use {-self.bound}..{self.bound - 1}"
        )


@frozen(eq=False)
class CheckOfMatrices:
    """A factorization of matrices that must have a property."""

    operation: str
    shape: tuple[int, ...]
    lacks: str  # may name the {pivot} at which
    remedy: str

    def error(self, answer: bytes) -> LinAlgError | None:
        where, *_ = _STATUS.unpack(answer)
        if where == NOWHERE:
            return None
        matrix, pivot = divmod(where, 1 << 32)
        which = f"matrix {matrix} of shape {self.shape}" if len(self.shape) > 2 else f"the matrix of shape {self.shape}"
        return LinAlgError(f"{self.operation}: {which} {self.lacks.format(pivot=pivot)}; {self.remedy}")


def checked_ids(ids: Tensor, bound: int, axis: int, operation: str) -> Tensor:
    """The ids as contiguous int64, counted from the front.

    One outside `-bound..bound-1` is a KernelIndexError (an IndexError): on the emulator at once, on a GPU of the next
    call that waits for the device.
    """
    device = ids.device
    result = empty(ids.shape, int64, device)
    if not result.size:
        return result
    num_dims, info = strided(ids.shape, ids)
    check = kernel(device, f"check_ids_{ids.dtype.short}")
    under_check(
        ids, bound, axis, operation,
        lambda status: check(ids.size, ids.size, num_dims, info, ids.address, result.address, bound, status),
    )  # fmt: skip
    return result


def under_check(ids: Tensor, bound: int, axis: int, operation: str, launch: Callable[[int], Launched]) -> Launched:
    """Launch a kernel that checks ids, with the address where it answers; its error comes as that of `checked_ids`."""
    return checked(ids.device, _CheckOfIds(operation, ids.dtype, bound, axis), launch)


def checked(device: Device, check: Check, launch: Callable[[int], Launched]) -> Launched:
    """Launch what answers at the address that it is given, and raise the check's error where the host knows already."""
    draft = thread.draft
    if draft is not None:
        return launch(draft.answer(check))
    recorder = current()
    if recorder is not None:
        return launch(recorder.answer(check))
    with answers_of(device) as answers:
        (answer,) = answers.slots([check])
        launched = launch(answer)
        answers.read_at_once()
    return launched
