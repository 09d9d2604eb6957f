"""What an operation does on the device, noted while it does it, and done again for operands at other addresses.

Where an address comes from is found out by where it points: into an operand, into memory that the operation made, to
what is kept (the dims of a layout, a number), or to where a check answers. A recording with one that points elsewhere
is of no use.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import local
from types import NoneType
from typing import Any, Final, Protocol
from weakref import ref

from attrs import define, field, frozen

from rocmkern.drivers.protocol import Again, Dims
from rocmkern.dtypes import DType
from rocmkern.layout import Layout
from rocmkern.runtime import Device, DeviceMemory, Function
from rocmkern.tensor import Kind, Tensor

_MOST_STEPS: Final = 64
_ADDRESS: Final = struct.Struct("<Q")
# Launches what it is given with the address to answer at, on a device, and raises what the answer says.
Checked = Callable[[Device, Callable[[int], None]], None]
Place = tuple[int, int]  # which operand or memory, the operands first; bytes behind its first element
_ANSWER: Final[Place] = (0, 0)  # where a check answers is known when it is made


class LayoutAddress(int):
    """Where a layout lies on the device. Its memory stays for as long as somebody has the number to launch with."""

    memory: DeviceMemory


class Step(Protocol):
    """One thing that the device does, for operands and memory at these addresses."""

    def run(self, device: Device, addresses: Sequence[int]) -> None: ...


@frozen(eq=False)
class Launch:
    """A kernel's launch again: where each address that it is passed comes from."""

    again: Again
    sources: tuple[Place, ...]
    answers: tuple[tuple[int, Checked], ...]  # which of the addresses say where the kernel answers
    kept: tuple[object, ...]  # what the other addresses of its arguments lead to

    def run(self, device: Device, addresses: Sequence[int]) -> None:
        passed = [addresses[owner] + offset for owner, offset in self.sources]
        if not self.answers:
            self.again(passed)
            return
        launch: Callable[[], None] = partial(self.again, passed)
        for at, check in reversed(self.answers):
            launch = partial(check, device, partial(_answered, launch, passed, at))
        launch()


def _answered(launch: Callable[[], None], passed: list[int], at: int, answer: int) -> None:
    """Launch what answers there, which is one of the addresses that it is passed."""
    passed[at] = answer
    launch()


@frozen(eq=False)
class Copy:
    """Bytes from one place to another."""

    target: Place
    source: Place
    nbytes: int

    def run(self, device: Device, addresses: Sequence[int]) -> None:
        target, source = (addresses[owner] + offset for owner, offset in (self.target, self.source))
        device.driver.copy_on_device(target, source, self.nbytes, 0)


@frozen(eq=False)
class Fill:
    """Bytes set to zero."""

    target: Place
    nbytes: int

    def run(self, device: Device, addresses: Sequence[int]) -> None:
        owner, offset = self.target
        device.driver.fill(addresses[owner] + offset, 0, self.nbytes, 0)


@frozen(eq=False)
class Recorded:
    """The steps of an operation: the bytes to allocate before each, and which memory is free behind it."""

    steps: tuple[tuple[tuple[int, ...], Callable[[Device, Sequence[int]], None], tuple[int, ...]], ...]
    results: tuple[tuple[int, DType, Layout, Kind], ...]  # by the number of their memory
    kind: type | None  # of a result that is not one tensor

    def run(self, device: Device, addresses: list[int]) -> Any:
        """Do it again for operands at these addresses."""
        memories: list[Any] = []
        for sizes, run, freed in self.steps:
            for nbytes in sizes:
                memory = DeviceMemory(device, nbytes)
                memories.append(memory)
                addresses.append(memory.live_address)
            run(device, addresses)
            for number in freed:
                memories[number] = None
        kind = self.kind
        if kind is None:
            number, dtype, layout, alike = self.results[0]
            return Tensor(memories[number], dtype, layout, device, alike)
        if kind is NoneType:
            return None
        tensors = [Tensor(memories[at], dtype, layout, device, alike) for at, dtype, layout, alike in self.results]
        return tuple(tensors) if kind is tuple else kind(*tensors)


@define(eq=False)
class _Memory:
    """Memory that the operation made, from where a step first touched it on."""

    made: ref[DeviceMemory]
    start: int
    end: int
    nbytes: int
    number: int | None = None
    first: int = 0
    last: int = 0


@define(eq=False)
class Recording:
    """The steps of an operation, as it takes them."""

    _operands: Sequence[tuple[int, int, int]]  # addresses of the first element, the lowest, one past the highest
    _memories: list[_Memory] = field(init=False, factory=list)
    _touched: list[_Memory] = field(init=False, factory=list)
    _kept: dict[int, object] = field(init=False, factory=dict)
    _answers: dict[int, Checked] = field(init=False, factory=dict)
    _steps: list[Step] = field(init=False, factory=list)
    is_complete: bool = field(init=False, default=True)

    def makes(self, memory: DeviceMemory) -> None:
        """Memory is allocated."""
        start = memory.live_address
        self._memories.append(_Memory(ref(memory), start, start + max(memory.nbytes, 1), memory.nbytes))

    def keeps(self, address: int, owner: object) -> None:
        """What lies at an address stays there for as long as somebody has its owner."""
        self._kept[address] = owner

    def waits(self) -> None:
        """The host waits for the device: what it does then may depend on what it sees."""
        self.is_complete = False

    def answers(self, address: int, check: Checked) -> None:
        """A launch will tell there whether its operands were right."""
        self._answers[address] = check

    def launches(self, function: Function, block: bytes, grid: Dims, threads: Dims) -> None:
        """A kernel is launched."""
        pointers: list[int] = []
        sources, answers, kept = [], [], []
        for number, argument in enumerate(function.kernel.logical_arguments):
            if not argument.is_pointer:
                continue
            (address,) = _ADDRESS.unpack_from(block, argument.offset)
            check = self._answers.pop(address, None)
            place = self._place(address) if check is None else _ANSWER
            if check is not None:
                answers.append((len(pointers), check))
            if place is not None:
                pointers.append(number)
                sources.append(place)
            elif address:
                kept.append(self._kept.get(address))
        if None in kept:
            self.is_complete = False
        again = function.prepare(block, grid, threads, pointers)
        self._add(Launch(again, tuple(sources), tuple(answers), tuple(kept)))

    def copies(self, target: int, source: int, nbytes: int) -> None:
        """Bytes are copied on the device."""
        to, start = self._place(target), self._place(source)
        if to is None or start is None:
            self.is_complete = False
        else:
            self._add(Copy(to, start, nbytes))

    def clears(self, target: int, nbytes: int) -> None:
        """Bytes are set to zero."""
        place = self._place(target)
        if place is None:
            self.is_complete = False
        else:
            self._add(Fill(place, nbytes))

    def _add(self, step: Step) -> None:
        self._steps.append(step)
        if len(self._steps) > _MOST_STEPS:
            self.is_complete = False

    def _place(self, address: int) -> Place | None:
        """Where an address points, of operands and of memory that was made and is not freed, the latest first."""
        for memory in reversed(self._memories):
            if memory.start <= address < memory.end and memory.made() is not None:
                if memory.number is None:
                    memory.number, memory.first = len(self._touched), len(self._steps)
                    self._touched.append(memory)
                memory.last = len(self._steps)
                return len(self._operands) + memory.number, address - memory.start
        for number, (first, low, high) in enumerate(self._operands):
            if low <= address < high:
                return number, address - first
        return None

    def recorded(self, result: object) -> Recorded | None:
        """All of it; None where it can't be done again like that."""
        tensors = result if isinstance(result, tuple) else () if result is None else (result,)
        results, lasting = [], set()
        for t in tensors:
            memory = next((m for m in self._touched if isinstance(t, Tensor) and m.made() is t.memory), None)
            if memory is None or memory.number is None:
                return None
            results.append((memory.number, t.dtype, t.layout, t.kind))
            lasting.add(memory.number)
        if not self.is_complete:
            return None
        steps = tuple(
            (
                tuple(m.nbytes for m in self._touched if m.first == i),
                step.run,
                tuple(n for n, m in enumerate(self._touched) if m.last == i and n not in lasting),
            )
            for i, step in enumerate(self._steps)
        )
        kind = result.__class__ if result is None or isinstance(result, tuple) else None
        return Recorded(steps, tuple(results), kind)


class _Thread(local):
    recording: Recording | None = None


thread: Final = _Thread()  # what the calling thread records
under_way: Final[list[Recording]] = []  # of any thread: quicker to look at


@contextmanager
def not_recorded() -> Iterator[None]:
    """Within, what is made is to be kept, and no step of the operation."""
    outer, thread.recording = thread.recording, None
    try:
        yield
    finally:
        thread.recording = outer
