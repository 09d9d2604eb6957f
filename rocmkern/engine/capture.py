"""What a graph remembers of the work that a thread captures: nodes, and the memory that they need.

An operation's plan says of each address which operand or which memory of its own it leads to. Work without a plan, such
as the launch of a user's kernel, gives addresses alone: then they are looked up in the memory that the operation was
given. Memory that captured work makes comes from a pool of the graph, where later work of the same capture finds what
earlier work gave back, as on a device; nobody else gets it, since each launch of the graph writes it again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from struct import Struct
from typing import Any, Final

from attrs import define, field

from rocmkern.drivers.protocol import CallStep, CopyStep, Dims, FillStep, GraphStep, KernelStep, Library
from rocmkern.engine.checks import STATUS_BYTES, Check, answers_at_once, copied, told
from rocmkern.errors import GraphError, RocmkernError, together
from rocmkern.runtime import Device, DeviceMemory, Function, Stream
from rocmkern.runtime.capturing import Owned, place, recording
from rocmkern.runtime.pool import MemoryPool
from rocmkern.tensor import Foreign, Memory

_ADDRESS: Final = Struct("<Q")
_ANSWERS: Final = 64  # that one piece of memory has room for


@define(eq=False)
class Kernel:
    """A launch. `at` says where in the argument block each address goes."""

    function: Function
    packed: bytes
    grid: Dims
    block: Dims
    shared_bytes: int
    at: tuple[int, ...]

    def step(self, addresses: Sequence[int]) -> KernelStep:
        block = bytearray(self.packed)
        for at, address in zip(self.at, addresses, strict=True):
            _ADDRESS.pack_into(block, at, address)
        return KernelStep(self.function.handle, self.grid, self.block, self.shared_bytes, bytes(block))

    def run(self, addresses: Sequence[int], stream: int) -> None:
        """Launches it alone, where a trace sees it."""
        self.function.submit(self.step(addresses).arguments, self.grid, self.block, self.shared_bytes, stream)


@define(eq=False)
class Copy:
    """Bytes from the second address to the first."""

    device: Device
    nbytes: int

    def step(self, addresses: Sequence[int]) -> CopyStep:
        return CopyStep(addresses[0], addresses[1], self.nbytes)

    def run(self, addresses: Sequence[int], stream: int) -> None:
        self.device.driver.copy_on_device(addresses[0], addresses[1], self.nbytes, stream)


@define(eq=False)
class Fill:
    """One byte everywhere."""

    device: Device
    byte: int
    nbytes: int

    def step(self, addresses: Sequence[int]) -> FillStep:
        return FillStep(addresses[0], self.byte, self.nbytes)

    def run(self, addresses: Sequence[int], stream: int) -> None:
        self.device.driver.fill(addresses[0], self.byte, self.nbytes, stream)


@define(eq=False)
class Call:
    """Work of another library, which is passed the addresses and the stream."""

    device: Device
    work: Callable[[Sequence[int], int], None]
    library: Library
    what: str

    def step(self, addresses: Sequence[int]) -> CallStep:
        return CallStep(partial(self.work, addresses), self.library, self.what)

    def run(self, addresses: Sequence[int], stream: int) -> None:
        self.device.driver.enqueue(self.step(addresses).run, stream)


@define(eq=False)
class Spot:
    """An address that a node is passed. Where it leads to memory of others: that, and where in it what the operation
    was given begins."""

    memory: Memory | None
    begin: int
    address: int


@define(eq=False)
class Node:
    """One launch, copy, fill or call."""

    work: Kernel | Copy | Fill | Call
    spots: list[Spot]

    @property
    def addresses(self) -> list[int]:
        return [spot.address for spot in self.spots]

    def step(self) -> GraphStep:
        return self.work.step(self.addresses)

    def run(self, stream: int) -> None:
        self.work.run(self.addresses, stream)


@define(eq=False)
class Capture:
    """The nodes of a graph, in order, and their memory: a `capturing.Recorder`."""

    nodes: list[Node] = field(init=False, factory=list)
    verdicts: Verdicts | None = field(init=False, default=None)
    _device: Device | None = field(init=False, default=None)
    _held: dict[int, Memory] = field(init=False, factory=dict)  # memory of others, by identity
    _pool: MemoryPool | None = field(init=False, default=None)
    _kept: list[DeviceMemory] = field(init=False, factory=list)  # made on devices that know each allocation

    @property
    def device(self) -> Device | None:
        """The one of all nodes; None while there are none."""
        return self._device

    def kernel(
        self,
        function: Function,
        packed: bytes,
        grid: Dims,
        block: Dims,
        shared_bytes: int,
        pointers: tuple[tuple[int, Owned], ...],
    ) -> None:
        at = tuple(at for at, _ in pointers)
        self._add(Kernel(function, packed, grid, block, shared_bytes, at), [owned for _, owned in pointers])

    def copied(self, target: Owned, source: Owned, nbytes: int) -> None:
        assert self._device is not None
        if nbytes:
            self._add(Copy(self._device, nbytes), [target, source])

    def filled(self, target: Owned, byte: int, nbytes: int) -> None:
        assert self._device is not None
        if nbytes:
            self._add(Fill(self._device, byte, nbytes), [target])

    def launch(self, function: Function, packed: bytes, grid: Dims, block: Dims, shared_bytes: int) -> None:
        self.belong(function.module.device)
        pointers = tuple((at, self._owned(_ADDRESS.unpack_from(packed, at)[0])) for _, at in function.pointers)
        self.kernel(function, packed, grid, block, shared_bytes, pointers)

    def copy(self, device: Device, target: int, source: int, nbytes: int) -> None:
        self.belong(device)
        self.copied(self._owned(target), self._owned(source), nbytes)

    def fill(self, device: Device, address: int, byte: int, nbytes: int) -> None:
        self.belong(device)
        self.filled(self._owned(address), byte, nbytes)

    def call(
        self,
        device: Device,
        work: Callable[[Sequence[int], int], None],
        library: Library,
        what: str,
        owned: Sequence[Owned],
    ) -> None:
        self.belong(device)
        self._add(Call(device, work, library, what), owned)

    def hold(self, value: Any) -> None:
        if isinstance(value, DeviceMemory | Foreign):
            if isinstance(value, Foreign) or self._pool is None or value.pool is not self._pool:
                self._held[id(value)] = value
        elif isinstance(value, tuple | list):
            for one in value:
                self.hold(one)
        else:
            self.hold(getattr(value, "memory", ()))

    def memory(self, device: Device, nbytes: int) -> DeviceMemory:
        self.belong(device)
        if device.info.checked:  # it says who uses what was given back: here the next launch does
            self._kept.append(DeviceMemory(device, nbytes))
            return self._kept[-1]
        if self._pool is None:
            self._pool = device.pool_within()
        return DeviceMemory.of(self._pool, device, nbytes)

    def answer(self, check: Any) -> int:
        assert self._device is not None
        if self.verdicts is None:
            self.verdicts = Verdicts(self._device)
        return self.verdicts.answer(check)

    def belong(self, device: Device) -> None:
        """Raises GraphError for another device than that of the nodes before."""
        if self._device is None:
            self._device = device
        elif self._device != device:
            raise GraphError(
                f"capture: work on {device.name} at {place()}, in a graph of {self._device.name}; capture one for each"
            )

    def end(self) -> None:
        """Lets go of the operands that nodes hold themselves: another may be bound in their place."""
        for node in self.nodes:
            for spot in node.spots:
                self._held.pop(id(spot.memory), None)

    def release(self) -> None:
        """Gives all memory back, that of results with the last of them."""
        self.nodes.clear()
        self._held.clear()
        self._kept.clear()
        pool, self._pool, self.verdicts = self._pool, None, None
        if pool is not None:
            pool.keeps = False
            pool.give_back()

    def _add(self, work: Kernel | Copy | Fill | Call, owned: Sequence[Owned]) -> None:
        spots = []
        for memory, begin, address in owned:
            if memory is not None:
                self.hold(memory)
            spots.append(Spot(memory if id(memory) in self._held else None, begin, address))
        self.nodes.append(Node(work, spots))

    def _owned(self, address: int) -> Owned:
        for memory in self._held.values():
            if 0 <= address - memory.live_address < max(memory.nbytes, 1):
                return memory, address, address
        return None, address, address


@define(eq=False)
class Verdicts:
    """Where the checks of a graph's launches answer, each time that it runs."""

    device: Device
    _checks: list[Check] = field(init=False, factory=list)
    _memory: list[DeviceMemory] = field(init=False, factory=list)
    _is_deferred: bool = field(init=False, default=False)

    def answer(self, check: Check) -> int:
        """The address for the answer of one check."""
        number = len(self._checks) % _ANSWERS
        if not number:
            memory = self.device.alloc(STATUS_BYTES * _ANSWERS)
            with recording(None):
                memory.fill(0xFF)
            self._memory.append(memory)
        self._checks.append(check)
        return self._memory[-1].live_address + STATUS_BYTES * number

    def ask(self, stream: Stream | None) -> None:
        """Raises what checks found: at once where the host knows, else with the next call that waits."""
        if stream is None and answers_at_once(self.device):
            self.settle()
        else:
            self._defer()

    def _defer(self) -> None:
        if not self._is_deferred:
            self._is_deferred = True
            self.device.defer(self.settle)

    def settle(self) -> None:
        """Raises the error of the first check that found one, which tells those of the others, after the device's work
        so far.
        """
        if self._is_deferred:
            self._is_deferred = False
            self.device.undefer(self.settle)
        try:
            errors = self._read()
        except BaseException:
            self._defer()
            raise
        if errors:
            raise together(errors)

    def _read(self) -> list[RocmkernError]:
        """What was found."""
        errors, answered = list[RocmkernError](), list[DeviceMemory]()
        for number, memory in enumerate(self._memory):
            checks = self._checks[number * _ANSWERS :][:_ANSWERS]
            found = told(checks, copied(memory, len(checks)))
            if found is not None:
                answered.append(memory)
                errors += found
        for memory in answered:
            memory.fill(0xFF)
        return errors
