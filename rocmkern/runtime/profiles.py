"""Counts what launches ask of a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from rocmkern import drivers
from rocmkern.drivers.protocol import Driver

if TYPE_CHECKING:
    from rocmkern.profiling.profile import Profile


@contextmanager
def profile(*, chip: str | None = None) -> Iterator[Profile]:
    """Counts what kernels on emulated devices ask for meanwhile: `with rk.profile(chip="mi300x") as profile:`.

    The profile has a row for each kernel and geometry: instructions by kind, lanes, bytes, cache lines, occupancy, and
    how long the chip takes at least. `chip` is one that runs the devices' code where none is named. Raises ConfigError
    for a chip that is not known.
    """
    from rocmkern.drivers.emulator import EmulatorDriver
    from rocmkern.emulator.observers.counts import Counts, Tally
    from rocmkern.profiling.chips import chip as chip_named
    from rocmkern.profiling.profile import Profile

    found = Profile(None if chip is None else chip_named(chip))
    with ExitStack() as watching:

        def watch(driver: Driver) -> None:
            if isinstance(driver, EmulatorDriver):
                (tally,) = watching.enter_context(driver.watched(Counts()))
                assert isinstance(tally, Tally)
                found.add(tally)

        with drivers.telling(watch):
            yield found
