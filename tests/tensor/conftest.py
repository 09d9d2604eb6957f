"""The tensor tests run on one device, the default one: gfx942's emulator unless --device names another."""

from __future__ import annotations

import os

import pytest

from rocmkern.runtime import Device


@pytest.fixture(scope="session", autouse=True)
def _default_device(request: pytest.FixtureRequest) -> None:
    names = request.config.getoption("--device") or ["emulator:gfx942"]
    os.environ["ROCMKERN_DEVICE"] = names[0]


@pytest.fixture
def shared_memory() -> None:
    """The default device's memory is the host's too, so that NumPy sees it; tests of that are skipped elsewhere."""
    device = Device()
    if not device.info.unified:
        pytest.skip(f"{device.name} has memory of its own")
