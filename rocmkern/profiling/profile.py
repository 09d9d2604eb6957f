"""What kernels asked for, from the emulator's counts, and what that takes at least on a chip.

Counts are exact. Times are lower bounds by resource: what the vector units of a chip need for the instructions, its LDS
for the bytes, its memory for the lines that a launch touches, each read or written once. The largest of them is an
estimate that knows nothing of latency, of caches that are too small, and of matrix cores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, overload

from attrs import frozen

from rocmkern.codeobject.lines import Lines
from rocmkern.emulator.observers.counts import Count, Kind, Launched, Tally
from rocmkern.profiling.chips import LDS_BYTES_PER_CYCLE, Chip, chip_of
from rocmkern.profiling.occupancy import Occupancy, occupancy

RESOURCES: Final = ("vector units", "LDS", "memory")


@frozen
class HotLine:
    """An instruction, or all of a source line."""

    where: str  # "file:line", or the instruction where the code has no lines
    runs: int
    bytes: int
    lines: int


@frozen
class KernelProfile:
    """Launches of one kernel with one geometry. Numbers are of all of them together."""

    name: str
    target: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    launches: int
    instructions: dict[Kind, int]  # of waves
    active: float  # the share of lanes that were on, 0..1, where lanes count
    bytes_asked: int  # of device memory, by all lanes of vector instructions
    bytes_touched: int  # the whole lines of that, each once for each instruction of a wave
    bytes_read: int  # whole lines, each once for a launch: what comes from memory at least
    bytes_written: int
    lds_bytes: int
    occupancy: Occupancy | None
    seconds: dict[str, float]  # by resource, at least; empty without a chip
    chip: str
    hot: tuple[HotLine, ...]

    @property
    def coalescing(self) -> float:
        """Bytes that vector instructions ask for, over those of the lines that they touch: 1 where lanes take all of a
        line, less where they leave some, more where several take the same.
        """
        return self.bytes_asked / self.bytes_touched if self.bytes_touched else 1.0

    @property
    def limit(self) -> str:
        """The resource that takes longest."""
        return max(self.seconds, key=self.seconds.__getitem__, default="")

    @property
    def estimate(self) -> float:
        """Seconds, by that resource alone; 0.0 without a chip."""
        return self.seconds.get(self.limit, 0.0)


class Profile(Sequence[KernelProfile]):
    """What was counted, by kernel and geometry, the longest first where a chip is known."""

    def __init__(self, chip: Chip | None = None) -> None:
        self.chip = chip
        self._tallies: list[Tally] = []

    def add(self, tally: Tally) -> None:
        """Take what one device counts."""
        self._tallies.append(tally)

    def __len__(self) -> int:
        return len(self._found())

    @overload
    def __getitem__(self, index: int) -> KernelProfile: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[KernelProfile]: ...
    def __getitem__(self, index: int | slice) -> KernelProfile | Sequence[KernelProfile]:
        return self._found()[index]

    def __iter__(self) -> Iterator[KernelProfile]:
        return iter(self._found())

    def __repr__(self) -> str:
        return f"<Profile: {len(self)} kernels>"

    def _found(self) -> list[KernelProfile]:
        found = [
            _profiled(launched, tally.line_bytes, self.chip) for tally in self._tallies for launched in tally.launches
        ]
        return sorted(found, key=lambda one: (one.estimate, sum(one.instructions.values())), reverse=True)


def _profiled(launched: Launched, line_bytes: int, chip: Chip | None) -> KernelProfile:
    start, counts = launched.start, launched.counts.values()
    kernel, geometry = start.kernel, start.plan.geometry
    chip = chip or chip_of(start.code.target)
    instructions = Counter[Kind]()
    for count in counts:
        instructions[count.kind] += count.runs
    with_lanes = [count for count in counts if count.lanes]
    vector = [count for count in counts if count.kind == "vector memory"]
    moved = (launched.lines_read + launched.lines_written) * line_bytes
    lds = sum(count.bytes for count in counts if count.kind == "lds")
    return KernelProfile(
        name=kernel.name,
        target=start.code.target,
        grid=geometry.grid,
        block=geometry.block,
        launches=launched.launches,
        instructions=dict(instructions),
        active=_share(sum(c.lanes for c in with_lanes), kernel.wave_size * sum(c.runs for c in with_lanes)),
        bytes_asked=sum(c.bytes for c in vector if c.lines),
        bytes_touched=sum(c.lines for c in vector) * line_bytes,
        bytes_read=launched.lines_read * line_bytes,
        bytes_written=launched.lines_written * line_bytes,
        lds_bytes=lds,
        occupancy=None if chip is None else occupancy(kernel, chip, geometry.threads, geometry.shared_bytes),
        seconds={} if chip is None else _seconds(instructions, kernel.wave_size, lds, moved, chip),
        chip="" if chip is None else chip.name,
        hot=tuple(_hot(launched)),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _seconds(instructions: Counter[Kind], wave_size: int, lds: int, moved: int, chip: Chip) -> dict[str, float]:
    halves = 1 if chip.is_cdna else wave_size // 32  # RDNA takes a wave of 64 in two passes
    issued = sum(instructions[kind] * halves * chip.issue_cycles(kind) for kind in ("valu", "transcendental"))
    cycles = issued / (chip.compute_units * chip.simds), lds / (chip.compute_units * LDS_BYTES_PER_CYCLE)
    return dict(
        zip(RESOURCES, (*(each / chip.clock_hz for each in cycles), moved / chip.memory_bytes_per_s), strict=True)
    )


@lru_cache(maxsize=16)
def _lines(image: bytes) -> Lines:
    """Read once, however often a profile is looked at."""
    return Lines.of(image)


def _hot(launched: Launched) -> Iterator[HotLine]:
    """Source lines, or instructions where there are none, those that ran most often first."""
    start, found = launched.start, dict[str, list[Count]]()
    lines = _lines(start.code.image)
    for pc, count in launched.counts.items():
        frames = lines.frames(start.kernel.entry_address + pc)
        found.setdefault(frames[0].source if frames else f"{pc:#06x} {count.name}", []).append(count)
    for where, counts in sorted(found.items(), key=lambda item: -sum(count.runs for count in item[1])):
        yield HotLine(where, *(sum(of) for of in zip(*((c.runs, c.bytes, c.lines) for c in counts), strict=True)))
