"""Machines that the emulator can't run on, and installations that left llvmlite out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rocmkern.drivers import emulator
from rocmkern.errors import DriverUnavailable

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys
sys.modules["llvmlite"] = None  # as if it were not installed
import rocmkern as rk
from tests.hip_double import present
with present(1):
    assert rk.Device().name == "hip:0"
    print((rk.ones(8) + 1).shape, rk.get_kernel("affine", "affine_f32").name)
try:
    rk.Device("emulator:gfx942")
except RuntimeError as error:
    print(error)
"""


def test_a_gpu_needs_no_llvmlite() -> None:
    """Kernels are launched through HIP's bindings alone; an emulated device says in a line what it lacks."""
    given = {name: value for name, value in os.environ.items() if name != "ROCMKERN_DEVICE"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, env=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *launched, refused = done.stdout.splitlines()
    assert launched == ["(8,) affine_f32"]
    assert refused == ("open emulator:gfx942: the emulator needs llvmlite; run `pip install llvmlite`, or use a GPU")


@pytest.mark.parametrize(("system", "machine"), [("Linux", "aarch64"), ("Darwin", "arm64"), ("Windows", "AMD64")])
def test_other_machines_are_refused_in_a_line(system: str, machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The emulator makes code for x86-64 Linux alone, and says so before it makes any."""
    monkeypatch.setattr(emulator.platform, "system", lambda: system)
    monkeypatch.setattr(emulator.platform, "machine", lambda: machine)
    with pytest.raises(DriverUnavailable, match=rf"runs on x86-64 Linux, this is {system} on {machine}; use"):
        emulator.open_device("emulator:gfx942")
