"""Elements from one layout to another on the device."""

from __future__ import annotations

from rocmkern.engine.draft import copy_on_device
from rocmkern.engine.operation import writes
from rocmkern.errors import DTypeError
from rocmkern.layout import collapse
from rocmkern.ops.launch import kernel, layout_info
from rocmkern.ops.parts import words
from rocmkern.tensor import Tensor


@writes(1)
def write(source: Tensor, target: Tensor) -> None:
    """Copy `source` into the memory of `target`, of the same shape and dtype, whatever their layouts."""
    if not target.layout.size:
        return
    if source.dtype is not target.dtype:
        raise DTypeError(f"write: {source.dtype} into {target.dtype}; cast it first")
    if source.layout.is_contiguous and target.layout.is_contiguous:
        copy_on_device(target, source)
        return
    source, target = words(source), words(target)
    size = target.layout.size
    dims, strides = collapse(target.shape, source.strides, target.strides)
    if not dims:
        dims, strides = (1,), ((1,), (1,))
    info = layout_info(target.device, sum(strides, dims))
    chosen = kernel(target.device, f"assign_u{8 * target.dtype.itemsize}")
    chosen(size, size, len(dims), info, source.address, target.address)
