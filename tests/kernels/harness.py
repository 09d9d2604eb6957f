"""Launching a packaged kernel on NumPy arrays: views go over as base memory, offset and strides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from rocmkern.kernels import plans
from rocmkern.kernels.cache import get_kernel
from rocmkern.runtime import Device
from rocmkern.runtime.memory import DeviceMemory, Pointer

Array = npt.NDArray[Any]
Geometry = tuple[int, int]

GUARD: Final = 64  # bytes around a result that no kernel may touch
CANARY: Final = 0xA5


def root(view: Array) -> Array:
    """The array that owns the memory of a view."""
    while isinstance(view.base, np.ndarray):
        view = view.base
    return view


def upload(device: Device, view: Array) -> Pointer:
    """Device memory with all that the view's owner holds, at the view's first element."""
    owner = root(view)
    memory = device.alloc(max(owner.nbytes, 1))
    if owner.nbytes:
        memory.copy_from_host(np.ascontiguousarray(owner))
    return memory.at(view.__array_interface__["data"][0] - owner.__array_interface__["data"][0])


def info(views: Sequence[Array]) -> Array:
    """Candle's array: dims, then the strides of each operand in elements, negative ones wrapped."""
    dims = list(views[0].shape)
    strides = [s // v.itemsize for v in views for s in v.strides]
    return np.array(dims + strides, np.int64).view(np.uint64)


@st.composite
def views(draw: st.DrawFn, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
    """A view of that shape, its axes in any order in memory, each stepped, reversed or broadcast, at any offset."""
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, 1, 2, -1, 0])) for _ in shape]
    start = draw(st.integers(0, 2))
    stored = tuple(1 if steps[axis] == 0 else shape[axis] * abs(steps[axis]) for axis in order)
    owner = (np.arange(start + int(np.prod(stored))) % 251).astype(dtype)
    view = owner[start:].reshape(stored).transpose(np.argsort(order))
    view = view[tuple(slice(None, None, step or 1) for step in steps)]
    return np.broadcast_to(view, shape)


class Result:
    """Guarded device memory for a result, all of it set to a canary."""

    def __init__(self, device: Device, shape: tuple[int, ...], dtype: npt.DTypeLike, offset_bytes: int = 0) -> None:
        self.shape, self.dtype, self.start = shape, np.dtype(dtype), GUARD + offset_bytes
        self.nbytes = int(np.prod(shape, dtype=np.int64)) * self.dtype.itemsize
        self.memory: DeviceMemory = device.alloc(self.start + self.nbytes + GUARD)
        self.memory.fill(CANARY)

    @property
    def pointer(self) -> Pointer:
        return self.memory.at(self.start)

    def set(self, values: Array) -> None:
        self.memory.copy_from_host(np.ascontiguousarray(values), offset_bytes=self.start)

    def array(self) -> Array:
        """The result; fails if the kernel wrote outside it."""
        held = np.empty(self.start + self.nbytes + GUARD, np.uint8)
        self.memory.copy_to_host(held)
        end = self.start + self.nbytes
        assert (held[: self.start] == CANARY).all(), "written before the result"
        assert (held[end:] == CANARY).all(), "written behind the result"
        return held[self.start : end].copy().view(self.dtype).reshape(self.shape)


def elementwise(
    device: Device,
    family: str,
    symbol: str,
    inputs: Sequence[Array],
    out_dtype: npt.DTypeLike,
    *,
    before: Sequence[Any] = (),
    after: Sequence[Any] = (),
    geometry: Geometry | None = None,
    offset_bytes: int = 0,
) -> Array:
    """Runs a kernel whose arguments are numel, num_dims, info, `before`, inputs, out, `after`."""
    shape = inputs[0].shape
    result = Result(device, shape, out_dtype, offset_bytes)
    numel = int(np.prod(shape, dtype=np.int64))
    contiguous = all(v.flags.c_contiguous for v in inputs)
    sizes = (*(v.itemsize for v in inputs), result.dtype.itemsize)
    if contiguous:
        plan = plans.elementwise(max(numel, 1), sizes, device.info)
    else:
        plan = plans.over_units(max(numel, 1), device.info, variant="elements", why="")
    grid, block = geometry or (plan.grid[0], plan.block[0])
    layout = None if contiguous else upload(device, info(inputs))
    pointers = [upload(device, v) for v in inputs]
    kernel = get_kernel(family, symbol, device)
    kernel(numel, len(shape), layout, *before, *pointers, result.pointer, *after, grid=grid, block=block)
    return result.array()
