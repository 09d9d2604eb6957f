"""A plan while it is made: the steps of an operation in the order in which its Python takes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from struct import Struct
from threading import local
from types import EllipsisType, NoneType
from typing import Final

from attrs import define, field

from rocmkern.drivers.protocol import Dims
from rocmkern.dtypes import DType
from rocmkern.engine.checks import Check
from rocmkern.engine.plan import Clear, Constant, Copy, Itself, Launch, Made, Plan, Result, Stage, Step, View
from rocmkern.layout import Layout
from rocmkern.runtime import Device, DeviceMemory, Function
from rocmkern.runtime.capturing import current, recording, require_done
from rocmkern.runtime.symbols import FIRST, MOST, MOST_BYTES, Place, Symbol, UnknownValues, place
from rocmkern.tensor import Memory, Tensor

_ADDRESS: Final = Struct("<Q")
_MOST_STEPS: Final = 256  # what takes more is planned in parts
PLAIN: Final = frozenset((int, bool, str, NoneType, EllipsisType, DType))


@define(eq=False)
class Draft:
    """The stages so far of the operation that a thread plans, and how the plan numbers the memory of each symbol."""

    _symbols: list[Symbol] = field(init=False, factory=list)
    _operands: list[Tensor] = field(init=False, factory=list)  # as the operation sees them
    _checks: dict[int, Check] = field(init=False, factory=dict)  # by the symbol where each is answered
    _numbers: dict[int, int] = field(init=False, factory=dict)  # by symbol
    _steps: list[tuple[Step, tuple[int, ...], tuple[Check, ...]]] = field(init=False, factory=list)
    _last: dict[int, int] = field(init=False, factory=dict)  # the step that uses what the plan makes, by number
    _constants: list[Memory] = field(init=False, factory=list)
    _kept: dict[int, Memory] = field(init=False, factory=dict)

    def operands(self, given: Sequence[Tensor], target: Tensor | None) -> list[Tensor]:
        """The operands as symbols: one for each, but for those in the memory of the one that is written."""
        first: Tensor | None = None
        for number, t in enumerate(given):
            symbol, offset, self._numbers[number] = Symbol(number, 0), 0, number
            self._symbols.append(symbol)
            if target is not None and t.memory is target.memory:
                if first is None:
                    first, shared = t, symbol
                symbol, (offset, odd) = shared, divmod(t.address - first.address, t.dtype.itemsize)
                if odd:
                    raise UnknownValues
            layout = t.layout
            if layout.offset != offset:
                layout = Layout(layout.shape, layout.strides, offset)
            self._operands.append(Tensor(symbol, t.dtype, layout, t.device, t._kind))
        return self._operands

    def make(self, nbytes: int) -> Symbol:
        """Memory that the plan will make."""
        if len(self._symbols) >= MOST:
            raise UnknownValues
        symbol = Symbol(len(self._symbols), nbytes)
        self._symbols.append(symbol)
        return symbol

    def answer(self, check: Check) -> int:
        """The address at which one launch will tell whether its operands were right."""
        symbol = self.make(0)
        self._checks[symbol.number] = check
        return symbol.live_address

    def keep(self, memory: Memory) -> None:
        """Memory of the device that steps are passed addresses in, whatever the operands."""
        self._constants.append(memory)

    def launch(self, function: Function, packed: bytes, grid: Dims, block: Dims, early: bool) -> None:
        """A kernel's launch."""
        pointers: list[tuple[int, int]] = []
        places: list[Place] = []
        for pointer in function.pointers:
            (address,) = _ADDRESS.unpack_from(packed, pointer[1])
            if address >= FIRST:
                pointers.append(pointer)
                places.append(place(address))
            elif address:
                self._hold(address)
        sources, makes, checks = self._numbered(places)
        self._steps.append((Launch(function, packed, grid, block, early, tuple(pointers), sources), makes, checks))

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Bytes copied on the device."""
        if source < FIRST or target < FIRST:
            raise UnknownValues
        sources, makes, checks = self._numbered([place(target), place(source)])
        self._steps.append((Copy(sources, nbytes), makes, checks))

    def clear(self, target: int, nbytes: int) -> None:
        """Bytes set to zero."""
        sources, makes, checks = self._numbered([place(target)])
        self._steps.append((Clear(sources, nbytes), makes, checks))

    def _numbered(self, places: Sequence[Place]) -> tuple[tuple[Place, ...], tuple[int, ...], tuple[Check, ...]]:
        """The places by the plan's numbers; the memory that is new with them, then where checks are answered."""
        at, numbers = len(self._steps), self._numbers
        if at >= _MOST_STEPS:
            raise UnknownValues
        makes: list[int] = []
        checked: list[int] = []
        for symbol, _ in places:
            if symbol in self._checks:
                checked.append(symbol)
            elif symbol not in numbers:
                numbers[symbol] = len(numbers)
                makes.append(self._symbols[symbol].nbytes)
        for symbol in checked:
            if symbol in numbers:
                raise UnknownValues  # two launches answer one check
            numbers[symbol] = len(numbers)
        sources = tuple([(numbers[symbol], offset) for symbol, offset in places])
        for number, _ in sources:
            self._last[number] = at
        return sources, tuple(makes), tuple([self._checks[symbol] for symbol in checked])

    def _hold(self, address: int) -> None:
        for memory in reversed(self._constants):
            if 0 <= address - memory.live_address < memory.nbytes:
                self._kept[memory.live_address] = memory
                return
        raise UnknownValues

    def plan(self, result: object) -> Plan:
        """All of it, for an operation that returned `result`. Raises UnknownValues where that is no plan's."""
        count = len(self._operands)
        given = result if isinstance(result, tuple) else (result,)
        rest: list[int] = []
        results = tuple([self._result(value, rest) for value in given])
        lasting = {r.number for r in results if isinstance(r, Made)}
        free: list[list[int]] = [[] for _ in self._steps]
        for number, at in self._last.items():
            if number >= count and number not in lasting:
                free[at].append(number - count)
        stages = [Stage(*step, tuple(freed)) for step, freed in zip(self._steps, free, strict=True)]
        kind = result.__class__ if isinstance(result, tuple) else NoneType
        return Plan(count, tuple(stages), tuple(rest), results, kind, tuple(self._kept.values()))

    def _result(self, value: object, rest: list[int]) -> Result:
        if value.__class__ in PLAIN:
            return Constant(value)
        if not isinstance(value, Tensor) or not isinstance(value.memory, Symbol):
            raise UnknownValues
        for number, operand in enumerate(self._operands):
            if value is operand:
                return Itself(number)
        symbol, numbers = value.memory.number, self._numbers
        if symbol < len(self._operands):
            return View(symbol, value.dtype, value.layout, value.kind)
        if symbol not in numbers:
            numbers[symbol] = len(numbers)
            rest.append(self._symbols[symbol].nbytes)
        return Made(numbers[symbol], value.dtype, value.layout, value.kind)


class _Thread(local):
    draft: Draft | None = None


thread: Final = _Thread()  # what the calling thread plans


@contextmanager
def apart() -> Iterator[None]:
    """Within, what the calling thread does is done at once, and is no step of a plan that it makes or a graph that it
    captures."""
    outer, thread.draft = thread.draft, None
    try:
        with recording(None):
            yield
    finally:
        thread.draft = outer


def memory(device: Device, nbytes: int) -> DeviceMemory | Symbol:
    """Uninitialised memory, of the plan that is made or of the device."""
    draft = thread.draft
    if draft is not None and nbytes <= MOST_BYTES:  # for more than any device has the error comes at once
        return draft.make(nbytes)
    recorder = current()
    return DeviceMemory(device, nbytes) if recorder is None else recorder.memory(device, nbytes)


def constant(memory: Memory) -> None:
    """Has the plan that is made, or the graph that is captured, keep memory whose address its steps are passed."""
    if thread.draft is not None:
        thread.draft.keep(memory)
        return
    recorder = current()
    if recorder is not None:
        recorder.hold(memory)


def launch(function: Function, packed: bytes, grid: Dims, block: Dims, early: bool = False) -> None:
    """Launches a kernel with arguments that are right, or notes that in the plan that is made."""
    draft = thread.draft
    if draft is None:
        function.launch_packed(packed, grid=grid, block=block, early=early)
    else:
        whole, dims = function.whole_block(packed), function.dims(grid, block)
        draft.launch(function, whole, *dims, early and function.kernel.awaits)


def copy_on_device(target: Tensor, source: Tensor) -> None:
    """Copies the bytes of one contiguous tensor to another."""
    draft = thread.draft
    if draft is not None:
        draft.copy(target.address, source.address, target.nbytes)
    elif (recorder := current()) is not None:
        recorder.copy(target.device, target.address, source.address, target.nbytes)
    else:
        target.device.driver.copy_on_device(target.address, source.address, target.nbytes, 0)


def clear(target: Tensor) -> None:
    """Sets the bytes of a contiguous tensor to zero."""
    draft = thread.draft
    if draft is not None:
        draft.clear(target.address, target.nbytes)
    elif (recorder := current()) is not None:
        recorder.fill(target.device, target.address, 0, target.nbytes)
    else:
        target.device.driver.fill(target.address, 0, target.nbytes, 0)


def needs_host(operation: str) -> None:
    """Ends the planning of an operation that goes on by what the host sees; then its parts are planned.

    Raises GraphError within a capture: what the host would see is not computed.
    """
    if thread.draft is not None:
        raise UnknownValues
    require_done(operation)
