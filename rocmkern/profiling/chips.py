"""What chips can do at best, as their vendor says it.

Compute units, clocks and memory rates: AMD's product pages and data sheets, as of November 2026 (amd.com/en/products:
Instinct MI210, MI250X, MI300X, MI350X; Radeon RX 6800 XT, RX 7900 XTX, RX 9070 XT; Ryzen AI Max+ 395). MI250X is one of
its two dies, which are devices of their own. Rates of units: the architecture white papers of CDNA 2 to 4 and RDNA 2 to
4, and the ISA documents.
"""

from __future__ import annotations

from typing import Final

from attrs import frozen

from rocmkern.errors import ConfigError
from rocmkern.near import near
from rocmkern.targets import TARGETS


@frozen
class Chip:
    """A GPU. Rates are peaks."""

    name: str
    target: str
    compute_units: int
    clock_hz: float  # boost
    memory_bytes_per_s: float

    @property
    def isa(self) -> str:
        return TARGETS[self.target].isa

    @property
    def is_cdna(self) -> bool:
        return TARGETS[self.target].wave_size == 64

    @property
    def simds(self) -> int:
        """Of a compute unit."""
        return 4 if self.is_cdna else 2

    def issue_cycles(self, kind: str) -> int:
        """For how many cycles an instruction of a wave keeps a SIMD: 16 lanes of CDNA take 64 in four, 32 lanes of RDNA
        take 32 in one; transcendental functions have a quarter of the lanes.
        """
        base = 4 if self.is_cdna else 1
        return 4 * base if kind == "transcendental" else base


GHZ: Final = 1e9
GB: Final = 1e9
CHIPS: Final = {
    chip.name: chip
    for chip in (
        Chip("mi210", "gfx90a", 104, 1.7 * GHZ, 1638 * GB),
        Chip("mi250x", "gfx90a", 110, 1.7 * GHZ, 1638 * GB),
        Chip("mi300x", "gfx942", 304, 2.1 * GHZ, 5300 * GB),
        Chip("mi350x", "gfx950", 256, 2.2 * GHZ, 8000 * GB),
        Chip("rx6800xt", "gfx1030", 72, 2.25 * GHZ, 512 * GB),
        Chip("rx7900xtx", "gfx1100", 96, 2.5 * GHZ, 960 * GB),
        Chip("strixhalo", "gfx1151", 40, 2.9 * GHZ, 256 * GB),
        Chip("rx9070xt", "gfx1201", 64, 2.97 * GHZ, 640 * GB),
    )
}
LDS_BYTES_PER_CYCLE: Final = 128  # of a compute unit


def chip(name: str) -> Chip:
    """The chip of a name. Raises ConfigError with the nearest ones."""
    found = CHIPS.get(name.lower().replace(" ", "").replace("-", ""))
    if found is None:
        raise ConfigError(f"profile: no chip {name!r}; there is {near(name, CHIPS)}")
    return found


def chip_of(target: str) -> Chip | None:
    """A chip that runs code for a target, for where none is named: of several the largest."""
    fitting = [c for c in CHIPS.values() if target in (c.target, TARGETS[c.target].generic)]
    return max(fitting, key=lambda c: c.compute_units, default=None)
