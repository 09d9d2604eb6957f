"""The line where backends differ: what crosses it is integers, bytes and memoryviews."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from attrs import frozen

from rocmkern.targets import strip_features

Dims = tuple[int, int, int]
Again = Callable[[Sequence[int]], None]  # a launch on stream 0 whose arguments are known but for these addresses
Work = Callable[[int], None]  # adds its own to the stream that it is passed


@frozen
class DeviceInfo:
    """What a device is and the limits that launch planning keeps to. Sizes are in bytes."""

    name: str  # "hip:0", "emulator:gfx942"
    marketing: str
    arch: str  # as the driver reports it, features included: "gfx942:sramecc+:xnack-"
    wave_size: int
    compute_units: int
    max_threads_per_block: int
    max_block: Dims
    max_grid: Dims
    lds_bytes: int
    total_memory: int
    unified: bool  # the host can address device memory directly
    checked: bool = False  # every access is checked against the live allocations

    @property
    def target(self) -> str:
        """The architecture without feature flags, as compilers take it: gfx942, sm_90."""
        return strip_features(self.arch)


@frozen
class KernelStep:
    """A launch in a graph."""

    function: int
    grid: Dims
    block: Dims
    shared_bytes: int
    arguments: bytes


@frozen
class CopyStep:
    """A copy on the device in a graph."""

    target: int
    source: int
    nbytes: int


@frozen
class FillStep:
    """Bytes set in a graph."""

    address: int
    byte: int
    nbytes: int


class Ending(Protocol):
    def end(self) -> None: ...


class Library(Protocol):
    """Another library, whose work takes its turn among ours."""

    def require_ready(self, stream: int | None) -> None:
        """Raises what went wrong with its work so far, and when it is closed. A stream, which gets its next work, waits
        for what is to be done before; None is a capture's, which does not run.
        """

    def watch(self, what: str, stream: int) -> None: ...  # its work was added to the stream
    def captured(self, graph: Ending) -> None: ...  # which has its work, and must not outlive the library's use


@frozen
class CallStep:
    """Work of another library, which is passed the stream."""

    work: Work
    library: Library
    what: str

    def run(self, stream: int) -> None:
        """Adds the work to a stream."""
        self.library.require_ready(stream)
        self.work(stream)
        self.library.watch(self.what, stream)


NodeStep = KernelStep | CopyStep | FillStep
GraphStep = NodeStep | CallStep


class Driver(Protocol):
    """One open device. Addresses, streams, events, modules and functions are integers; stream 0 is the default.

    Every method raises an error of `rocmkern.errors`; none returns a status. Work on stream 0 waits for all other
    streams and they for it; a copy on stream 0 is done on return. Finalisers call free() and retire() alone, which wait
    for no lock: the garbage collector runs them in the middle of anything.
    """

    @property
    def info(self) -> DeviceInfo: ...

    def close(self) -> None: ...
    def retire(self, destroy: str, handle: int) -> None: ...  # has such a method called once that waits for nothing
    def alloc(self, nbytes: int) -> int: ...
    def free(self, address: int) -> None: ...
    def alloc_pinned(self, nbytes: int) -> memoryview: ...  # freed with the last view of it
    def is_pinned(self, view: memoryview) -> bool: ...
    def memory_info(self) -> tuple[int, int]: ...  # free, total
    def view(self, address: int, nbytes: int) -> memoryview | None: ...  # host view where `info.unified`

    def copy_to_device(self, address: int, source: memoryview, stream: int) -> None: ...
    def copy_to_host(self, target: memoryview, address: int, stream: int) -> None: ...
    def copy_on_device(self, target: int, source: int, nbytes: int, stream: int) -> None: ...
    # From a device of the same library; whether it can be. `owner` keeps the source until it is done.
    def copy_from_peer(
        self, target: int, peer: Driver, source: int, nbytes: int, stream: int, owner: object
    ) -> bool: ...
    def fill(self, address: int, byte: int, nbytes: int, stream: int) -> None: ...

    def create_stream(self) -> int: ...
    def destroy_stream(self, stream: int) -> None: ...
    def synchronize_stream(self, stream: int) -> None: ...
    def query_stream(self, stream: int) -> bool: ...  # whether its work is done; so it is where the stream is gone
    def stream_wait_event(self, stream: int, event: int) -> None: ...
    def adopt_stream(self, stream: int) -> int: ...  # the handle here of a stream that another library made
    def wait_for_peer(self, stream: int, peer: Driver, event: int) -> None: ...  # an event of another device
    def create_event(self) -> int: ...
    def destroy_event(self, event: int) -> None: ...
    def record_event(self, event: int, stream: int) -> None: ...
    def query_event(self, event: int) -> bool: ...
    def synchronize_event(self, event: int) -> None: ...
    def elapsed_ms(self, start: int, end: int) -> float: ...
    def synchronize(self) -> None: ...

    def load_module(self, image: bytes) -> int: ...
    def unload_module(self, module: int) -> None: ...
    def function(self, module: int, name: str) -> int: ...
    def launch(
        self,
        function: int,
        grid: Dims,
        block: Dims,
        shared_bytes: int,
        stream: int,
        arguments: bytes,
        early: bool = False,  # it may begin before the launch ahead has ended, on devices that can: the kernel waits
    ) -> None: ...
    def enqueue(self, work: Work, stream: int) -> None: ...  # called at once, or in its turn where a stream is a thread
    def prepare(self, function: int, grid: Dims, block: Dims, arguments: bytes, places: Sequence[int]) -> Again: ...

    def build_graph(self, steps: Sequence[GraphStep]) -> int: ...  # which run one after the other
    def change_graph(self, graph: int, number: int, step: GraphStep) -> None: ...  # a step of the same kind and size
    def launch_graph(self, graph: int, stream: int) -> None: ...
    def destroy_graph(self, graph: int) -> None: ...
