"""Wrong memory, streams and launches are errors that say what came, and the device goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rocmkern as rk
from rocmkern.drivers import emulator
from rocmkern.errors import ArgumentError, ClosedError, DeviceOutOfMemory, LaunchError, ShapeError

DEVICE = rk.Device("emulator:gfx942")
SOURCE, TARGET = (DEVICE.alloc(4000) for _ in range(2))


def launch(**options: Any) -> None:
    affine = rk.get_kernel("affine", "affine_f32", DEVICE.name)
    affine(1000, 0, None, SOURCE, TARGET, 2.0, 1.0, **{"grid": 4, "block": 256, **options})


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: DEVICE.alloc(1000.5), ArgumentError, "alloc: 1000.5 bytes; give an integer"),
        (lambda: DEVICE.alloc(-1), ShapeError, "can't be negative"),
        (lambda: DEVICE.alloc_pinned("16"), ArgumentError, "alloc_pinned: '16' bytes"),
        (lambda: DEVICE.alloc_pinned(1 << 60), DeviceOutOfMemory, "alloc_pinned"),
        (lambda: SOURCE.at(1.5), TypeError, "integer"),
        (lambda: SOURCE.copy_from(TARGET, -1), ShapeError, "copy_from: -1 bytes"),
        (lambda: SOURCE.copy_from(np.ones(3)), ArgumentError, "ndarray is no device memory; use copy_from_host"),
        (lambda: SOURCE.copy_from_host(np.ones(3, object)), ArgumentError, "holds no numbers"),
        (lambda: SOURCE.copy_from_host(b"abc", offset_bytes=0.5), ArgumentError, "0.5 bytes"),
        (lambda: SOURCE.copy_to_host(offset_bytes=4001), ShapeError, "memory that has 4000"),
        (lambda: SOURCE.copy_to_host(stream=3), ArgumentError, "stream: a int is none"),
        (lambda: DEVICE.create_stream().wait(None), ArgumentError, "event: a NoneType is none"),
        (lambda: DEVICE.create_stream().record(3), ArgumentError, "event: a int is none"),
        (lambda: DEVICE.create_event().record(3), ArgumentError, "stream: a int is none"),
        (lambda: launch(stream=3), ArgumentError, "stream: a int is none"),
        (lambda: launch(shared_bytes=1.5), LaunchError, "shared_bytes is 1.5"),
    ],
)  # fmt: skip
def test_mistakes(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    """The error names what came; what is right works afterwards."""
    with pytest.raises(error, match=words):
        call()
    SOURCE.copy_from_host(np.ones(1000, np.float32))
    launch()
    assert TARGET.copy_to_host().view(np.float32)[-1] == 3


def test_modules_and_kernels_take_a_device_by_name() -> None:
    """As tensors do."""
    affine = rk.get_kernel("affine", "affine_f32", DEVICE.name)
    assert affine is rk.get_kernel("affine", "affine_f32", DEVICE)
    loaded = rk.Module.load_data(affine.module.code_object.image, DEVICE.name)
    assert loaded.device == DEVICE


def test_a_closed_driver_says_so() -> None:
    """As objects meet that outlive it at the end of the process."""
    driver = emulator.open_device("emulator:gfx90a")
    driver.close()
    with pytest.raises(ClosedError, match="is closed, as the process ends"):
        driver.launch(1, (1, 1, 1), (64, 1, 1), 0, 0, b"")
