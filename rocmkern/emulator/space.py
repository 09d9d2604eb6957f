"""The memory of a launch: what a kernel finds when it starts, and each thread's place for a workgroup."""

from __future__ import annotations

import ctypes
import struct
from typing import TYPE_CHECKING, Final

from attrs import define, field, frozen

from rocmkern.codeobject import CodeObject, Kernel
from rocmkern.emulator import layout as at
from rocmkern.emulator.arena import Arena, address_of, reserve
from rocmkern.emulator.launch import PACKET_BYTES, SCALAR_BYTES, Plan
from rocmkern.emulator.observers.seam import Records
from rocmkern.emulator.program import Heat
from rocmkern.emulator.translation import Translation

if TYPE_CHECKING:
    from rocmkern.emulator.faults import Log

REMEMBERED_IMAGES: Final = 1024
LDS_SLACK: Final = 64
FIRST_QUOTA: Final = 8  # workgroups that the caller runs before it calls others in
_put_u64: Final = struct.Struct("<Q").pack_into
_WORKER: Final = struct.Struct("<QIIIIQQQqqQQ").pack_into


@frozen(eq=False)
class Start:
    """How a kernel's launches with one geometry begin on a machine."""

    plan: Plan
    code: CodeObject
    kernel: Kernel
    text: Translation  # that it runs in
    first: int  # where the kernel begins in it, in bytes
    heat: Heat
    expects_zeros: bool
    descriptor: int
    record: bytes  # all but where the scalar registers are, where the arena ends, and the fuel


@define(eq=False)
class Worker:
    """One thread's memory for the waves, LDS and scratch of a workgroup, and for the structures of observers."""

    watching: tuple[Records, ...] = ()
    record: ctypes.Array[ctypes.c_char] = field(factory=lambda: ctypes.create_string_buffer(at.WORKER_SIZE))
    address: int = field(init=False)
    passed: object = field(init=False)  # the address as ctypes passes it on, converted once
    view: memoryview = field(init=False)  # of the record
    _words: memoryview = field(init=False)
    _memory: dict[str, object] = field(factory=dict)
    _sizes: dict[str, int] = field(factory=dict)
    _addresses: dict[str, int] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.address = ctypes.addressof(self.record)
        self.passed = ctypes.c_void_p.from_param(self.address)
        self.view = memoryview(self.record).cast("B")
        self._words = self.view.cast("q")

    def memory(self, name: str, size: int) -> int:
        """Address of at least `size` bytes, kept between launches."""
        if self._sizes.get(name, -1) < size:
            memory = reserve(-(-max(size, 1) // 65536) * 65536)
            self._memory[name], self._sizes[name] = memory, size
            self._addresses[name] = address_of(memory)
        return self._addresses[name]

    def prepare(self, launch: int, start: Start) -> None:
        """Begin work on a launch whose record is there."""
        plan = start.plan
        waves = self.memory("waves", plan.waves * (plan.wave_bytes + at.LANDING_QUEUE_BYTES))
        _WORKER(
            self.record, 0, launch, 0, 0, 0, 0, waves,
            self.memory("lds", plan.lds_bytes + LDS_SLACK), self.memory("scratch", plan.scratch_bytes), 0, 0,
            self._structures(start) if self.watching else 0, 0,
        )  # fmt: skip

    def _structures(self, start: Start) -> int:
        """Address of the table of the observers' structures."""
        table = self.memory("structures", 8 * len(self.watching))
        for i, records in enumerate(self.watching):
            structure = self.memory(f"structure {i}", records.room(start))
            ctypes.c_uint64.from_address(table + 8 * i).value = structure
            records.begin(structure, start)
        return table

    def end(self, start: Start) -> None:
        """No workgroup of a launch is left for this thread."""
        for i, records in enumerate(self.watching):
            records.end(self._addresses[f"structure {i}"], start)

    @property
    def places(self) -> tuple[int, ...]:
        """Where its memory is now."""
        return tuple(self._addresses.values())

    def pause(self) -> None:
        """`run` returns at the next barrier that a workgroup passes."""
        self._words[at.WORKER_PAUSE // 8] = 1

    @property
    def quota(self) -> int:
        """Workgroups to finish before `run` returns."""
        return self._words[at.WORKER_QUOTA // 8]

    @quota.setter
    def quota(self, groups: int) -> None:
        self._words[at.WORKER_QUOTA // 8] = groups

    @property
    def wave_number(self) -> int:
        """The wave that `run` stopped at; the one after it where it ran out of fuel."""
        return ctypes.c_uint32.from_address(self.address + at.WORKER_WAVE).value

    @property
    def is_in_group(self) -> bool:
        """Whether a workgroup is under way."""
        return bool(ctypes.c_uint32.from_address(self.address + at.WORKER_ACTIVE).value)

    def wave(self, number: int, stride: int) -> int:
        """Address of a wave."""
        return self._addresses["waves"] + number * stride


@define(eq=False)
class Space:
    """Where a launch lies: its record with the first scalar registers, the kernel's arguments with the dispatch packet,
    and the place of the thread that launches.

    What equal launches begin with is kept as bytes: laying one down is a copy, and calls through ctypes cost more.
    """

    arena: Arena
    room: int  # bytes for arguments
    worker: Worker
    log: Log | None = field(init=False, default=None)
    kernarg: int = field(init=False)
    record: ctypes.Array[ctypes.c_char] = field(init=False)
    words: memoryview = field(init=False)  # of the record
    _scalars: int = field(init=False)  # their address
    _view: memoryview = field(init=False)  # of record and scalars
    _quads: memoryview = field(init=False)
    _arguments: memoryview = field(init=False)
    _images: dict[Start, tuple[bytes, bytes]] = field(init=False, factory=dict)  # of record and scalars, of the worker

    def __attrs_post_init__(self) -> None:
        self.kernarg = self.arena.alloc(self.room + PACKET_BYTES + 64)
        self._arguments = self.arena.view(self.kernarg, self.room)
        self.record = ctypes.create_string_buffer(at.LAUNCH_SIZE + SCALAR_BYTES)
        self._view = memoryview(self.record).cast("B")
        self._quads, self.words = self._view.cast("Q"), self._view.cast("I")
        self._scalars = ctypes.addressof(self.record) + at.LAUNCH_SIZE

    def lay(self, start: Start, block: bytes, fuel: int) -> None:
        """Write what the kernel finds when it starts, `block` being its arguments with the hidden ones, and let the
        worker run FIRST_QUOTA workgroups.
        """
        image, of_worker = self._images.get(start) or self._image(start)
        self._view[:] = image
        self.worker.view[:] = of_worker
        self._quads[at.LAUNCH_ARENA_END // 8] = self.arena.reach
        self._quads[at.LAUNCH_FUEL // 8] = fuel
        self._arguments[: len(block)] = block
        early = block[start.plan.preloaded]
        if early:
            place = at.LAUNCH_SIZE + start.plan.preload_place
            self._view[place : place + len(early)] = early
        if start.plan.packet_place is not None:
            packet = start.plan.dispatch_packet(start.descriptor, self.kernarg)
            self.arena.view(self._packet, PACKET_BYTES)[:] = packet

    def note_in(self, log: Log | None) -> None:
        """Note faults in a log and go on; in none, the first one ends the launch."""
        self.log = log
        if log is not None:
            self._quads[at.LAUNCH_LOG // 8] = log.address

    @property
    def _packet(self) -> int:
        """Where the dispatch packet goes: behind the arguments."""
        return self.kernarg + -(-self.room // 64) * 64

    def _image(self, start: Start) -> tuple[bytes, bytes]:
        before = self.worker.places
        self.worker.prepare(ctypes.addressof(self.record), start)
        self.worker.quota = FIRST_QUOTA
        if len(self._images) >= REMEMBERED_IMAGES or self.worker.places != before:
            self._images.clear()
        plan, image = start.plan, bytearray(len(self._view))
        image[: len(start.record)] = start.record
        image[at.LAUNCH_SIZE :] = plan.scalars
        _put_u64(image, at.LAUNCH_SCALARS, self._scalars)
        if plan.kernarg_place is not None:
            _put_u64(image, at.LAUNCH_SIZE + plan.kernarg_place, self.kernarg)
        if plan.packet_place is not None:
            _put_u64(image, at.LAUNCH_SIZE + plan.packet_place, self._packet)
        found = self._images[start] = bytes(image), bytes(self.worker.view)
        return found
