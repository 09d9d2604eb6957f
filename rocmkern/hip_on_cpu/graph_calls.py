"""HIP's calls for graphs that a program builds node by node. Nodes run in the order in which they were added: each is
added behind those that it depends on.
"""

from __future__ import annotations

from abc import abstractmethod

from attrs import define, field, frozen

from rocmkern.drivers.hip import KernelNode, MemsetNode
from rocmkern.drivers.protocol import CopyStep, FillStep, GraphStep, KernelStep
from rocmkern.hip_on_cpu.arguments import put
from rocmkern.hip_on_cpu.binding import INVALID_VALUE, NOT_SUPPORTED, Status
from rocmkern.hip_on_cpu.state import State


@define(eq=False)
class Graph:
    """A graph's nodes by handle; one that does nothing has no step."""

    device: int
    steps: dict[int, GraphStep | None] = field(factory=dict)


@frozen(eq=False)
class Executable:
    """What can be launched: the driver's graph, and where in it each node's step is."""

    device: int
    handle: int
    places: dict[int, int]


class GraphCalls(State):
    """The part of `Calls` that is about graphs."""

    @abstractmethod
    def _kernel_step(self, node: KernelNode) -> KernelStep: ...

    def hipGraphCreate(self, graph: int, flags: int) -> None:
        put(graph, self._keep(Graph(self._device)))

    def hipGraphDestroy(self, graph: int) -> None:
        for node in self._held(graph, Graph).steps:
            self._drop(node)
        self._drop(graph)

    def hipGraphAddEmptyNode(self, node: int, graph: int, before: int, count: int) -> None:
        self._add(node, graph, None)

    def hipGraphAddKernelNode(self, node: int, graph: int, before: int, count: int, what: int) -> None:
        self._add(node, graph, self._kernel_step(KernelNode.from_address(what)))

    def hipGraphAddMemcpyNode1D(
        self, node: int, graph: int, before: int, count: int, to: int, source: int, nbytes: int, kind: int
    ) -> None:
        self._add(node, graph, CopyStep(to, source, nbytes))

    def hipGraphAddMemsetNode(self, node: int, graph: int, before: int, count: int, what: int) -> None:
        self._add(node, graph, _fill(MemsetNode.from_address(what)))

    def _add(self, node: int, graph: int, step: GraphStep | None) -> None:
        found = self._held(graph, Graph)
        handle = self._keep(found)
        found.steps[handle] = step
        put(node, handle)

    def hipGraphInstantiate(self, executable: int, graph: int, failed: int, log: int, nbytes: int) -> None:
        self.hipGraphInstantiateWithFlags(executable, graph, 0)

    def hipGraphInstantiateWithFlags(self, executable: int, graph: int, flags: int) -> None:
        found = self._held(graph, Graph)
        steps = {node: step for node, step in found.steps.items() if step is not None}
        handle = self.drivers[found.device].build_graph(list(steps.values()))
        places = {node: place for place, node in enumerate(steps)}
        put(executable, self._keep(Executable(found.device, handle, places)))

    def hipGraphExecKernelNodeSetParams(self, executable: int, node: int, what: int) -> None:
        self._change(executable, node, self._kernel_step(KernelNode.from_address(what)))

    def hipGraphExecMemcpyNodeSetParams1D(
        self, executable: int, node: int, to: int, source: int, nbytes: int, kind: int
    ) -> None:
        self._change(executable, node, CopyStep(to, source, nbytes))

    def hipGraphExecMemsetNodeSetParams(self, executable: int, node: int, what: int) -> None:
        self._change(executable, node, _fill(MemsetNode.from_address(what)))

    def _change(self, executable: int, node: int, step: GraphStep) -> None:
        found = self._held(executable, Executable)
        if node not in found.places:
            raise Status(INVALID_VALUE)
        self.drivers[found.device].change_graph(found.handle, found.places[node], step)

    def hipGraphLaunch(self, executable: int, stream: int) -> None:
        found = self._held(executable, Executable)
        _, handle = self._stream(stream)
        self.drivers[found.device].launch_graph(found.handle, handle)

    def hipGraphExecDestroy(self, executable: int) -> None:
        found = self._held(executable, Executable)
        self._drop(executable)
        self.drivers[found.device].destroy_graph(found.handle)


def _fill(node: MemsetNode) -> FillStep:
    if node.element_bytes != 1 or node.height != 1:
        raise Status(NOT_SUPPORTED)
    return FillStep(node.target, node.value & 255, node.width)
