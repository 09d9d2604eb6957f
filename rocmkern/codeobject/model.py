"""What a code object says about itself."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from attrs import field, frozen

MOST_BYTES: Final = 64 << 20  # that loading may take beyond the size of the file, unless the caller allows more


@frozen
class Argument:
    """One kernel argument as the metadata lists it. Sizes and offsets are in bytes."""

    offset: int
    size: int
    kind: str  # "by_value", "global_buffer", "dynamic_shared_pointer", "hidden_block_count_x", …
    name: str | None = None
    type_name: str | None = None
    address_space: str | None = None
    access: str | None = None

    @property
    def is_hidden(self) -> bool:
        return self.kind.startswith("hidden_")

    @property
    def is_pad(self) -> bool:
        """Whether it only fills a slot: hand-written files list every padding word as an argument named `pad…`. What a
        compiler gave a type is somebody's parameter.
        """
        return (
            self.kind == "by_value" and self.name is not None and self.name.startswith("pad") and self.type_name is None
        )

    @property
    def end(self) -> int:
        return self.offset + self.size

    @property
    def is_pointer(self) -> bool:
        return self.kind in ("global_buffer", "dynamic_shared_pointer")


@frozen
class Kernel:
    """One kernel of a code object. Sizes are in bytes."""

    name: str
    symbol: str  # the descriptor's symbol, `name.kd`
    arguments: tuple[Argument, ...]  # hidden ones included, in order of offset
    kernarg_size: int
    kernarg_align: int
    lds_size: int
    private_size: int
    wave_size: int
    sgprs: int
    vgprs: int
    agprs: int
    sgpr_spills: int
    vgpr_spills: int
    max_threads_per_block: int
    required_block: tuple[int, int, int] | None
    uses_dynamic_stack: bool
    descriptor: bytes  # the 64 bytes of the kernel descriptor; empty if the file has none
    descriptor_address: int
    entry_address: int  # virtual address of the first instruction
    awaits: bool = False  # the launch ahead of it, by an instruction: it may begin before that one has ended

    @cached_property
    def explicit_arguments(self) -> tuple[Argument, ...]:
        return tuple(a for a in self.arguments if not a.is_hidden)

    @cached_property
    def logical_arguments(self) -> tuple[Argument, ...]:
        """What a caller passes: neither hidden nor padding."""
        return tuple(a for a in self.arguments if not a.is_hidden and not a.is_pad)

    @cached_property
    def explicit_bytes(self) -> int:
        """The size of the argument block up to the last explicit argument."""
        return max((a.end for a in self.explicit_arguments), default=0)

    @cached_property
    def block_bytes(self) -> int:
        """The size of the whole argument block: four files of AITER declare less than their arguments cover."""
        return max(self.kernarg_size, max((a.end for a in self.arguments), default=0))


EXECUTABLE: Final = 1  # flags of a segment
WRITABLE: Final = 2


@frozen
class Segment:
    """One loadable piece of the image."""

    address: int
    data: bytes
    memory_size: int
    flags: int  # ELF PF_X 1, PF_W 2, PF_R 4


@frozen
class CodeObject:
    """One ELF for one target."""

    target: str  # "gfx942", with features where the file names them ("gfx90a:xnack+")
    version: int  # code object version, 3 to 6
    generic_version: int
    kernels: dict[str, Kernel]
    segments: tuple[Segment, ...]
    undefined_symbols: tuple[str, ...]
    symbols: dict[str, tuple[int, int]]  # name → (virtual address, size)
    relocations: tuple[tuple[int, int, str, int], ...]  # (address, type, symbol name or "", addend)
    image: bytes  # the ELF itself
    formats: dict[int, str] = field(factory=dict)  # of printf, by their hashes

    @property
    def blank_bytes(self) -> int:
        """How much more memory it takes than the file has bytes for: zeros, and what lies between segments.

        Four times what lies between instructions: of each dword there, operations are looked up.
        """
        held = [s for s in self.segments if s.memory_size]
        code = [s for s in held if s.flags & EXECUTABLE and s.data]
        return _blank([(s.address, s.memory_size, s.data) for s in held]) + 4 * _blank(
            [(s.address, len(s.data), s.data) for s in code]
        )


def _blank(pieces: list[tuple[int, int, bytes]]) -> int:
    if not pieces:
        return 0
    first, last = min(p[0] for p in pieces), max(p[0] + p[1] for p in pieces)
    return max(last - first - sum(len(p[2]) for p in pieces), 0)
