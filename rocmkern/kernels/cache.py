"""Kernels of the package by family and symbol, each loaded once a thread."""

from __future__ import annotations

import threading

from attrs import define, field

from rocmkern import targets
from rocmkern.errors import ArgumentError
from rocmkern.kernels import families, instance_files, shipped
from rocmkern.runtime import Device, Function, Module
from rocmkern.runtime.device import DeviceLike, open_device


@define(eq=False)
class KernelCache:
    """(device, family) → Module and (device, symbol) → Function. Belongs to one thread, so looking up takes no lock."""

    _modules: dict[tuple[Device, str], Module] = field(init=False, factory=dict)
    _functions: dict[tuple[int, str, str], Function] = field(init=False, factory=dict)

    @staticmethod
    def current() -> KernelCache:
        """The calling thread's cache."""
        cache: KernelCache | None = getattr(_local, "cache", None)
        if cache is None:
            cache = _local.cache = KernelCache()
        return cache

    def function(self, family: str, symbol: str, device: Device) -> Function:
        """The kernel `symbol` of `family` on `device`. Raises KernelNotFound with near matches."""
        key = (id(device.driver), family, symbol)
        found = self._functions.get(key)
        if found is None or found.module.is_closed:
            found = self._functions[key] = self._load(family, symbol, device)
        return found

    def module(self, family: str, device: Device) -> Module:
        """The loaded code object of `family` on `device`."""
        module = self._modules.get((device, family))
        if module is None or module.is_closed:
            arch = device.info.arch
            code, name = shipped.code(family, arch), targets.file_name(family, arch)
            module = self._modules[device, family] = Module.load_data(code, device, name=name)
        return module

    def _load(self, family: str, symbol: str, device: Device) -> Function:
        spec = families.family(family).by_symbol.get(symbol)
        instance = families.unshipped().get(symbol) if spec is None else None
        if instance is not None:
            path, code = instance_files.require(instance, device.info.arch)
            return Module.load_data(code, device, name=path.name).get_function(symbol, instance.parameters)
        return self.module(family, device).get_function(symbol, spec.parameters if spec is not None else None)

    def clear(self) -> None:
        """Forgets everything; modules are unloaded with their last function."""
        self._functions.clear()
        self._modules.clear()


_local = threading.local()


def get_kernel(family: str, symbol: str, device: DeviceLike = None) -> Function:
    """The packaged kernel `symbol` of `family`, on `device` or the default device, from the thread's cache.

    Raises ModuleNotShipped, TargetNotBuilt or KernelNotFound (each a LookupError).
    """
    if not isinstance(family, str) or not isinstance(symbol, str):
        raise ArgumentError(f"get_kernel: family {family!r} and symbol {symbol!r}; give two names")
    return KernelCache.current().function(family, symbol, open_device(device))
