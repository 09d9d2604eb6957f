"""Kernels that somebody's own package ships: found for a device, compiled where they are missing."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final

from attrs import define, field

from rocmkern import targets
from rocmkern.build import builder, hip_source, jit
from rocmkern.errors import BuildError, ModuleNotShipped, StaleCodeObject, TargetNotBuilt
from rocmkern.near import near
from rocmkern.paths import write_whole
from rocmkern.runtime import Device, Function, Module
from rocmkern.runtime.device import DeviceLike, open_device

__all__ = ["KernelLibrary"]

_SOURCES: Final = (".hip", ".cu")
_MADE_OF: Final = "made_of.json"


@define(eq=False)
class KernelLibrary:
    """The kernels of a package: sources in its folder `kernels`, and what `build` compiled of them.

    A file `kernels/saxpy.hip` is loaded from `kernels/<target>/saxpy.hsaco`, of the device's own target or the generic
    one that serves it. Where there is none, or one of another source, the source is compiled and kept in the user's
    cache. `package` is a name as `import` takes it; `KernelLibrary(__name__)` does in the package itself.
    """

    package: str
    _folder: Path = field(init=False, repr=False)
    _here: threading.local = field(init=False, repr=False, factory=threading.local)

    def __attrs_post_init__(self) -> None:
        self._folder = Path(str(files(self.package))) / "kernels"

    @property
    def names(self) -> tuple[str, ...]:
        """The files, as `get_kernel` takes them."""
        built = (path.stem for path in self._folder.glob("*/*.*") if path.suffix in (".hsaco", ".ptx"))
        return tuple(sorted({*self._sources(), *built}))

    def get_kernel(self, file: str, kernel: str, device: DeviceLike = None) -> Function:
        """The kernel of a file on `device` or the default device, from the calling thread's cache.

        Raises ModuleNotShipped for a file that is not there, KernelNotFound, TargetNotBuilt (each a LookupError);
        BuildError where its source does not compile, StaleCodeObject where it was changed and there is no compiler.
        """
        place = open_device(device)
        held: dict[tuple[int, str, str], Function] = self._here.__dict__.setdefault("functions", {})
        key = (id(place.driver), file, kernel)
        found = held.get(key)
        if found is None or found.module.is_closed:
            found = held[key] = self.module(file, place).get_function(kernel)
        return found

    def module(self, file: str, device: DeviceLike = None) -> Module:
        """The loaded code object of a file. Errors as those of `get_kernel`."""
        place = open_device(device)
        held: dict[tuple[int, str], Module] = self._here.__dict__.setdefault("modules", {})
        key = (id(place.driver), file)
        found = held.get(key)
        if found is None or found.is_closed:
            found = held[key] = Module.load_data(self._code(file, place), place, name=f"{self.package}'s {file}")
        return found

    def build(self, wanted: Sequence[str] = targets.BUILT) -> list[Path]:
        """Compiles every source for every target into the package's folder: for a wheel. Raises BuildError."""
        chosen, made = hip_source.compiler(), list[Path]()
        for name, source in self._sources().items():
            for target in wanted:
                output = self._folder / target / targets.file_name(name, target)
                builder.build_file(source, target, output, chosen, hip_source.flags_for(source))
                made.append(output)
        notes = {name: _digest(source) for name, source in self._sources().items()}
        write_whole(self._folder / _MADE_OF, json.dumps(notes, indent=1).encode() + b"\n")
        return made

    def _sources(self) -> dict[str, Path]:
        return {path.stem: path for path in sorted(self._folder.glob("*.*")) if path.suffix in _SOURCES}

    def _code(self, name: str, device: Device) -> bytes:
        source, arch = self._sources().get(name), device.info.arch
        if source is None and name not in self.names:
            raise ModuleNotShipped(f"load {name}: {self.package} has no such file; it has {near(name, self.names)}")
        is_current = source is None or self._made_of().get(name) == _digest(source)
        built = tuple(path.parent.name for path in self._folder.glob(f"*/{targets.file_name(name, arch)}"))
        served = next((t for t in targets.candidates(arch) if t in built), None)
        if served is not None and is_current:
            return (self._folder / served / targets.file_name(name, arch)).read_bytes()
        if source is None:
            raise TargetNotBuilt(
                f"load {self.package}'s {name}: no code for {arch}; built: {', '.join(sorted(built)) or 'nothing'}"
            )
        try:
            jit.compiler_for(device.info.target)
        except BuildError as error:
            if served is None:
                raise TargetNotBuilt(f"load {self.package}'s {name}: no code for {arch}; {error}") from None
            raise StaleCodeObject(f"load {self.package}'s {name}: its source was changed; {error}") from None
        return jit.compiled(source, device.info.target)

    def _made_of(self) -> dict[str, str]:
        path = self._folder / _MADE_OF
        found: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
        return found


def _digest(source: Path) -> str:
    """SHA-256 of a source and of the headers beside it."""
    digest = hashlib.sha256(source.read_bytes())
    for header in hip_source.local_headers(source):
        digest.update(header.read_bytes())
    return digest.hexdigest()
