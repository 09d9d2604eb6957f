"""The tensor tests run on one device, the default one: gfx942's emulator unless --device names another."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def _default_device(request: pytest.FixtureRequest) -> None:
    names = request.config.getoption("--device") or ["emulator:gfx942"]
    os.environ["ROCMKERN_DEVICE"] = names[0]
