"""Checks what launches do, and collects the findings instead of ending at the first one."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from rocmkern import drivers

if TYPE_CHECKING:
    from rocmkern.checking.running import Findings


@contextmanager
def check(
    *, only: Collection[str] = (), suppressions: str | PathLike[str] | None = None, sample: int = 1
) -> Iterator[Findings]:
    """Collects what launches on emulated devices do wrong meanwhile: `with rk.check() as findings:`.

    All of it is found on devices that are `checked`; on others only what goes outside the device's memory. Launches go
    on after a fault: a lane that may not go somewhere does nothing there, and a load gives 0.

    `only`: kinds of findings, or "memory", "uninitialised", "race", "barrier" for those of a subject. `suppressions`: a
    file of findings that are not wanted. `sample`: of so many workgroups one is looked at whole; of the others only
    stores are, and no races. Raises ConfigError.
    """
    from rocmkern.checking import suppressions as files
    from rocmkern.checking.running import Findings
    from rocmkern.emulator.faults import collected

    given = files.read(Path(suppressions)) if suppressions is not None else ()
    findings: Findings = Findings(only, given, sample)
    with collected(findings):
        try:
            yield findings
        finally:
            drivers.synchronize_emulated()
