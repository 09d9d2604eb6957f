"""Fixtures: one test body for every driver present."""

from __future__ import annotations

import ctypes
import os
import random
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

from rocmkern import hip_on_cpu
from rocmkern.drivers.emulator import EmulatorDriver
from rocmkern.emulator import program
from rocmkern.runtime import Device
from rocmkern.runtime.pool import Shelf
from tests import hip_double

pytest_plugins = ("tests.kernel_coverage",)

# A first example may compile a kernel, and test machines are shared.
settings.register_profile("rocmkern", deadline=None, derandomize=False)
settings.load_profile("rocmkern")

# One device for each target that hsaco/ is built for.
DEVICES = (
    "emulator:gfx90a",
    "emulator:gfx942",
    "emulator:gfx950",
    "emulator:gfx1030",
    "emulator:gfx1100",
    "emulator:gfx1201",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--device", action="append", metavar="NAME", help="run kernel tests on this device instead; may be repeated"
    )
    parser.addoption(
        "--hip-target",
        action="append",
        metavar="GFX",
        help="an emulated device that HIP sees; `--device hip:0` is the first",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """One seed for the whole run, without which Hypothesis reads the source of every test, for some milliseconds each.

    CI runs the same examples every time, so that it judges the change; every other run looks for new ones.
    """
    if config.option.hip_target:
        hip_on_cpu.activate(*config.option.hip_target)
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = "0" if os.environ.get("CI") else str(random.getrandbits(32))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if terminalreporter.stats.get("failed"):
        terminalreporter.line(f"the same examples again: --hypothesis-seed={config.option.hypothesis_seed}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "device" in metafunc.fixturenames:
        names = metafunc.config.getoption("--device") or DEVICES
        metafunc.parametrize("device", names, indirect=True, scope="session")


@pytest.fixture(scope="session")
def device(request: pytest.FixtureRequest) -> Device:
    """Each device that kernels are tested on."""
    return Device(request.param)


@pytest.fixture(scope="session", autouse=True)
def background_failures() -> Iterator[None]:
    """What fails to compile in the background fails the run, at the latest here."""
    yield
    program.settle()
    program.warn_of_failures()


MOST_FILLED = 1 << 20  # bytes of an allocation: tests of very large tensors leave most of theirs untouched


@pytest.fixture(scope="session", autouse=True)
def memory_holds_garbage() -> Iterator[None]:
    """What an emulator hands out is filled, or a result that nobody wrote could be the right one of a call before."""
    take = Shelf.take

    def filled(shelf: Shelf) -> int:
        address = take(shelf)
        if isinstance(getattr(shelf.pool.alloc, "__self__", None), EmulatorDriver):
            ctypes.memset(address, 0xC5, min(shelf.size, MOST_FILLED))
        return address

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Shelf, "take", filled)
        yield


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt: a shell starts what it puts in the background with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def double() -> Iterator[hip_double.Double]:
    """HIP's stand-in with two gfx942 devices, `hip:0` and `hip:1`."""
    with hip_double.present() as found:
        yield found
