"""Graphs of the vendors' libraries: nodes one after the other, built once and changed in place.

HIP and CUDA have the same calls for them, but not the same forms of what a node is: those are the drivers' own. Work of
other libraries ends one graph of the vendor's, and what follows it is another.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import count, groupby
from typing import TYPE_CHECKING, Any

from attrs import define, field, frozen

from rocmkern.drivers.protocol import CallStep, CopyStep, FillStep, GraphStep, NodeStep, Work

if TYPE_CHECKING:
    from rocmkern.drivers.vendor import VendorDriver


@frozen(eq=False)
class _Piece:
    """Nodes without a call among them."""

    graph: Any
    nodes: tuple[Any, ...]
    executable: Any


@define(eq=False)
class _Graph:
    """Pieces and calls in order, and for each step in which of them it is, as which node."""

    parts: list[_Piece | Work]
    places: list[tuple[int, int]]


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

    @abstractmethod
    def add(self, graph: Any, before: Any, step: NodeStep) -> Any:
        """A new node of the graph, behind the node before; None for the first one."""

    @abstractmethod
    def change(self, executable: Any, node: Any, step: NodeStep) -> None:
        """Gives a node of what can be launched another step of its kind."""

    def build(self, steps: Sequence[GraphStep]) -> int:
        built = _Graph([], [])
        try:
            for _, group in groupby(steps, lambda step: isinstance(step, CallStep)):
                some = list(group)
                for step in some:
                    if isinstance(step, CallStep):
                        built.places.append((len(built.parts), 0))
                        built.parts.append(step.work)
                nodes = [step for step in some if not isinstance(step, CallStep)]
                if nodes:
                    built.places += [(len(built.parts), node) for node in range(len(nodes))]
                    built.parts.append(self._piece(nodes))
        except BaseException:
            self._end(built)
            raise
        handle = next(self._handles)
        self._graphs[handle] = built
        return handle

    def _piece(self, steps: Sequence[NodeStep]) -> _Piece:
        graph, nodes = self.do("create_graph"), list[Any]()
        try:
            for step in steps:
                nodes.append(self.add(graph, nodes[-1] if nodes else None, step))
            executable = self.do("instantiate_graph", graph)
        except BaseException:
            self.do("destroy_graph", graph)
            raise
        return _Piece(graph, tuple(nodes), executable)

    def change_step(self, handle: int, number: int, step: GraphStep) -> None:
        found = self._graphs[handle]
        at, node = found.places[number]
        part = found.parts[at]
        if isinstance(step, CallStep):
            found.parts[at] = step.work
        elif isinstance(part, _Piece):
            self.change(part.executable, part.nodes[node], step)

    def launch(self, handle: int, stream: int) -> None:
        queue = self.driver._stream(stream)
        for part in self._graphs[handle].parts:
            if isinstance(part, _Piece):
                self.do("launch_graph", part.executable, queue)
            else:
                self.driver.enqueue(part, stream)

    def destroy(self, handle: int) -> None:
        found = self._graphs.pop(handle, None)
        if found is not None:
            self._end(found)

    def _end(self, graph: _Graph) -> None:
        for part in graph.parts:
            if isinstance(part, _Piece):
                self.do("destroy_executable", part.executable)
                self.do("destroy_graph", part.graph)

    def clear(self) -> None:
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
                self.driver.enqueue(step.work, stream)
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
