"""HIP's calls for modules, kernels and the symbols of compiled programs."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from rocmkern import codeobject
from rocmkern.codeobject import CodeObject, Kernel
from rocmkern.drivers.hip import KernelNode
from rocmkern.drivers.protocol import Dims, KernelStep
from rocmkern.errors import (
    CodeObjectError,
    KernelAborted,
    KernelNotFound,
    KernelTimeout,
    MemoryFault,
    UnsupportedInstruction,
)
from rocmkern.hip_on_cpu import images
from rocmkern.hip_on_cpu.arguments import from_block, from_pointers, put
from rocmkern.hip_on_cpu.binding import INVALID_VALUE, NOT_FOUND, Status
from rocmkern.hip_on_cpu.state import INVALID_HANDLE, MODULE, Allocation, Launchable, Owned, State
from rocmkern.runtime.function import check_geometry

INVALID_SYMBOL: Final = 13
FAULTS: Final = (MemoryFault, KernelAborted, KernelTimeout, UnsupportedInstruction)
INVALID_FUNCTION: Final = 98
RESIDENT, BLOCKS = 2048, 32  # threads and blocks that a compute unit takes


@frozen(eq=False)
class Module:
    """Code on a device, and what is added to its addresses there."""

    device: int
    handle: int
    code: CodeObject
    base: int


class _Symbol(ctypes.Structure):
    """`struct rk_symbol`."""

    _fields_ = [("host", ctypes.c_void_p), ("name", ctypes.c_char_p), ("image", ctypes.c_void_p)]


class _Attributes(ctypes.Structure):
    """`hipFuncAttributes`."""

    _fields_ = [
        ("binary", ctypes.c_int), ("cache", ctypes.c_int), ("constant_bytes", ctypes.c_size_t),
        ("local_bytes", ctypes.c_size_t), ("most_shared_bytes", ctypes.c_int), ("threads", ctypes.c_int),
        ("registers", ctypes.c_int), ("carveout", ctypes.c_int), ("ptx", ctypes.c_int),
        ("shared_bytes", ctypes.c_size_t),
    ]  # fmt: skip


class ProgramCalls(State):
    """The part of `Calls` that is about code."""

    def hipModuleLoad(self, module: int, path: int) -> None:
        self._load(module, Path(ctypes.string_at(path).decode()).read_bytes())

    def hipModuleLoadData(self, module: int, image: int) -> None:
        if not image:
            raise Status(INVALID_VALUE)
        self._load(module, images.at(image))

    def hipModuleLoadDataEx(self, module: int, image: int, count: int, options: int, values: int) -> None:
        self.hipModuleLoadData(module, image)

    def _load(self, module: int, data: bytes) -> None:
        put(module, self._keep(self._loaded(data)))

    def _loaded(self, data: bytes) -> Module:
        driver = self._driver
        code = codeobject.read(data, self._architecture(self._device))
        if code.undefined_symbols:
            raise CodeObjectError(f"load: symbols that nothing defines: {', '.join(code.undefined_symbols)}")
        handle = driver.load_module(code.image)
        base = driver._modules[handle].program.base
        module = Module(self._device, handle, code, base)
        self._know(Allocation(self._device, base, max(s.address + s.memory_size for s in code.segments), MODULE))
        return module

    def hipModuleUnload(self, module: int) -> None:
        found = self._held(module, Module)
        self._drop(module)
        self._forget(found.base)
        self.drivers[found.device].unload_module(found.handle)

    def hipModuleGetFunction(self, function: int, module: int, name: int) -> None:
        put(function, self._keep(self._kernel(self._held(module, Module), ctypes.string_at(name).decode())))

    def _kernel(self, module: Module, name: str) -> Launchable:
        kernel = module.code.kernels.get(name)
        if kernel is None:
            raise KernelNotFound(f"no kernel {name!r}; the module has {', '.join(module.code.kernels) or 'none'}")
        return Launchable(module.device, self.drivers[module.device].function(module.handle, name), kernel)

    def hipModuleGetGlobal(self, address: int, nbytes: int, module: int, name: int) -> None:
        place, size = _variable(self._held(module, Module), ctypes.string_at(name).decode())
        if address:
            put(address, place)
        if nbytes:
            put(nbytes, size, ctypes.c_size_t)

    # Compiled programs: what a host address stands for is looked up on the current device, whose code is loaded then.

    def _registered_as(self, host: int | None, status: int) -> tuple[Module, str]:
        found = self.library.rk_symbol(host)
        if not found:
            raise Status(status)
        symbol = _Symbol.from_address(found)
        return self._module_of(symbol.image), symbol.name.decode()

    def _module_of(self, image: int) -> Module:
        key = self._device, image
        if key not in self._programs:
            self._programs[key] = module = self._loaded(images.at(image))
            for place, pointer in self._managed(image, module):
                ctypes.c_uint64.from_address(place).value = pointer
        found: Module = self._programs[key]
        return found

    def _managed(self, image: int, module: Module) -> Iterator[tuple[int, int]]:
        """Where code has the pointer to a managed variable, and the address that goes there."""
        number = 0
        while found := self.library.rk_managed(image, number):
            symbol = _Symbol.from_address(found)
            yield _variable(module, symbol.name.decode())[0], ctypes.c_uint64.from_address(symbol.host).value
            number += 1

    def hipGetFuncBySymbol(self, function: int, symbol: int) -> None:
        put(function, self._function_of(symbol))

    def _function_of(self, symbol: int) -> int:
        key = self._device, symbol
        if key not in self._functions:
            self._functions[key] = self._keep(self._kernel(*self._registered_as(symbol, INVALID_FUNCTION)))
        return self._functions[key]

    def hipGetSymbolAddress(self, address: int, symbol: int) -> None:
        put(address, self._symbol(symbol)[0])

    def hipGetSymbolSize(self, nbytes: int, symbol: int) -> None:
        put(nbytes, self._symbol(symbol)[1], ctypes.c_size_t)

    def _symbol(self, symbol: int) -> tuple[int, int]:
        """A variable's place on the current device, and its size."""
        return _variable(*self._registered_as(symbol, INVALID_SYMBOL))

    def _within(self, symbol: int, offset: int, nbytes: int) -> int:
        place, size = self._symbol(symbol)
        if offset + nbytes > size:
            raise Status(INVALID_VALUE)
        return place + offset

    def hipMemcpyToSymbol(self, symbol: int, source: int, nbytes: int, offset: int, kind: int) -> None:
        self._copy(self._within(symbol, offset, nbytes), source, nbytes, None)

    def hipMemcpyFromSymbol(self, to: int, symbol: int, nbytes: int, offset: int, kind: int) -> None:
        self._copy(to, self._within(symbol, offset, nbytes), nbytes, None)

    def hipMemcpyToSymbolAsync(
        self, symbol: int, source: int, nbytes: int, offset: int, kind: int, stream: int
    ) -> None:
        self._copy(self._within(symbol, offset, nbytes), source, nbytes, stream)

    def hipMemcpyFromSymbolAsync(self, to: int, symbol: int, nbytes: int, offset: int, kind: int, stream: int) -> None:
        self._copy(to, self._within(symbol, offset, nbytes), nbytes, stream)

    # Launches.

    def hipModuleLaunchKernel(
        self, function: int, grid_x: int, grid_y: int, grid_z: int, block_x: int, block_y: int, block_z: int,
        shared_bytes: int, stream: int, arguments: int, extra: int,
    ) -> None:  # fmt: skip
        found = self._launchable(function)
        driver, handle = (self.drivers[found.device], 0) if not stream else self._stream(stream)
        grid, block = (grid_x, grid_y, grid_z), (block_x, block_y, block_z)
        self._require_fitting(found, grid, block, shared_bytes)
        packed = from_block(extra) if extra else from_pointers(found.kernel, arguments)
        try:
            driver.launch(found.handle, grid, block, shared_bytes, handle, packed)
        except FAULTS as error:  # a program hears of it when it waits, as it would of a GPU's
            driver.keep_error(error)

    def hipModuleLaunchCooperativeKernel(self, function: int, *geometry_and_arguments: int) -> None:
        self.hipModuleLaunchKernel(function, *geometry_and_arguments, 0)  # type: ignore[call-arg]

    def hipExtModuleLaunchKernel(
        self, function: int, threads_x: int, threads_y: int, threads_z: int, block_x: int, block_y: int, block_z: int,
        shared_bytes: int, stream: int, arguments: int, extra: int, start: int, stop: int, flags: int,
    ) -> None:  # fmt: skip
        threads, block = (threads_x, threads_y, threads_z), (block_x, block_y, block_z)
        if any(not size or count % size for count, size in zip(threads, block, strict=True)):
            raise Status(INVALID_VALUE)
        x, y, z = (count // size for count, size in zip(threads, block, strict=True))
        self._record(start, stream)
        self.hipModuleLaunchKernel(function, x, y, z, *block, shared_bytes, stream, arguments, extra)
        self._record(stop, stream)

    def _record(self, event: int, stream: int) -> None:
        if event:
            driver, handle = self._stream(stream)
            driver.record_event(self._held(event, Owned).handle, handle)

    # What kernels take.

    def _either(self, function: int) -> Kernel:
        """The kernel of a handle, or of a function of the program."""
        return self._launchable(function if function in self._owned else self._function_of(function)).kernel

    def hipFuncGetAttributes(self, attributes: int, function: int) -> None:
        kernel, info = self._either(function), self._driver.info
        written = _Attributes.from_address(attributes)
        ctypes.memset(attributes, 0, ctypes.sizeof(written))
        written.local_bytes, written.shared_bytes = kernel.private_size, kernel.lds_size
        written.most_shared_bytes = info.lds_bytes - kernel.lds_size
        written.threads, written.registers = kernel.max_threads_per_block, kernel.vgprs
        written.binary = written.ptx = 90

    def hipFuncGetAttribute(self, value: int, attribute: int, function: int) -> None:
        kernel, info = self._either(function), self._driver.info
        known = {
            0: kernel.max_threads_per_block, 1: kernel.lds_size, 2: 0, 3: kernel.private_size, 4: kernel.vgprs, 5: 90,
            6: 90, 7: 0, 8: info.lds_bytes - kernel.lds_size, 9: 0,
        }  # fmt: skip
        if attribute not in known:
            raise Status(INVALID_VALUE)
        put(value, known[attribute], ctypes.c_int)

    def hipFuncSetAttribute(self, function: int, attribute: int, value: int) -> None:
        self._either(function)

    def hipFuncSetCacheConfig(self, function: int, config: int) -> None:
        self._either(function)

    hipFuncSetSharedMemConfig = hipFuncSetCacheConfig

    def hipOccupancyMaxActiveBlocksPerMultiprocessor(
        self, blocks: int, function: int, threads: int, shared_bytes: int
    ) -> None:
        put(blocks, self._resident(self._either(function), threads, shared_bytes), ctypes.c_int)

    def hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        self, blocks: int, function: int, threads: int, shared_bytes: int, flags: int
    ) -> None:
        self.hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared_bytes)

    hipModuleOccupancyMaxActiveBlocksPerMultiprocessor = hipOccupancyMaxActiveBlocksPerMultiprocessor

    def hipOccupancyMaxPotentialBlockSize(
        self, blocks: int, threads: int, function: int, shared_bytes: int, most: int
    ) -> None:
        kernel, info = self._either(function), self._driver.info
        size = min(kernel.max_threads_per_block, info.max_threads_per_block, most or info.max_threads_per_block)
        put(threads, size, ctypes.c_int)
        put(blocks, self._resident(kernel, size, shared_bytes) * info.compute_units, ctypes.c_int)

    hipModuleOccupancyMaxPotentialBlockSize = hipOccupancyMaxPotentialBlockSize

    def _resident(self, kernel: Kernel, threads: int, shared_bytes: int) -> int:
        """Blocks of a compute unit at a time, by threads and LDS; registers are not counted."""
        info = self._driver.info
        if not 0 < threads <= kernel.max_threads_per_block:
            raise Status(INVALID_VALUE)
        lds = kernel.lds_size + shared_bytes
        waves = -(-threads // info.wave_size)
        return min(BLOCKS, RESIDENT // (waves * info.wave_size), info.lds_bytes // lds if lds else BLOCKS)

    def _launchable(self, function: int) -> Launchable:
        found = self._owned.get(function)
        if found.__class__ is not Launchable:
            raise Status(INVALID_HANDLE)
        return found

    def _require_fitting(self, found: Launchable, grid: Dims, block: Dims, shared_bytes: int) -> None:
        if (grid, block, shared_bytes) not in found.fitting:
            check_geometry(found.kernel, self.drivers[found.device].info, grid, block, shared_bytes)
            found.fitting.add((grid, block, shared_bytes))

    def _kernel_step(self, node: KernelNode) -> KernelStep:
        found = self._launchable(node.function or 0)
        grid, block = dims(node.grid), dims(node.block)
        self._require_fitting(found, grid, block, node.shared_bytes)
        packed = from_block(node.extra) if node.extra else from_pointers(found.kernel, node.parameters or 0)
        return KernelStep(found.handle, grid, block, node.shared_bytes, packed)


def _variable(module: Module, name: str) -> tuple[int, int]:
    """Where a module's variable lies, and its size."""
    if name not in module.code.symbols:
        raise Status(NOT_FOUND)
    place, size = module.code.symbols[name]
    return module.base + place, size


def dims(sizes: Any) -> Dims:
    x, y, z = sizes
    return int(x), int(y), int(z)
