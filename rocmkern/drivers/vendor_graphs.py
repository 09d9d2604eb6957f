"""Graphs of the vendors' libraries: nodes one after the other, built once and changed in place.

HIP and CUDA have the same calls for them, but not the same forms of what a node is: those are the drivers' own. Work of
another library is captured from a stream and becomes a graph within the graph.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from attrs import define, field, frozen

from rocmkern.drivers.protocol import CallStep, CopyStep, FillStep, GraphStep, NodeStep

if TYPE_CHECKING:
    from rocmkern.drivers.vendor import VendorDriver


@frozen
class Within:
    """A graph that is a step of another."""

    graph: Any


@define(eq=False)
class _Graph:
    """What was built of the steps, and the graphs within it by the number of their step."""

    owner: VendorGraphs
    graph: Any
    watched: tuple[CallStep, ...]  # the last one of each library
    nodes: list[Any] = field(factory=list)
    within: dict[int, Any] = field(factory=dict)
    executable: Any = None
    is_ended: bool = False

    def end(self) -> None:
        """Gives back what the vendor has of it, once."""
        if self.is_ended:
            return
        self.is_ended = True
        if self.executable is not None:
            self.owner.do("destroy_executable", self.executable)
        for one in (self.graph, *self.within.values()):
            self.owner.do("destroy_graph", one)


@define(eq=False)
class VendorGraphs:
    """The graphs of one device, by numbers of their own."""

    driver: VendorDriver
    _graphs: dict[int, _Graph] = field(init=False, factory=dict)
    _handles: Iterator[int] = field(init=False, factory=lambda: count(1))

    @property
    def do(self) -> Callable[..., Any]:
        """What does an action of the vendor's."""
        return self.driver._do

    @property
    @abstractmethod
    def capture_mode(self) -> Any:
        """That of a capture which other threads' calls don't end."""

    @abstractmethod
    def add(self, graph: Any, before: Any, step: NodeStep | Within) -> Any:
        """A new node of the graph, behind the node before; None for the first one."""

    @abstractmethod
    def change(self, executable: Any, node: Any, step: NodeStep | Within) -> None:
        """Gives a node of what can be launched another step of its kind."""

    def build(self, steps: Sequence[GraphStep]) -> int:
        watched = {id(step.library): step for step in steps if isinstance(step, CallStep)}
        built = _Graph(self, self.do("create_graph"), tuple(watched.values()))
        try:
            for number, step in enumerate(steps):
                node = self._captured(built, number, step) if isinstance(step, CallStep) else step
                built.nodes.append(self.add(built.graph, built.nodes[-1] if built.nodes else None, node))
            built.executable = self.do("instantiate_graph", built.graph)
        except BaseException:
            built.end()
            raise
        handle = next(self._handles)
        self._graphs[handle] = built
        for step in built.watched:
            step.library.captured(built)
        return handle

    def _captured(self, graph: _Graph, number: int, step: CallStep) -> Within:
        """The graph of what another library adds to a stream."""
        step.library.require_ready(None)
        stream = self.driver.create_stream()
        queue = self.driver._stream(stream)
        try:
            self.do("begin_capture", queue, self.capture_mode)
            try:
                step.work(stream)
            finally:
                found = graph.within[number] = self.do("end_capture", queue)
        finally:
            self.driver.destroy_stream(stream)
        return Within(found)

    def change_step(self, handle: int, number: int, step: GraphStep) -> None:
        graph = self._graphs[handle]
        if not isinstance(step, CallStep):
            self.change(graph.executable, graph.nodes[number], step)
            return
        before = graph.within[number]
        try:
            self.change(graph.executable, graph.nodes[number], self._captured(graph, number, step))
        finally:
            if graph.within[number] is not before:
                self.do("destroy_graph", before)

    def launch(self, handle: int, stream: int) -> None:
        graph = self._graphs[handle]
        for call in graph.watched:
            call.library.require_ready(stream)
        self.do("launch_graph", graph.executable, self.driver._stream(stream))
        for call in graph.watched:
            call.library.watch(call.what, stream)

    def destroy(self, handle: int) -> None:
        found = self._graphs.pop(handle, None)
        if found is not None:
            found.end()

    def clear(self) -> None:
        for graph in self._graphs.values():
            graph.is_ended = True
        self._graphs.clear()


@define(eq=False)
class StepByStep:
    """The same for bindings that can't build a graph: its steps one after the other."""

    driver: VendorDriver
    _graphs: dict[int, list[GraphStep]] = field(init=False, factory=dict)
    _handles: Iterator[int] = field(init=False, factory=lambda: count(1))

    def build(self, steps: Sequence[GraphStep]) -> int:
        handle = next(self._handles)
        self._graphs[handle] = list(steps)
        return handle

    def change_step(self, handle: int, number: int, step: GraphStep) -> None:
        self._graphs[handle][number] = step

    def launch(self, handle: int, stream: int) -> None:
        for step in self._graphs[handle]:
            if isinstance(step, CallStep):
                self.driver.enqueue(step.run, stream)
            elif isinstance(step, CopyStep):
                self.driver.copy_on_device(step.target, step.source, step.nbytes, stream)
            elif isinstance(step, FillStep):
                self.driver.fill(step.address, step.byte, step.nbytes, stream)
            else:
                self.driver.launch(step.function, step.grid, step.block, step.shared_bytes, stream, step.arguments)

    def destroy(self, handle: int) -> None:
        self._graphs.pop(handle, None)

    def clear(self) -> None:
        self._graphs.clear()
