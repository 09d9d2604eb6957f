"""Operations captured once and launched together.

Within `with graph.capture():` operations do nothing but say what they would do. Each launch, copy and fill becomes a
step, in order. Results have memory at once, and values when the graph is launched. A launch hands all steps to the
driver in one call, so the host's time does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from attrs import define, field

from rocmkern.engine.capture import Capture, Kernel
from rocmkern.errors import ClosedError, GraphError
from rocmkern.runtime import Device, Module, Stream, trace
from rocmkern.runtime.capturing import current, place, recording
from rocmkern.runtime.closing import Closing
from rocmkern.runtime.stream import stream_handle
from rocmkern.tensor import Tensor


@define(eq=False, repr=False)
class Graph(Closing):
    """Operations that run together: `with graph.capture(): y = rk.softmax(x @ w)`, then `graph.launch()`.

    A graph belongs to one device. Until it is closed it holds the memory of its operands, and that of what it computes
    between. Numbers and arrays that come from the host within the capture stay those of the capture, as do the numbers
    that `rk.random` draws.
    """

    _state: str = field(init=False, default="empty")
    _captured: Capture = field(init=False, factory=Capture)
    _handle: int = field(init=False, default=0)  # the driver's, from the first launch on
    _changed: set[int] = field(init=False, factory=set)  # nodes that the driver does not know yet
    _modules: set[Module] = field(init=False, factory=set)
    _streams: set[Stream] = field(init=False, factory=set)

    @property
    def device(self) -> Device:
        """The device of the captured operations. Raises GraphError where nothing is captured."""
        device = self._captured.device
        if device is None:
            raise GraphError(f"graph: it is {self._state}, without operations; capture some")
        return device

    def __len__(self) -> int:
        """How many launches, copies and fills it makes."""
        return len(self._captured.nodes)

    @property
    def is_closed(self) -> bool:
        return self._state == "closed"

    @contextmanager
    def capture(self) -> Iterator[Graph]:
        """Within, the calling thread's operations become steps of the graph and are not run.

        Raises GraphError for an operation that needs values on the host, such as `item()` or `x[mask]`, for one on
        another device, for a second capture, and within another one. If the block raises, nothing is captured.
        """
        if current() is not None:
            raise GraphError("capture: the thread captures another graph; leave that capture first")
        if self._state != "empty":
            raise GraphError(f"capture: the graph is {self._state}; make another one")
        self._state = "being captured"
        try:
            with recording(self._captured):
                yield self
        except BaseException:
            self._captured.release()
            self._captured, self._state = Capture(), "empty"
            raise
        self._captured.end()
        works = (node.work for node in self._captured.nodes)
        self._modules = {work.function.module for work in works if isinstance(work, Kernel)}
        self._state = "captured"

    def launch(self, stream: Stream | None = None) -> None:
        """Runs all steps in order, on a stream or on the device's default one. On a GPU it returns before they are
        done.

        Raises GraphError before anything is captured, and the errors of the operations as they come without a graph.
        """
        if current() is not None:
            raise GraphError(f"launch: another graph is captured, at {place()}; launch this one before or after")
        self._require_captured("launch")
        if not len(self):
            return
        for module in self._modules:
            if module.is_closed:
                raise ClosedError("launch: a module of the graph's kernels is closed; capture it again")
        driver = self.device.driver
        handle = stream_handle(stream, driver)
        if stream is not None:
            self._streams.add(stream)
        if trace.active is not None:
            for node in self._captured.nodes:
                node.run(handle)
        else:
            driver.launch_graph(self._built(), handle)
        if self._captured.verdicts is not None:
            self._captured.verdicts.ask(stream)

    def _built(self) -> int:
        """The driver's graph, with what was bound since."""
        driver, nodes = self.device.driver, self._captured.nodes
        if not self._handle:
            self._changed.clear()
            self._handle = driver.build_graph([node.step() for node in nodes])
        for number in sorted(self._changed):
            driver.change_graph(self._handle, number, nodes[number].step())
            self._changed.discard(number)
        return self._handle

    def bind(self, old: Tensor, new: Tensor) -> None:
        """Has `new` take the place of `old`, an operand of captured operations, in every later launch; steps that write
        to the one write to the other then.

        Both have one dtype, shape, strides and device. Raises GraphError otherwise, and where no step uses `old`.
        Operands that share memory were captured as such: bind what shares memory in the same way.
        """
        self._require_captured("bind")
        for what, is_now, was in (
            ("device", new.device, old.device), ("dtype", new.dtype, old.dtype),
            ("shape", new.shape, old.shape), ("strides", new.strides, old.strides),
        ):  # fmt: skip
            if is_now != was:
                raise GraphError(f"bind: {what} of the new tensor is {is_now}, of the old one {was}; give one like it")
        low, high = (old.memory.address + old.dtype.itemsize * end for end in old.layout.extent())
        away, found = new.address - old.address, False
        for number, node in enumerate(self._captured.nodes):
            for spot in node.spots:
                if spot.memory is old.memory and low <= spot.begin < max(high, low + 1):
                    spot.memory, spot.begin, spot.address = new.memory, spot.begin + away, spot.address + away
                    self._changed.add(number)
                    found = True
        if not found:
            raise GraphError(
                f"bind: no step of the graph has the old tensor of shape {old.shape} as an operand; give one that "
                "was made before the capture and used in it"
            )

    def close(self) -> None:
        """Ends the use of the graph, when its launches are done. Its results keep their memory."""
        if self._state == "being captured":
            raise GraphError("close: the graph is being captured; leave the capture first")
        self._ended()()

    def _ended(self) -> Callable[[], None]:
        """What is left to do when it is closed."""
        self._state = "closed"
        handle, self._handle = self._handle, 0
        return partial(_end, self._captured, self._streams, handle, self._modules)

    def __del__(self) -> None:
        if getattr(self, "_state", "closed") != "captured" or self._captured.device is None:
            return
        if self._streams:
            self._captured.device.leave(self._ended())
            return
        handle, self._handle = self._handle, 0
        if handle:
            self._captured.device._driver.retire("destroy_graph", handle)
        self._ended()()

    def _require_captured(self, operation: str) -> None:
        if self._state == "closed":
            raise ClosedError(f"{operation}: the graph is closed; capture another")
        if self._state != "captured":
            raise GraphError(f"{operation}: the graph is {self._state}; capture operations first")

    def __repr__(self) -> str:
        where = "" if self._captured.device is None else f" on {self._captured.device.name}"
        return f"Graph({self._state}, {len(self)} steps{where})"


def _end(captured: Capture, streams: set[Stream], handle: int, modules: set[Module]) -> None:
    """Gives back what a graph holds, when its launches are done."""
    try:
        for stream in streams:
            if not stream.is_closed:
                stream.synchronize()
    finally:
        streams.clear()
        if captured.device is not None and handle:
            captured.device._driver.destroy_graph(handle)
        captured.release()
        modules.clear()
