"""A kind whose cases go wrong on purpose: what a campaign makes of them is printed as JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, ClassVar

from attrs import define, field

from rocmkern.errors import GgufError
from tests.fuzz.campaign import Campaign
from tests.fuzz.kind import MB, Kind

DIES, HANGS, SPINS, RAISES, WRITES, KEEPS, PEAKS, REFUSES, OPENS = range(1, 10)
CASES = 11


@define(eq=False)
class Faulty(Kind):
    """Seeds by name go wrong, others end well."""

    name: ClassVar[str] = "faulty"
    batch: ClassVar[int] = CASES
    growth_bytes: ClassVar[float] = 0
    _kept: list[Any] = field(factory=list, init=False)
    _changed: str | None = field(default=None, init=False)

    def make(self, seed: int) -> bytes:
        return b""

    def run(self, data: bytes, seed: int) -> str:
        if seed == DIES:
            os.abort()
        elif seed == HANGS:
            while True:  # as who waits for what never comes
                time.sleep(0.01)
        elif seed == SPINS:
            while True:
                pass
        elif seed == RAISES:
            raise ZeroDivisionError("no error of the library")
        elif seed == WRITES:
            self._changed = "a guard"
        elif seed == KEEPS:
            self._kept.append(bytearray(os.urandom(1)) * (60 * MB))
        elif seed == PEAKS:
            bytearray(os.urandom(1)) * (200 * MB)
        elif seed == REFUSES:
            raise GgufError("read: it is none")
        elif seed == OPENS:
            self._kept.append(os.open("/dev/null", os.O_RDONLY))
        return "fine"

    def damage(self) -> str | None:
        return self._changed


if __name__ == "__main__":
    result = Campaign(Faulty(), 0, CASES, hang_s=1.0).run()
    json.dump([result.cases, result.outcomes, [(one.what, one.seed) for one in result.findings]], sys.stdout)
