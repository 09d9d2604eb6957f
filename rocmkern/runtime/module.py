"""A code object loaded on a device."""

from __future__ import annotations

import difflib
import os
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import define, field

from rocmkern import codeobject
from rocmkern.codeobject import MOST_BYTES, CodeObject, Kernel
from rocmkern.dtypes import BY_SHORT
from rocmkern.errors import ClosedError, CodeObjectError, KernelNotFound
from rocmkern.runtime.arguments import Parameter
from rocmkern.runtime.closing import Closing
from rocmkern.runtime.device import Device, DeviceLike, open_device
from rocmkern.runtime.function import Function


@define(eq=False, repr=False)
class Module(Closing):
    """A loaded code object. Make it with Module.load or Module.load_data."""

    device: Device
    code_object: CodeObject
    name: str = "module"
    is_closed: bool = field(init=False, default=False)
    _handle: int = field(init=False)
    _finalizer: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        undefined = self.code_object.undefined_symbols
        if undefined:
            raise CodeObjectError(
                f"load {self.name}: symbols that nothing defines: {', '.join(undefined)}; "
                "link the device libraries that hold them"
            )
        driver = self.device.driver
        self._handle = driver.load_module(self.code_object.image)
        self._finalizer = weakref.finalize(self, driver.retire, "unload_module", self._handle)

    @staticmethod
    def load(path: str | os.PathLike[str], device: DeviceLike = None, *, most_bytes: int = MOST_BYTES) -> Module:
        """Loads a file: a code object, or an offload bundle of which the device's part is taken.

        Raises FileNotFoundError, CodeObjectError if it can't be read or asks for more than `most_bytes` of memory
        beyond its size, TargetNotBuilt if it is for other devices.
        """
        return Module.load_data(Path(path).read_bytes(), device, name=Path(path).name, most_bytes=most_bytes)

    @staticmethod
    def load_data(
        data: bytes, device: DeviceLike = None, *, name: str = "module", most_bytes: int = MOST_BYTES
    ) -> Module:
        """Loads the bytes of such a file, which `name` names in messages."""
        device = open_device(device)
        return Module(device, codeobject.read(data, device.info.arch, most_bytes=most_bytes), name)

    @property
    def handle(self) -> int:
        if not self._finalizer.alive:
            raise ClosedError(f"module {self.name}: it is closed; load it again")
        return self._handle

    @property
    def kernels(self) -> dict[str, Kernel]:
        """What the module holds, with arguments, registers, LDS and wave size."""
        return self.code_object.kernels

    def get_function(self, name: str, parameters: Sequence[Parameter] | None = None) -> Function:
        """The kernel `name`, which may be the C++ name of just one; `parameters` declare names and dtypes, so that it
        takes Python numbers.

        Raises KernelNotFound with the names that come near.
        """
        kernel = self.kernels.get(name) or self._by_cpp_name(str(name))
        if kernel is None:
            raise KernelNotFound(self._not_found(str(name)))
        return Function(self, kernel, parameters)

    def _by_cpp_name(self, name: str) -> Kernel | None:
        found = [kernel for symbol, kernel in self.kernels.items() if symbol.startswith(f"_Z{len(name)}{name}")]
        return found[0] if len(found) == 1 else None

    def _not_found(self, name: str) -> str:
        stem = name.rsplit("_", 1)[0]
        dtypes = [short for short in BY_SHORT if f"{stem}_{short}" in self.kernels]
        near = difflib.get_close_matches(name, self.kernels, n=5, cutoff=0.5)
        if dtypes:
            hint = f"it has {stem} for {', '.join(dtypes)}"
        elif near:
            hint = f"did you mean {', '.join(near)}?"
        elif len(self.kernels) <= 8:
            hint = f"it has {', '.join(self.kernels) or 'no kernels'}"
        else:
            hint = f"it has {len(self.kernels)} kernels, listed by `rocmkern inspect`"
        return f"get_function: no kernel {name!r} in {self.name} for {self.code_object.target}; {hint}"

    def close(self) -> None:
        """Unloads the code. Again does nothing."""
        self.is_closed = True
        if self._finalizer.detach():
            self.device._driver.unload_module(self._handle)

    def __repr__(self) -> str:
        return f"Module({self.name}: {len(self.kernels)} kernels for {self.code_object.target} on {self.device.name})"
