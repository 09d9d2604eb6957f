"""What a kernel finds when it starts: kernel arguments with the hidden ones, scalar and vector registers."""

from __future__ import annotations

import struct
from typing import Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from rocmkern.codeobject import Kernel
from rocmkern.emulator import layout as at
from rocmkern.emulator.isa.model import EXEC

Dims = tuple[int, int, int]

PACKED_IDS: Final = frozenset({"gfx90a", "gfx940", "gfx950", "gfx11", "gfx12"})  # v0 = x | y << 10 | z << 20
PACKET_BYTES: Final = 64
SWIZZLED: Final = 1 << 31  # word 1 of a resource: the private segment
TTMP: Final = 108


@frozen
class Descriptor:
    """The kernel descriptor's enable bits."""

    resource2: int
    properties: int

    @staticmethod
    def of(kernel: Kernel) -> Descriptor:
        (resource2,) = struct.unpack_from("<I", kernel.descriptor, 52)
        (properties,) = struct.unpack_from("<H", kernel.descriptor, 56)
        return Descriptor(resource2, properties)

    @property
    def user_scalars(self) -> int:
        return self.resource2 >> 1 & 31

    def has(self, bit: int) -> bool:
        return bool(self.properties >> bit & 1)

    def group_id(self, axis: int) -> bool:
        return bool(self.resource2 >> (7 + axis) & 1)

    @property
    def id_rows(self) -> int:
        """How many of the thread's x, y, z the kernel wants."""
        return (self.resource2 >> 11 & 3) + 1


@frozen
class Geometry:
    grid: Dims
    block: Dims
    shared_bytes: int

    @property
    def groups(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    def waves(self, wave_size: int) -> int:
        return -(-self.threads // wave_size)


def hidden_values(geometry: Geometry) -> dict[str, tuple[int, ...]]:
    """Value of each kind of hidden argument; what is not listed is 0."""
    values: dict[str, int] = {
        "hidden_grid_dims": 1 + (geometry.grid[1] > 1 or geometry.block[1] > 1),
        "hidden_dynamic_lds_size": geometry.shared_bytes,
        "hidden_private_base": at.PRIVATE_APERTURE,
        "hidden_shared_base": at.SHARED_APERTURE,
    }
    if geometry.grid[2] > 1 or geometry.block[2] > 1:
        values["hidden_grid_dims"] = 3
    for axis, name in enumerate("xyz"):
        values[f"hidden_block_count_{name}"] = geometry.grid[axis]
        values[f"hidden_group_size_{name}"] = geometry.block[axis]
    return {kind: (value,) for kind, value in values.items()}


def argument_block(kernel: Kernel, geometry: Geometry, explicit: bytes) -> bytearray:
    """The kernarg segment: what the caller packed, and the hidden arguments."""
    block = bytearray(max(kernel.kernarg_size, len(explicit)))
    block[: len(explicit)] = explicit
    values = hidden_values(geometry)
    for argument in kernel.arguments:
        if argument.is_hidden:
            (value,) = values.get(argument.kind, (0,))
            block[argument.offset : argument.offset + argument.size] = value.to_bytes(argument.size, "little")
    return block


def dispatch_packet(kernel: Kernel, geometry: Geometry, kernarg: int, descriptor: int) -> bytes:
    """The AQL packet that `dispatch_ptr` points to."""
    sizes = [g * b for g, b in zip(geometry.grid, geometry.block, strict=True)]
    return struct.pack(
        "<HHHHHHIIIIIQQQQ", 2, 3, *geometry.block, 0, *sizes, kernel.private_size,
        kernel.lds_size + geometry.shared_bytes, descriptor, kernarg, 0, 0,
    )  # fmt: skip


@frozen
class Start:
    """Initial registers: the scalar file, rows of v0…, EXEC per wave, and where workgroup ids go."""

    scalars: bytes
    ids: NDArray[np.uint32]
    masks: NDArray[np.uint64]
    group_slots: tuple[int, int, int]
    wave_slot: int


def start(kernel: Kernel, isa: str, geometry: Geometry, kernarg: int, packet: int) -> Start:
    """Registers of every wave at the kernel's first instruction."""
    d = Descriptor.of(kernel)
    scalars = np.zeros(128, np.uint32)
    position = 0
    for bit, values in (
        (0, (0, SWIZZLED, 0xFFFFFFFF, 1 << 23)),
        (1, (packet & 0xFFFFFFFF, packet >> 32)),
        (2, (0, 0)),
        (3, (kernarg & 0xFFFFFFFF, kernarg >> 32)),
        (4, (0, 0)),
        (5, (0, 0)),
        (6, (kernel.private_size,)),
    ):
        if d.has(bit):
            scalars[position : position + len(values)] = values
            position += len(values)
    slots, wave_slot = _group_slots(d, isa)
    scalars[EXEC : EXEC + 2] = 0
    return Start(scalars.tobytes(), *_threads(kernel, d, isa, geometry), slots, wave_slot)


def _group_slots(d: Descriptor, isa: str) -> tuple[tuple[int, int, int], int]:
    if isa == "gfx12":
        return (4 * (TTMP + 9), 4 * (TTMP + 7), 4 * (TTMP + 7)), 4 * (TTMP + 8)
    position, slots = d.user_scalars, []
    for axis in range(3):
        slots.append(4 * position if d.group_id(axis) else at.SINK)
        position += d.group_id(axis)
    if slots[1] == slots[2]:
        slots[2] = at.SINK + 4 * 0
    return (slots[0], slots[1], slots[2]), at.SINK


def _threads(
    kernel: Kernel, d: Descriptor, isa: str, geometry: Geometry
) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
    wave_size, (bx, by, _) = kernel.wave_size, geometry.block
    waves = geometry.waves(wave_size)
    flat = np.arange(waves * wave_size, dtype=np.uint32)
    x, y, z = flat % bx, flat // bx % by, flat // (bx * by)
    packed = x | y << np.uint32(10) | z << np.uint32(20)
    rows = [packed] if isa in PACKED_IDS else [x, y, z][: d.id_rows]
    ids = np.stack([r.reshape(waves, wave_size) for r in rows], axis=1)
    masks = np.full(waves, (1 << wave_size) - 1, np.uint64)
    last = geometry.threads - (waves - 1) * wave_size
    masks[-1] = (1 << last) - 1
    return np.ascontiguousarray(ids), masks
