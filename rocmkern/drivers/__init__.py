"""Backends behind one protocol: hip, emulator, cuda. Opening one is the only place where its library is loaded."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Final

from rocmkern.drivers.protocol import DeviceInfo, Driver
from rocmkern.errors import DeviceNotFound
from rocmkern.locks import Lock
from rocmkern.near import near

VARIABLE: Final = "ROCMKERN_DEVICE"
_FALLBACK: Final = "emulator:gfx942"
_CHECKED: Final = ":checked"
_KINDS: Final = ("hip", "emulator", "cuda")  # each is a module here with open_device(name) and present()

_open: dict[str, Driver] = {}
_checking: Final[list[None]] = []  # not empty: emulated devices are opened as checked ones
_told: Final[list[Callable[[Driver], None]]] = []  # who wants to know of each device that is opened
_opening: Final = Lock("opening")


def is_hip_available() -> bool:
    """Whether HIP sees a device; asks hip-python, which loads the HIP library."""
    from rocmkern.drivers import hip

    return hip.device_count() > 0


def default_name() -> str:
    """The device used where none is named: ROCMKERN_DEVICE, else the first real one, else the emulator."""
    return in_full(os.environ.get(VARIABLE) or ("hip:0" if is_hip_available() else _FALLBACK))


def in_full(name: str) -> str:
    """A name, of a checked device where all emulated ones are to be."""
    is_plain = name.split(":", 1)[0] == "emulator" and not name.endswith(_CHECKED)
    return name + _CHECKED if _checking and is_plain else name


@contextmanager
def checked() -> Iterator[None]:
    """Emulated devices that are opened meanwhile are checked ones."""
    _checking.append(None)
    try:
        yield
    finally:
        _checking.pop()


@contextmanager
def telling(opened: Callable[[Driver], None]) -> Iterator[None]:
    """Calls a function with each device that is open, and with those that are opened meanwhile."""
    for driver in dict.fromkeys(_open.values()):
        opened(driver)
    _told.append(opened)
    try:
        yield
    finally:
        _told.remove(opened)


def synchronize_emulated() -> None:
    """Waits for all emulated devices, and raises what went wrong on them."""
    for driver in dict.fromkeys(_open.values()):
        if driver.info.name.startswith("emulator"):
            driver.synchronize()


def open(name: str | None = None) -> Driver:
    """The driver of the device `name` (`hip:0`, `emulator:gfx942`, `emulator:gfx942:checked`), opened once a process.

    Raises DeviceNotFound if there is no such device, DriverUnavailable if its library can't be loaded.
    """
    name = default_name() if name is None else name
    if not isinstance(name, str):
        raise TypeError(f"open: device {name!r} is no name; use one such as {_FALLBACK!r}")
    name = in_full(name)
    found = _open.get(name)
    if found is not None:
        return found
    with _opening:
        if name not in _open:
            kind = name.split(":", 1)[0]
            if kind not in _KINDS:
                raise DeviceNotFound(f"open: no device {name!r}; there are {near(name, _names())}")
            driver: Driver = import_module(f"rocmkern.drivers.{kind}").open_device(name)
            _open[name] = _open.setdefault(driver.info.name, driver)
            for opened in _told if _open[name] is driver else ():
                opened(driver)
        return _open[name]


def present() -> tuple[DeviceInfo, ...]:
    """What can be opened without naming a driver's library: real devices, then the emulator's."""
    from rocmkern.drivers import emulator, hip

    return (*hip.present(), *emulator.present())


def _names() -> list[str]:
    return [info.name for info in present()]


@atexit.register
def _close_all() -> None:
    for driver in dict.fromkeys(_open.values()):
        driver.close()
    _open.clear()
