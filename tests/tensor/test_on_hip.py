"""Tensors on a device whose memory the host can't address: HIP's stand-in, whose launches do nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rocmkern as rk
from rocmkern import dlpack
from rocmkern.errors import ExchangeError
from tests.hip_double import Double


def test_values_go_up_and_come_back(double: Double) -> None:
    """Copies through the driver, for every dtype; nothing is shared."""
    device = rk.Device("hip:1")
    for dtype in (rk.bool_, rk.int16, rk.bfloat16, rk.float64):
        x = np.array([[1, 0], [0, 1]]).astype(dtype.numpy)
        t = rk.asarray(x, device=device)
        assert t.numpy().tolist() == x.tolist() and t.device.info.name == "hip:1"
        with pytest.raises(ExchangeError, match="use numpy"):
            t.host_view()
        with pytest.raises(ValueError, match="allow a copy"):
            np.array(t, copy=False)
    assert rk.zeros((0, 2), device=device).numpy().shape == (0, 2)


def test_exchange_names_the_device(double: Double) -> None:
    """DLPack says ROCm and the device's number, the CUDA-style interface the address; NumPy's is absent."""
    t = rk.asarray(np.arange(6, dtype=np.float32).reshape(2, 3), device="hip:1")
    assert t.__dlpack_device__() == (dlpack.ROCM, 1)
    interface = t.T.__cuda_array_interface__
    assert interface["data"] == (t.address, False) and interface["typestr"] == "<f4"
    assert (interface["shape"], interface["strides"], interface["version"]) == ((3, 2), (4, 12), 3)
    assert t.__cuda_array_interface__["strides"] is None
    assert not hasattr(t, "__array_interface__")


def test_dlpack_of_the_same_device_is_shared(double: Double) -> None:
    """A capsule's memory becomes a tensor without a copy, a reversed view with one; another device's is refused."""
    t = rk.asarray(np.arange(6, dtype=np.int32).reshape(2, 3), device="hip:0")

    class Exporter:
        def __init__(self, tensor: rk.Tensor) -> None:
            self.tensor = tensor

        def __dlpack__(self, **options: object) -> object:
            return self.tensor.__dlpack__(max_version=(1, 0))

    for view in (t, t[:, 1:]):
        shared = rk.from_dlpack(Exporter(view), device="hip:0")
        assert (shared.address, shared.shape, shared.strides) == (view.address, view.shape, view.strides)
    turned = rk.from_dlpack(Exporter(t[::-1]), device="hip:0")
    assert turned.strides == (3, 1) and turned.address != t[::-1].address
    with pytest.raises(ExchangeError, match="copy it to the CPU"):
        rk.from_dlpack(Exporter(t), device="hip:1")


def test_dlpack_brings_values_to_the_host(double: Double) -> None:
    """Whoever asks for host memory gets a copy; between devices a tensor of another library goes through it."""
    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    t = rk.asarray(x, device="hip:0")

    class Exporter:
        def __dlpack__(self, **options: Any) -> object:
            return t.__dlpack__(**options)

    for seen in (np.from_dlpack(t, device="cpu"), rk.from_dlpack(Exporter(), device="hip:1").numpy()):
        np.testing.assert_array_equal(seen, x)
    assert dlpack.consume(t.__dlpack__(max_version=(1, 0), dl_device=(dlpack.CPU, 0))).device == (dlpack.CPU, 0)
    with pytest.raises(BufferError, match="as a copy only"):
        t.__dlpack__(dl_device=(dlpack.CPU, 0), copy=False)
    with pytest.raises(BufferError, match="copy it to the CPU"):
        rk.from_dlpack(Exporter(), device="hip:1", copy=False)


def test_launches_get_addresses_and_layouts(double: Double) -> None:
    """The argument block of a strided sum holds size, dims, the layout's address, both operands and the result."""
    t = rk.asarray(np.arange(6, dtype=np.float32).reshape(2, 3), device="hip:0")
    u = rk.asarray(np.arange(6, dtype=np.float32).reshape(3, 2), device="hip:0")
    result = rk.add(t, u.T)
    size, dims, info, left, right, out = np.frombuffer(double.arguments(), np.uint64, 6).tolist()
    assert (size, dims, left, right, out) == (6, 2, t.address, u.address, result.address)
    again = rk.add(t, u.T)
    assert np.frombuffer(double.arguments(), np.uint64, 6)[2] == info and again.address != result.address


def test_moving_between_devices_copies_through_the_host(double: Double) -> None:
    """From the emulator to a HIP device and back."""
    t = rk.asarray(np.arange(4, dtype=np.int64), device="emulator:gfx942")
    moved = t.to("hip:0")
    assert moved.numpy().tolist() == [0, 1, 2, 3] and moved.to("emulator:gfx942").tolist() == [0, 1, 2, 3]
