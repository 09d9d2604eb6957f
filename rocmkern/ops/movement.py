"""Elements from one layout to another on the device."""

from __future__ import annotations

from rocmkern.errors import DTypeError
from rocmkern.layout import collapse
from rocmkern.ops.launch import kernel, layout_info
from rocmkern.ops.parts import words
from rocmkern.ops.prepared import found
from rocmkern.ops.recording import thread
from rocmkern.tensor import Tensor


def write(source: Tensor, target: Tensor) -> None:
    """Copy `source` into the memory of `target`, of the same shape and dtype, whatever their layouts."""
    if not target.layout.size:
        return
    if source.dtype is not target.dtype:
        raise DTypeError(f"write: {source.dtype} into {target.dtype}; cast it first")
    if source.layout.is_contiguous and target.layout.is_contiguous:
        if thread.recording is not None:
            thread.recording.copies(target.address, source.address, target.nbytes)
        target.device.driver.copy_on_device(target.address, source.address, target.nbytes, 0)
        return
    key = ("write", source.kind, target.kind)
    launch = found(key)
    if launch is not None:
        launch.into(target, source.address)
        return
    source, target = words(source), words(target)
    size = target.layout.size
    dims, strides = collapse(target.shape, source.strides, target.strides)
    if not dims:
        dims, strides = (1,), ((1,), (1,))
    before = (size, len(dims), layout_info(target.device, sum(strides, dims)))
    chosen = kernel(target.device, f"assign_u{8 * target.dtype.itemsize}")
    plan = chosen.units(size)
    chosen.run(plan, *before, source.address, target.address)
    chosen.keep(key, plan, target, before)
