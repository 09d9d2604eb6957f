"""From tensors to a launch: kernels by symbol, packed arguments, and layouts that stay on the device.

What a user passes is checked where it enters an operation; from here on only addresses and sizes go to the driver.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from threading import local
from typing import Final

import numpy as np
from attrs import frozen

from rocmkern.drivers.protocol import Driver
from rocmkern.dtypes import DType
from rocmkern.kernels.cache import get_kernel
from rocmkern.kernels.families import spec
from rocmkern.layout import Shape, collapse, contiguous
from rocmkern.runtime import Device, DeviceMemory, Function
from rocmkern.tensor import Tensor

BLOCK: Final = 256
_VECTOR_BYTES: Final = 16
_MAX_GRID: Final = (1 << 32) // BLOCK - 1  # AMD: fewer than 2^32 threads in a grid; the kernels loop over the rest
_KEPT_LAYOUTS: Final = 4096


@frozen(eq=False)
class Kernel:
    """One kernel on one device. Its arguments are addresses, sizes and encoded scalars; nothing is checked."""

    function: Function
    pack: Callable[..., bytes]

    def __call__(self, threads: int, *arguments: int | float | bytes) -> None:
        """Launch at least `threads` threads in blocks of 256, or as many as a grid can have."""
        grid = min(-(-threads // BLOCK), _MAX_GRID)
        self.function.launch_packed(self.pack(*arguments), grid=grid, block=BLOCK)

    def blocks(self, grid: int, block: int | tuple[int, int, int], *arguments: int | float | bytes) -> None:
        """Launch `grid` blocks of a given size."""
        self.function.launch_packed(self.pack(*arguments), grid=grid, block=block)


class _Kernels(local):
    def __init__(self) -> None:
        self.of: dict[Driver, dict[str, Kernel]] = {}


_kernels = _Kernels()
_layouts: dict[Driver, dict[Shape, DeviceMemory]] = {}


def kernel(device: Device, symbol: str) -> Kernel:
    """The kernel of that symbol on a device. Raises KernelNotFound, TargetNotBuilt."""
    table = _kernels.of.get(device.driver)
    if table is None:
        table = _kernels.of.setdefault(device.driver, {})
    found = table.get(symbol)
    if found is None:
        function = get_kernel(spec(symbol).family, symbol, device)
        found = table.setdefault(symbol, Kernel(function, function.pack_values))
    return found


def layout_info(device: Device, words: Shape) -> int:
    """The address of dims and strides in device memory; each layout is uploaded once and kept."""
    table = _layouts.get(device.driver)
    if table is None:
        table = _layouts.setdefault(device.driver, {})
    memory = table.get(words)
    if memory is None:
        if len(table) >= _KEPT_LAYOUTS:
            table.clear()
        memory = device.alloc(8 * len(words))
        memory.copy_from_host(array("q", words))
        table[words] = memory
    return memory.live_address


def encode(value: bool | int | float, dtype: DType) -> bool | int | float | bytes:
    """A number as the packer takes it: rounded to the dtype."""
    if not dtype.is_float:
        return int(value)
    with np.errstate(over="ignore"):
        rounded = np.float64(value).astype(dtype.numpy)
    return rounded.tobytes() if dtype.short in ("bf16", "f8_e4m3") else float(rounded)


def word(stride: int) -> int:
    """A stride as the kernels' unsigned 64-bit word; a negative one wraps to the right address."""
    return stride & 0xFFFF_FFFF_FFFF_FFFF


def empty(shape: Shape, dtype: DType, device: Device) -> Tensor:
    """A contiguous tensor of uninitialised memory."""
    layout = contiguous(shape)
    return Tensor(device.alloc(layout.size * dtype.itemsize), dtype, layout, device)


def strided(shape: Shape, *tensors: Tensor) -> tuple[int, int]:
    """`num_dims` and `info` of the elementwise kernels for tensors of one shape; 0, 0 where all are contiguous."""
    if all(t.layout.is_contiguous for t in tensors):
        return 0, 0
    dims, strides = collapse(shape, *[t.layout.strides for t in tensors])
    if not dims:
        dims, strides = (1,), tuple((1,) for _ in tensors)
    return len(dims), layout_info(tensors[0].device, sum(strides, dims))


def threads_for(size: int, itemsize: int) -> int:
    """Threads of an elementwise kernel: one for each 16 bytes of the widest operand."""
    return -(-size * itemsize // _VECTOR_BYTES)


def elementwise(symbol: str, out: Tensor, inputs: Sequence[Tensor], *scalars: int | float | bytes) -> Tensor:
    """Run `out[i] = f(scalars…, inputs[0][i], …)`; the inputs have `out`'s shape, `out` is contiguous."""
    size = out.layout.size
    if size:
        num_dims, info = strided(out.layout.shape, *inputs)
        widest = max(t.dtype.itemsize for t in (out, *inputs))
        threads = threads_for(size, widest) if not info else size
        kernel(out.device, symbol)(threads, size, num_dims, info, *scalars, *[t.address for t in inputs], out.address)
    return out
