"""The kernels against NumPy, on emulated devices: no GPU is needed."""

import numpy as np
import pytest
from my_kernels import kernels

import rocmkern as rk

DEVICES = ["emulator:gfx942", "emulator:gfx1100"]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("n", [1, 255, 1000])
def test_saxpy(device: str, n: int) -> None:
    x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    on_device = rk.asarray(y, device=device)
    saxpy = kernels.get_kernel("saxpy", "saxpy", device)
    saxpy(rk.asarray(x, device=device), on_device, n=n, a=0.5, grid=-(-n // 256), block=256)
    np.testing.assert_array_equal(on_device.numpy(), 0.5 * x + y)
