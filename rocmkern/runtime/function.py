"""A kernel that can be launched."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final

from attrs import define, field

from rocmkern.codeobject import Kernel
from rocmkern.drivers.launch_buffer import with_addresses
from rocmkern.drivers.protocol import Again, DeviceInfo, Dims, Driver
from rocmkern.errors import ArgumentError, ClosedError, LaunchError
from rocmkern.runtime import arguments, capturing, trace
from rocmkern.runtime.dim3 import DimLike, sizes
from rocmkern.runtime.memory import DeviceMemory
from rocmkern.runtime.stream import Stream, stream_handle

if TYPE_CHECKING:
    from rocmkern.runtime.module import Module

# AMD's dispatch packet holds the grid as 32-bit counts of work-items; older HIP wraps silently beyond.
_LARGEST_AXIS: Final = (1 << 32) - 1
_REMEMBERED_GEOMETRIES: Final = 4096


@define(eq=False, repr=False)
class Function:
    """A kernel of a loaded module: `function(*args, grid=, block=, shared_bytes=0, stream=None)` launches it.

    Arguments and geometry are checked before the launch; ArgumentError and LaunchError name the kernel, what came and
    what was wanted.
    """

    module: Module
    kernel: Kernel
    parameters: Sequence[arguments.Parameter] | None = None
    _handle: int = field(init=False)
    _driver: Driver = field(init=False)
    _packer: arguments.Packer = field(init=False)
    _geometries: dict[tuple[DimLike, DimLike, int], tuple[Dims, Dims]] = field(init=False, factory=dict)
    _pointers: tuple[tuple[int, int], ...] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._driver = self.module.device._driver
        self._packer = arguments.packer(self.kernel, self.parameters, self._driver)
        self._handle = self._driver.function(self.module.handle, self.kernel.name)
        given = enumerate(self.kernel.logical_arguments)
        self._pointers = tuple((number, argument.offset) for number, argument in given if argument.is_pointer)

    @property
    def name(self) -> str:
        return self.kernel.name

    @property
    def handle(self) -> int:
        """The driver's own name of it."""
        return self._handle

    @property
    def driver(self) -> Driver:
        return self._driver

    @property
    def signature(self) -> str:
        """The call as one would write it, with names and dtypes where they are known."""
        return self._packer.signature()

    def __call__(
        self,
        *args: Any,
        grid: DimLike,
        block: DimLike,
        shared_bytes: int = 0,
        stream: Stream | None = None,
        **named: Any,
    ) -> None:
        """Launches the kernel; returns before it is done. Arguments may be given by name where names are known."""
        if named:
            args = self._packer.in_order(args, named)
        recorder = capturing.current()
        if recorder is not None:
            recorder.hold(args)
        packed = self._packer.pack(args)
        dims = self.dims(grid, block, shared_bytes)
        if stream is None:
            self.submit(packed, dims[0], dims[1], shared_bytes)
        else:
            self.submit(packed, dims[0], dims[1], shared_bytes, stream_handle(stream, self._driver))
            for value in args:
                memory = value if isinstance(value, DeviceMemory) else getattr(value, "memory", None)
                if isinstance(memory, DeviceMemory):
                    memory.used_on(stream)

    def pack(self, *args: Any, **named: Any) -> bytes:
        """The argument block that a launch with these arguments would pass."""
        return self._packer.pack(self._packer.in_order(args, named) if named else args)

    @property
    def pack_values(self) -> Callable[..., bytes]:
        """Packs addresses and scalars that are encoded already: no check, for callers that made them."""
        return self._packer.pack_values

    @property
    def pointers(self) -> tuple[tuple[int, int], ...]:
        """The numbers of the arguments that are addresses, and at which byte of the block each lies."""
        return self._pointers

    def launch_packed(
        self,
        packed: bytes,
        *,
        grid: DimLike,
        block: DimLike,
        shared_bytes: int = 0,
        stream: Stream | None = None,
        early: bool = False,
    ) -> None:
        """Launches with an argument block made elsewhere, filled with zeros to the kernel's size. Its pointers are not
        checked.

        `early` lets a kernel that waits for the launch ahead by an instruction begin while that one runs. What it does
        before that instruction must need nothing of the launch ahead, which must not itself be early: then all that
        came before it has ended.
        """
        whole, dims = self.whole_block(packed), self.dims(grid, block, shared_bytes)
        handle = 0 if stream is None else stream_handle(stream, self._driver)
        self.submit(whole, dims[0], dims[1], shared_bytes, handle, early and self.kernel.awaits)

    def whole_block(self, packed: bytes) -> bytes:
        """An argument block filled with zeros to the kernel's size. Raises ArgumentError for one that is too short."""
        needed = self.kernel.explicit_bytes
        if len(packed) < needed:
            raise ArgumentError(
                f"launch {self.name}: an argument block of {len(packed)} bytes came, the kernel reads {needed}; "
                "pack all arguments"
            )
        return packed.ljust(self._packer.nbytes, b"\0")

    def dims(self, grid: DimLike, block: DimLike, shared_bytes: int = 0) -> tuple[Dims, Dims]:
        """A geometry that the kernel and the device can run. Raises LaunchError for another."""
        try:
            return self._geometries[grid, block, shared_bytes]
        except (KeyError, TypeError):  # not seen yet, or a list
            return self._check(grid, block, shared_bytes)

    def submit(
        self, packed: bytes, grid: Dims, block: Dims, shared_bytes: int = 0, stream: int = 0, early: bool = False
    ) -> None:
        """Launches what was checked before: an argument block of the kernel's size, a geometry that it ran with."""
        if self.module.is_closed:
            raise self._closed()
        recorder = capturing.current()
        if recorder is not None:
            recorder.launch(self, packed, grid, block, shared_bytes)
            return
        tracing = trace.active
        if tracing is None:
            self._driver.launch(self._handle, grid, block, shared_bytes, stream, packed, early)
            return
        with tracing.timed(self.name, self._driver, stream):
            self._driver.launch(self._handle, grid, block, shared_bytes, stream, packed, early)

    def _closed(self) -> ClosedError:
        return ClosedError(f"launch {self.name}: its module is closed; load it again")

    def prepare(self, packed: bytes, grid: Dims, block: Dims, pointers: Sequence[int]) -> Again:
        """What makes a launch that submit() made again, with other addresses for the arguments of those numbers."""
        if self.module.is_closed:
            raise self._closed()
        module, places = self.module, [self._packer.slots[n].argument.offset for n in pointers]
        launch = self._driver.prepare(self._handle, grid, block, packed, places)

        def again(addresses: Sequence[int]) -> None:
            if trace.active is None and not module.is_closed:
                launch(addresses)
            else:
                self.submit(with_addresses(packed, places)(addresses), grid, block)

        return again

    def _check(self, grid: DimLike, block: DimLike, shared_bytes: int) -> tuple[Dims, Dims]:
        geometry = sizes(grid, "grid"), sizes(block, "block")
        check_geometry(self.kernel, self._driver.info, *geometry, shared_bytes)
        if len(self._geometries) >= _REMEMBERED_GEOMETRIES:
            self._geometries.clear()
        if isinstance(grid, Hashable) and isinstance(block, Hashable):
            self._geometries[grid, block, shared_bytes] = geometry
        return geometry

    def __repr__(self) -> str:
        return f"Function({self.signature} on {self.module.device.name})"


def check_geometry(kernel: Kernel, info: DeviceInfo, grid: Dims, block: Dims, shared_bytes: int) -> None:
    """Raises LaunchError if the kernel or the device can't run that grid, block and dynamic LDS size."""
    where = f"launch {kernel.name}:"
    for what, dims, limit in (("grid", grid, info.max_grid), ("block", block, info.max_block)):
        for axis, n, most in zip("xyz", dims, limit, strict=True):
            if not 1 <= n <= most:
                raise LaunchError(f"{where} {what}.{axis} is {n}; {info.name} takes 1 to {most}")
    threads = block[0] * block[1] * block[2]
    most_threads = min(kernel.max_threads_per_block, info.max_threads_per_block)
    if threads > most_threads:
        raise LaunchError(
            f"{where} block {block} has {threads} threads, the kernel takes at most {most_threads}; use a smaller block"
        )
    if kernel.required_block is not None and block != kernel.required_block:
        raise LaunchError(
            f"{where} block is {block}, the kernel was compiled for exactly {kernel.required_block}; use that block"
        )
    for axis, groups, size in zip("xyz", grid, block, strict=True):
        if groups * size > _LARGEST_AXIS:
            raise LaunchError(
                f"{where} grid.{axis} × block.{axis} is {groups} × {size} = {groups * size} work-items, 2³² − 1 is the "
                "most; use a smaller grid and a grid-stride loop"
            )
    if not isinstance(shared_bytes, int):
        raise LaunchError(f"{where} shared_bytes is {shared_bytes!r}; give an integer")
    lds = kernel.lds_size + shared_bytes
    if shared_bytes < 0 or lds > info.lds_bytes:
        raise LaunchError(
            f"{where} {kernel.lds_size} bytes of LDS in the kernel + shared_bytes={shared_bytes} is {lds}, "
            f"{info.name} has {info.lds_bytes}; ask for at most {info.lds_bytes - kernel.lds_size}"
        )
