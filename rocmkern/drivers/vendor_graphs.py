"""Graphs of the vendors' libraries: nodes one after the other, built once and changed in place.

HIP and CUDA have the same calls for them, but not the same forms of what a node is: those are the drivers' own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from attrs import define, field, frozen

from rocmkern.drivers.protocol import CopyStep, FillStep, GraphStep

if TYPE_CHECKING:
    from rocmkern.drivers.vendor import VendorDriver


@frozen(eq=False)
class _Graph:
    graph: Any
    nodes: tuple[Any, ...]
    executable: Any


@define(eq=False)
class VendorGraphs:
    """The graphs of one device, by the address of what the library can launch."""

    driver: VendorDriver
    _graphs: dict[int, _Graph] = field(init=False, factory=dict)

    @property
    def do(self) -> Callable[..., Any]:
        """What does an action of the vendor's."""
        return self.driver._do

    @abstractmethod
    def add(self, graph: Any, before: Any, step: GraphStep) -> Any:
        """A new node of the graph, behind the node before; None for the first one."""

    @abstractmethod
    def change(self, executable: Any, node: Any, step: GraphStep) -> None:
        """Gives a node of what can be launched another step of its kind."""

    def build(self, steps: Sequence[GraphStep]) -> int:
        graph, nodes = self.do("create_graph"), list[Any]()
        try:
            for step in steps:
                nodes.append(self.add(graph, nodes[-1] if nodes else None, step))
            executable = self.do("instantiate_graph", graph)
        except BaseException:
            self.do("destroy_graph", graph)
            raise
        handle = int(executable)
        self._graphs[handle] = _Graph(graph, tuple(nodes), executable)
        return handle

    def change_step(self, handle: int, number: int, step: GraphStep) -> None:
        found = self._graphs[handle]
        self.change(found.executable, found.nodes[number], step)

    def launch(self, handle: int, stream: int) -> None:
        self.do("launch_graph", self._graphs[handle].executable, self.driver._stream(stream))

    def destroy(self, handle: int) -> None:
        found = self._graphs.pop(handle, None)
        if found is not None:
            self.do("destroy_executable", found.executable)
            self.do("destroy_graph", found.graph)

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
            if isinstance(step, CopyStep):
                self.driver.copy_on_device(step.target, step.source, step.nbytes, stream)
            elif isinstance(step, FillStep):
                self.driver.fill(step.address, step.byte, step.nbytes, stream)
            else:
                self.driver.launch(step.function, step.grid, step.block, step.shared_bytes, stream, step.arguments)

    def destroy(self, handle: int) -> None:
        self._graphs.pop(handle, None)

    def clear(self) -> None:
        self._graphs.clear()
