"""How many waves of a kernel a compute unit holds at a time, and what keeps it from holding more.

Sizes of register files and steps of allocation: the ISA documents of CDNA 2 to 4 and RDNA 2 to 4. On RDNA two compute
units make a work-group processor, whose LDS a workgroup may use whole: numbers here are of a compute unit, half of it.
"""

from __future__ import annotations

from typing import Final

from attrs import frozen

from rocmkern.codeobject import Kernel
from rocmkern.profiling.chips import Chip

LDS_STEP: Final = {"gfx950": 1280}  # bytes; 512 on others
MOST_BARRIERS: Final = 16  # workgroups of several waves on a compute unit
FULL_FILES: Final = ("gfx1100", "gfx1101", "gfx1151")  # of gfx11, those with 1536 registers


@frozen
class VectorFile:
    """The vector registers of a SIMD, of which each lane of each wave has some."""

    registers: int
    step: int
    most_waves: int

    @staticmethod
    def of(chip: Chip) -> VectorFile:
        if chip.is_cdna:
            return VectorFile(512, 8, 8)
        is_full = chip.isa == "gfx12" or chip.target in FULL_FILES
        return VectorFile(1536, 24, 16) if is_full else VectorFile(1024, 16, 16)

    def waves(self, used: int) -> int:
        """How many waves have room, each with that many registers."""
        return min(self.most_waves, self.registers // _up(max(used, 1), self.step))

    def most_registers(self, waves: int) -> int:
        """With how many registers each that many waves have room."""
        return self.registers // waves // self.step * self.step


@frozen
class Occupancy:
    """Waves of one kernel on a SIMD, at most."""

    waves: float
    most: int  # that a SIMD has slots for
    limit: str  # "slots", "vector registers", "scalar registers", "LDS", "workgroups"
    advice: str  # what would let it hold more; "" where nothing would

    @property
    def share(self) -> float:
        return self.waves / self.most


def occupancy(kernel: Kernel, chip: Chip, threads: int, shared_bytes: int = 0) -> Occupancy:
    """Of workgroups of that many threads, with LDS beside the kernel's own."""
    file, registers = VectorFile.of(chip), kernel.vgprs  # on CDNA with the accumulation registers behind them
    waves, lds = -(-threads // kernel.wave_size), kernel.lds_size + shared_bytes
    slots = file.most_waves * chip.simds
    groups = {
        "slots": slots // waves,
        "vector registers": file.waves(registers) * chip.simds // waves,
        "scalar registers": _scalar_waves(kernel, chip) * chip.simds // waves,
    }
    if waves > 1:
        groups["workgroups"] = MOST_BARRIERS
    if lds:
        groups["LDS"] = lds_bytes(chip) // _up(lds, LDS_STEP.get(chip.isa, 512))
    limit = min(groups, key=groups.__getitem__)
    return Occupancy(
        groups[limit] * waves / chip.simds, file.most_waves, limit, _advice(limit, groups, registers, file, lds, chip)
    )


def lds_bytes(chip: Chip) -> int:
    """Of a compute unit."""
    return 160 << 10 if chip.isa == "gfx950" else 64 << 10


def _scalar_waves(kernel: Kernel, chip: Chip) -> int:
    """RDNA gives every wave all scalar registers; CDNA shares 800, by the sixteen."""
    return min(8, 800 // _up(max(kernel.sgprs, 1), 16)) if chip.is_cdna else 16


def _advice(limit: str, groups: dict[str, int], registers: int, file: VectorFile, lds: int, chip: Chip) -> str:
    others = min(count for name, count in groups.items() if name != limit)
    if others <= groups[limit] or limit in ("slots", "workgroups"):
        return ""
    if limit == "vector registers":
        more = file.waves(registers) + 1
        wanted = file.most_registers(more)
        return f"{registers - wanted} vector registers fewer, {wanted}, hold {more} waves on a SIMD"
    if limit == "LDS":
        step = LDS_STEP.get(chip.isa, 512)
        wanted = lds_bytes(chip) // (groups[limit] + 1) // step * step
        return f"{lds - wanted} bytes of LDS fewer, {wanted}, hold {groups[limit] + 1} workgroups"
    return "fewer scalar registers"


def _up(number: int, step: int) -> int:
    return -(-number // step) * step
