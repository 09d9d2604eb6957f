"""What a kernel finds when it starts: kernel arguments with the hidden ones, scalar and vector registers."""

from __future__ import annotations

import struct
from typing import Final

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from rocmkern.codeobject import Kernel
from rocmkern.emulator import layout as at
from rocmkern.emulator.mode import CLAMPS_NAN, HALF_OVERFLOW, IEEE
from rocmkern.emulator.wave import wave_bytes
from rocmkern.errors import LaunchError

Dims = tuple[int, int, int]

PACKED_IDS: Final = frozenset({"gfx90a", "gfx940", "gfx950", "gfx11", "gfx12"})  # v0 = x | y << 10 | z << 20
PACKET_BYTES: Final = 64
SCALAR_BYTES: Final = 512
SWIZZLED: Final = 1 << 31  # word 1 of a resource: the private segment
TTMP: Final = 108
DYNAMIC_STACK_BYTES: Final = 16384  # of a lane, where the compiler can't tell how deep calls go
SCRATCH_LANES: Final = 64
WAVE_SKEW: Final = 320  # so that equal registers of neighbouring waves fall into different cache sets


@frozen
class Descriptor:
    """The kernel descriptor's enable bits."""

    resource1: int
    resource2: int
    properties: int
    preload: int

    @staticmethod
    def of(kernel: Kernel) -> Descriptor:
        return Descriptor(*struct.unpack_from("<IIHH", kernel.descriptor, 48))

    @property
    def preloaded(self) -> tuple[int, int]:
        """The dwords of the arguments that scalar registers hold from the start: which is the first, and how many."""
        return self.preload >> 7, self.preload & 127

    def mode(self, isa: str) -> int:
        """MODE when a wave starts."""
        bits = self.resource1
        found = (bits >> 12 & 0xFF) | (bits >> 26 & 1) << HALF_OVERFLOW
        return found if isa == "gfx12" else found | (bits >> 21 & 1) << CLAMPS_NAN | (bits >> 23 & 1) << IEEE

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


def hidden_values(geometry: Geometry) -> dict[str, int]:
    """Value of each kind of hidden argument; what is not listed is 0."""
    (_, gy, gz), (_, by, bz) = geometry.grid, geometry.block
    values = {
        "hidden_grid_dims": 3 if max(gz, bz) > 1 else 2 if max(gy, by) > 1 else 1,
        "hidden_dynamic_lds_size": geometry.shared_bytes,
        "hidden_private_base": at.PRIVATE_APERTURE,
        "hidden_shared_base": at.SHARED_APERTURE,
    }
    for axis, name in enumerate("xyz"):
        values[f"hidden_block_count_{name}"] = geometry.grid[axis]
        values[f"hidden_group_size_{name}"] = geometry.block[axis]
    return values


@define(eq=False)
class Plan:
    """What all launches of one kernel with one geometry share: hidden arguments, the dispatch packet, the scalar file,
    rows of v0…, EXEC per wave, where workgroup ids go, and the memory of a workgroup.
    """

    geometry: Geometry
    groups: int
    waves: int  # of a workgroup, as all below
    wave_bytes: int  # of each
    lds_bytes: int
    private_bytes: int  # of a lane
    arguments: bytes  # the kernarg segment with its hidden part
    explicit_bytes: int
    packet: bytes
    scalars: bytes
    packet_place: int | None  # byte in the scalar file
    kernarg_place: int | None
    preload_place: int  # byte in the scalar file of arguments that are there from the start
    preloaded: slice  # which bytes of the arguments these are
    printf_place: int | None  # of the buffer's address, in the kernarg segment
    ids: NDArray[np.uint32]
    masks: NDArray[np.uint64]
    group_slots: tuple[int, int, int]
    wave_slot: int
    wave_tables: tuple[int, int, int] = field(init=False)  # address of `ids`, its bytes per wave, address of `masks`

    def __attrs_post_init__(self) -> None:
        self.wave_tables = self.ids.ctypes.data, self.ids.strides[0], self.masks.ctypes.data

    @property
    def scratch_bytes(self) -> int:
        return self.waves * self.private_bytes * SCRATCH_LANES

    @property
    def worker_bytes(self) -> int:
        return self.waves * self.wave_bytes + self.scratch_bytes + self.lds_bytes

    def argument_block(self, explicit: bytes) -> bytes:
        """The kernarg segment: what the caller packed, and the hidden arguments."""
        count = self.explicit_bytes or len(explicit)
        block = explicit[:count] + self.arguments[count:]
        return block + explicit[len(block) :]

    def dispatch_packet(self, descriptor: int, kernarg: int) -> bytes:
        """The AQL packet that `dispatch_ptr` points to."""
        return self.packet + struct.pack("<QQQQ", descriptor, kernarg, 0, 0)


def plan(kernel: Kernel, isa: str, geometry: Geometry) -> Plan:
    """The launch plan of `kernel` with `geometry`."""
    d = Descriptor.of(kernel)
    scalars, places = _scalars(d, kernel)
    slots, wave_slot = _group_slots(d, isa)
    first, count = d.preloaded
    ids, masks = _threads(kernel, d, isa, geometry)
    return Plan(
        geometry=geometry,
        groups=geometry.groups,
        waves=geometry.waves(kernel.wave_size),
        wave_bytes=wave_bytes(isa, kernel.wave_size) + WAVE_SKEW,
        lds_bytes=kernel.lds_size + geometry.shared_bytes,
        private_bytes=kernel.private_size + (DYNAMIC_STACK_BYTES if kernel.uses_dynamic_stack else 0),
        arguments=_hidden_arguments(kernel, geometry),
        explicit_bytes=kernel.explicit_bytes,
        packet=_packet_head(kernel, geometry),
        scalars=scalars.tobytes(),
        packet_place=places.get("packet"),
        kernarg_place=places.get("kernarg"),
        preload_place=places["preload"],
        preloaded=slice(4 * first, 4 * (first + count)),
        printf_place=next((a.offset for a in kernel.arguments if a.kind == "hidden_printf_buffer"), None),
        ids=ids,
        masks=masks,
        group_slots=slots,
        wave_slot=wave_slot,
    )


def _hidden_arguments(kernel: Kernel, geometry: Geometry) -> bytes:
    block, values = bytearray(kernel.block_bytes), hidden_values(geometry)
    for argument in kernel.arguments:
        if argument.is_hidden:
            value = values.get(argument.kind, 0)
            if value >> 8 * argument.size:
                raise LaunchError(
                    f"launch {kernel.name}: {argument.kind} is {value}, the file has {argument.size} bytes for it; use "
                    "a smaller grid or block"
                )
            block[argument.offset : argument.end] = value.to_bytes(argument.size, "little")
    return bytes(block)


def _packet_head(kernel: Kernel, geometry: Geometry) -> bytes:
    sizes = [g * b for g, b in zip(geometry.grid, geometry.block, strict=True)]
    return struct.pack(
        "<HHHHHHIIIII", 2, 3, *geometry.block, 0, *sizes, kernel.private_size, kernel.lds_size + geometry.shared_bytes
    )


def _scalars(d: Descriptor, kernel: Kernel) -> tuple[NDArray[np.uint32], dict[str, int]]:
    """The user scalars that the descriptor enables, and the bytes at which the launch's addresses go."""
    scalars, position, places = np.zeros(SCALAR_BYTES // 4, np.uint32), 0, {}
    for bit, name, values in (
        (0, "resource", (0, SWIZZLED, 0xFFFFFFFF, 1 << 23)),
        (1, "packet", (0, 0)),
        (2, "queue", (0, 0)),
        (3, "kernarg", (0, 0)),
        (4, "dispatch", (0, 0)),
        (5, "flat scratch", (0, 0)),
        (6, "private size", (kernel.private_size,)),
    ):
        if d.has(bit):
            places[name] = 4 * position
            scalars[position : position + len(values)] = values
            position += len(values)
    return scalars, places | {"preload": 4 * position}


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
