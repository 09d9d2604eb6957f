"""How tensors go between GPUs of dask's processes where UCX carries them: as the device's memory, without the host."""

from __future__ import annotations

from typing import Any

import rocmkern as rk
from rocmkern.dask.exchange import Frames, device_for, header_of
from rocmkern.layout import contiguous
from rocmkern.tensor import Foreign, Tensor


def serialize(x: Tensor) -> tuple[dict[str, Any], Frames]:
    """A tensor as what describes it, and its bytes where they are, when the work on them is done.

    Raises NotImplementedError, at which dask takes host memory, for one that is not on a GPU.
    """
    if x.device.info.unified:
        raise NotImplementedError
    source = x if x.is_contiguous else rk.copy(x)
    x.device.synchronize()
    return header_of(x), [source.reshape(-1).view(rk.uint8)]


def deserialize(header: dict[str, Any], frames: Frames) -> Tensor:
    """The tensor in the device memory that UCX filled."""
    (frame,) = frames
    address, _ = frame.__cuda_array_interface__["data"]
    dtype, layout = rk.dtype(header["dtype"]), contiguous(tuple(header["shape"]))
    return Tensor(Foreign(address, layout.size * dtype.itemsize, frame), dtype, layout, device_for(header))


def tell(protocol: Any) -> None:
    """Of the module `distributed.protocol.cuda`."""
    protocol.cuda_serialize.register(Tensor)(serialize)
    protocol.cuda_deserialize.register(Tensor)(deserialize)
