"""A plan: what an operation does on a device for operands of certain kinds, wherever they lie. Running it is the one
way from an operation to a driver.

A plan's steps name memory by number: the operands first, then what the plan makes, in the order of first use. To run it
is to find an address for each number and to hand the steps to the driver. The first run passes packed arguments with
the addresses put in. From the second on the driver has laid out each launch and takes the addresses alone: a shape that
comes once should not pay for that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from struct import Struct
from types import NoneType
from typing import Any, Final, Protocol

from attrs import define, field

from rocmkern.drivers.protocol import Again, Dims
from rocmkern.dtypes import DType
from rocmkern.engine.checks import Check, answers_of
from rocmkern.layout import Layout
from rocmkern.runtime import Device, DeviceMemory, Function
from rocmkern.runtime.capturing import Owned, Recorder
from rocmkern.runtime.symbols import Place
from rocmkern.tensor import Kind, Tensor

_ADDRESS: Final = Struct("<Q")
_address: Final = attrgetter("address")


class Step(Protocol):
    """One thing that the device does with memory at some places."""

    sources: tuple[Place, ...]

    def run(self, device: Device, passed: Sequence[int]) -> None:
        """Does it, with the addresses of the places."""

    def capture(self, recorder: Recorder, passed: Sequence[Owned]) -> None:
        """Has it remembered, with what the places are in."""


@define(eq=False)
class Launch:
    """A kernel's launch."""

    function: Function
    packed: bytes
    grid: Dims
    block: Dims
    early: bool
    pointers: tuple[tuple[int, int], ...]  # which arguments are addresses to put in, and the byte where each lies
    sources: tuple[Place, ...]  # what these lead to
    again: Again | None = None  # the launch as the driver laid it out
    _runs: int = 0

    def run(self, device: Device, passed: Sequence[int]) -> None:
        """Launches; the second time the driver lays the launch out for all later ones."""
        if self.again is not None:
            self.again(passed)
            return
        self._runs += 1
        if self._runs > 1 and not self.early:
            numbers = [number for number, _ in self.pointers]
            self.again = self.function.prepare(self.packed, self.grid, self.block, numbers)
            self.again(passed)
            return
        block = bytearray(self.packed)
        for (_, at), address in zip(self.pointers, passed, strict=True):
            _ADDRESS.pack_into(block, at, address)
        self.function.submit(bytes(block), self.grid, self.block, 0, 0, self.early)

    def capture(self, recorder: Recorder, passed: Sequence[Owned]) -> None:
        at = [at for _, at in self.pointers]
        recorder.kernel(self.function, self.packed, self.grid, self.block, 0, tuple(zip(at, passed, strict=True)))


@define(eq=False)
class Copy:
    """Bytes from one place to another."""

    sources: tuple[Place, ...]  # the target first
    nbytes: int

    def run(self, device: Device, passed: Sequence[int]) -> None:
        device.driver.copy_on_device(passed[0], passed[1], self.nbytes, 0)

    def capture(self, recorder: Recorder, passed: Sequence[Owned]) -> None:
        recorder.copied(passed[0], passed[1], self.nbytes)


@define(eq=False)
class Clear:
    """Bytes set to zero."""

    sources: tuple[Place, ...]
    nbytes: int

    def run(self, device: Device, passed: Sequence[int]) -> None:
        device.driver.fill(passed[0], 0, self.nbytes, 0)

    def capture(self, recorder: Recorder, passed: Sequence[Owned]) -> None:
        recorder.filled(passed[0], 0, self.nbytes)


@define(eq=False)
class Stage:
    """A step, with the memory to make before it, the checks that it answers, and the memory that is free behind it."""

    step: Step
    makes: tuple[int, ...]  # bytes of each; they get the next numbers
    checks: tuple[Check, ...]  # where each is answered gets the numbers behind
    frees: tuple[int, ...]


@define(eq=False)
class Made:
    """A result in memory that the plan made."""

    number: int
    dtype: DType
    layout: Layout
    kind: Kind

    def result(self, operands: Sequence[Tensor], memories: Sequence[Any], device: Device) -> Any:
        return Tensor(memories[self.number - len(operands)], self.dtype, self.layout, device, self.kind)


@define(eq=False)
class View:
    """A result in an operand's memory; its layout begins at the operand's first element."""

    number: int
    dtype: DType
    layout: Layout
    kind: Kind

    def result(self, operands: Sequence[Tensor], memories: Sequence[Any], device: Device) -> Any:
        operand, layout = operands[self.number], self.layout
        before = operand.layout.offset * operand.dtype.itemsize // self.dtype.itemsize
        at = Layout(layout.shape, layout.strides, before + layout.offset)
        return Tensor(operand.memory, self.dtype, at, operand.device, self.kind)


@define(eq=False)
class Itself:
    """A result that is an operand."""

    number: int

    def result(self, operands: Sequence[Tensor], memories: Sequence[Any], device: Device) -> Any:
        return operands[self.number]


@define(eq=False)
class Constant:
    """A result that is the same number, text or None for all operands."""

    value: Any

    def result(self, operands: Sequence[Tensor], memories: Sequence[Any], device: Device) -> Any:
        return self.value


Result = Made | View | Itself | Constant


@define(eq=False)
class Plan:
    """What an operation does for operands of certain kinds."""

    operands: int
    stages: tuple[Stage, ...]
    rest: tuple[int, ...]  # bytes of results that no step touches
    results: tuple[Result, ...]
    kind: type  # of all results together: NoneType says that the only one stands alone
    kept: tuple[object, ...]  # what the other addresses of arguments lead to
    run: Callable[[Device, Sequence[Tensor]], Any] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.run = self._first

    def _first(self, device: Device, operands: Sequence[Tensor]) -> Any:
        """Runs the plan; once each of its launches is laid out, there are quicker ways for the next time."""
        run = self._stepping()
        result = run(device, operands)
        if all(stage.step.again is not None for stage in self.stages if isinstance(stage.step, Launch)):
            self.run = self._alone() or run
        return result

    def _stepping(self) -> Callable[[Device, Sequence[Tensor]], Any]:
        steps = [(s.makes, s.checks, s.step.sources, s.step.run, s.frees) for s in self.stages]

        def run(device: Device, operands: Sequence[Tensor]) -> Any:
            addresses, memories = [*map(_address, operands)], list[Any]()
            for makes, checks, sources, step, frees in steps:
                for nbytes in makes:
                    memory = DeviceMemory(device, nbytes)
                    memories.append(memory)
                    addresses.append(memory.live_address)
                if checks:
                    with answers_of(device) as answers:
                        addresses += answers.slots(checks)
                        memories += [None] * len(checks)
                        step(device, [addresses[number] + offset for number, offset in sources])
                        answers.read_at_once()
                else:
                    step(device, [addresses[number] + offset for number, offset in sources])
                for number in frees:
                    memories[number] = None
            return self._results(device, operands, memories)

        return run

    def capture(self, recorder: Recorder, device: Device, operands: Sequence[Tensor]) -> Any:
        """Has a graph remember the plan's steps; the results have memory, and no values before it is launched."""
        recorder.belong(device)
        count, memories = len(operands), list[Any]()
        begins: list[Owned] = [(t.memory, t.address, t.address) for t in operands]
        for stage in self.stages:
            for nbytes in stage.makes:
                memory = recorder.memory(device, nbytes)
                memories.append(memory)
                begins.append((memory, memory.live_address, memory.live_address))
            for check in stage.checks:
                answer = recorder.answer(check)
                memories.append(None)
                begins.append((None, answer, answer))
            owned = [(begins[n][0], begins[n][1], begins[n][1] + offset) for n, offset in stage.step.sources]
            stage.step.capture(recorder, owned)
            for number in stage.frees:
                memories[number] = None
                begins[count + number] = (None, 0, 0)
        recorder.hold(self.kept)
        memories += [recorder.memory(device, nbytes) for nbytes in self.rest]
        return self._of(operands, memories, device)

    def _results(self, device: Device, operands: Sequence[Tensor], memories: list[Any]) -> Any:
        memories += [DeviceMemory(device, nbytes) for nbytes in self.rest]
        return self._of(operands, memories, device)

    def _of(self, operands: Sequence[Tensor], memories: list[Any], device: Device) -> Any:
        if self.kind is NoneType:
            return self.results[0].result(operands, memories, device)
        values = [result.result(operands, memories, device) for result in self.results]
        return tuple(values) if self.kind is tuple else self.kind(*values)

    def _alone(self) -> Callable[[Device, Sequence[Tensor]], Any] | None:
        """A quicker way to run a plan of one launch, once the driver has laid it out."""
        if len(self.stages) != 1 or self.rest or self.kind is not NoneType:
            return None
        (stage,), (result,) = self.stages, self.results
        if stage.checks or not isinstance(stage.step, Launch) or stage.step.again is None:
            return None
        again, sources = stage.step.again, stage.step.sources
        if not stage.makes and isinstance(result, Itself | Constant):
            return _in_place(again, sources, result)
        if len(stage.makes) == 1 and isinstance(result, Made):
            return _making(again, sources, self.operands, stage.makes[0], result)
        return None


def _making(
    again: Again, sources: tuple[Place, ...], operands: int, nbytes: int, made: Made
) -> Callable[[Device, Sequence[Tensor]], Tensor]:
    dtype, layout, kind = made.dtype, made.layout, made.kind
    in_order = sources == tuple((number, 0) for number in range(operands + 1))

    def of_one(device: Device, operands: Sequence[Tensor]) -> Tensor:
        (x,) = operands
        memory = DeviceMemory(device, nbytes)
        again((x.address, memory.live_address))
        return Tensor(memory, dtype, layout, device, kind)

    def of_two(device: Device, operands: Sequence[Tensor]) -> Tensor:
        x, y = operands
        memory = DeviceMemory(device, nbytes)
        again((x.address, y.address, memory.live_address))
        return Tensor(memory, dtype, layout, device, kind)

    def of_any(device: Device, operands: Sequence[Tensor]) -> Tensor:
        memory = DeviceMemory(device, nbytes)
        addresses = [*map(_address, operands), memory.live_address]
        again(addresses if in_order else [addresses[number] + offset for number, offset in sources])
        return Tensor(memory, dtype, layout, device, kind)

    return {1: of_one, 2: of_two}.get(operands, of_any) if in_order else of_any


def _in_place(
    again: Again, sources: tuple[Place, ...], result: Itself | Constant
) -> Callable[[Device, Sequence[Tensor]], Any]:
    in_order = sources == tuple((number, 0) for number in range(len(sources)))

    def run(device: Device, operands: Sequence[Tensor]) -> Any:
        addresses = [*map(_address, operands)]
        again(addresses if in_order else [addresses[number] + offset for number, offset in sources])
        return result.result(operands, (), device)

    return run
