"""How tensors go between dask's processes and to its disk: by buffers of host memory, which are read as they lie where
the host can address the device's.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import rocmkern as rk
from rocmkern import drivers
from rocmkern.errors import DeviceNotFound, DriverUnavailable
from rocmkern.tensor import Tensor

Frames = list[Any]


def header_of(x: Tensor) -> dict[str, Any]:
    return {"shape": x.shape, "dtype": x.dtype.name, "device": x.device.info.name}


def device_for(header: dict[str, Any]) -> rk.Device:
    """This process's own device where it was given one, else the one of the sender's name, else the default."""
    if os.environ.get(drivers.VARIABLE):
        return rk.default_device()
    try:
        return rk.Device(header["device"])
    except (DeviceNotFound, DriverUnavailable):
        return rk.default_device()


def serialize(x: Tensor, context: object = None) -> tuple[dict[str, Any], Frames]:
    """A tensor as what describes it, and its elements one after the other."""
    values = x.numpy() if not x.device.info.unified or not x.is_contiguous else _in_place(x)
    return header_of(x), [np.ascontiguousarray(values).reshape(-1).view(np.uint8).data]


def _in_place(x: Tensor) -> Any:
    x.device.synchronize()
    return x.host_view()


def deserialize(header: dict[str, Any], frames: Frames) -> Tensor:
    """The tensor, on a device of this process."""
    dtype = rk.dtype(header["dtype"])
    data = frames[0] if len(frames) == 1 else b"".join(bytes(frame) for frame in frames)
    values = np.frombuffer(data, dtype.numpy) if len(data) else np.empty(0, dtype.numpy)
    return rk.asarray(values.reshape(header["shape"]), device=device_for(header))


def tell(protocol: Any) -> None:
    """Of the module `distributed.protocol.serialize`."""
    protocol.dask_serialize.register(Tensor)(serialize)
    protocol.dask_deserialize.register(Tensor)(deserialize)
