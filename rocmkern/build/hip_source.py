"""Compiling HIP and CUDA sources of other people: with HIP's headers, and with what the source says of its kernels'
arguments in the file.

Where ROCm is installed its own headers serve. Zig's clang has none, so the package brings some (`hip_include/`); C's
and C++'s headers are those in zig's wheel, as an ordinary compilation with zig has them.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Final

import attrs
from attrs import frozen

import rocmkern
from rocmkern.build import argument_types, toolchain
from rocmkern.build.toolchain import Hipcc, Toolchain, Zig, run
from rocmkern.kernels import compile_flags
from rocmkern.locks import lazy
from rocmkern.targets import is_ptx

HEADERS: Final = Path(rocmkern.__file__).resolve().parent / "hip_include"

# What zig itself passes to clang for a glibc that every Linux of the last years has.
_LIBRARY_DEFINES: Final = (
    "__GLIBC_MINOR__=28", "_LIBCPP_ABI_VERSION=1", "_LIBCPP_ABI_NAMESPACE=__1", "_LIBCPP_HAS_THREADS=1",
    "_LIBCPP_HAS_MONOTONIC_CLOCK=1", "_LIBCPP_HAS_TERMINAL=1", "_LIBCPP_HAS_MUSL_LIBC=0",
    "_LIBCXXABI_DISABLE_VISIBILITY_ANNOTATIONS", "_LIBCPP_DISABLE_VISIBILITY_ANNOTATIONS",
    "_LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS=0", "_LIBCPP_HAS_FILESYSTEM=1", "_LIBCPP_HAS_RANDOM_DEVICE=1",
    "_LIBCPP_HAS_LOCALIZATION=1", "_LIBCPP_HAS_UNICODE=1", "_LIBCPP_HAS_WIDE_CHARACTERS=1",
    "_LIBCPP_HAS_NO_STD_MODULES", "_LIBCPP_HAS_TIME_ZONE_DATABASE=1", "_LIBCPP_PSTL_BACKEND_SERIAL",
    "_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_NONE",
    "_LIBCPP_ASSERTION_SEMANTIC_DEFAULT=_LIBCPP_ASSERTION_SEMANTIC_IGNORE",
)  # fmt: skip

_BITCODE: Final = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")  # how files of it begin
_INCLUDE: Final = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


def headers(zig: Zig) -> tuple[str, ...]:
    """The flags that find HIP's, C++'s and C's headers, and include what every source may take for granted."""
    library, machine = zig.path.parent / "lib", "x86" if platform.machine() == "x86_64" else platform.machine()
    folders = (
        HEADERS, library / "libcxx/include", library / "libcxxabi/include", library / "include",
        library / f"libc/include/{machine}-linux-gnu", library / "libc/include/generic-glibc",
        library / f"libc/include/{machine}-linux-any", library / "libc/include/any-linux-any",
    )  # fmt: skip
    found = (word for folder in folders for word in ("-isystem", str(folder)))
    defines = (f"-D{name}" for name in _LIBRARY_DEFINES)
    return ("-nostdinc", *found, *defines, "-include", "rocmkern/prelude.h")


@frozen(slots=False)
class ZigForSources:
    """Zig's clang with the package's headers. The code object names and types its kernels' arguments."""

    _notes: ClassVar = ("-fhip-kernel-arg-name", "-mprintf-kind=buffered", "-g")

    zig: Zig

    @property
    def identity(self) -> str:
        return f"{self.zig.identity} with headers"

    @lazy
    def compiler(self) -> str:
        return self.zig.compiler

    def library(self, target: str) -> str:
        return self.zig.library(target)

    def flags(self, target: str) -> tuple[str, ...]:
        return (*self.zig.flags(target), *(() if is_ptx(target) else self._notes))

    def compile(self, root: Path, source: str, target: str, output: Path, extra: tuple[str, ...] = ()) -> str:
        if is_ptx(target):
            return self.zig.compile(root, source, target, output, extra)
        with tempfile.TemporaryDirectory() as scratch:
            text, said = self._text(scratch, root, source, target, extra)
            self.zig.link(scratch, str(text), target, output, *(() if "-g" in extra else ("--strip-debug",)))
        return said

    def to_bitcode(self, root: Path, source: str, target: str, output: Path, extra: tuple[str, ...] = ()) -> str:
        """Compiles one source of several that call each other's device functions. Returns the warnings."""
        with tempfile.TemporaryDirectory() as scratch:
            unit = hashlib.sha256((root / source).read_bytes() + source.encode()).hexdigest()[:16]
            text, said = self._text(scratch, root, source, target, ("-fgpu-rdc", f"-cuid={unit}", *extra))
            command = [str(self.zig.path), "clang", *toolchain.AMD_IR, f"-mcpu={target}", "-emit-llvm"]
            run([*command, "-Xclang", "-disable-llvm-passes", "-c", str(text), "-o", str(output)], root, source)
        return said

    def link_bitcode(self, pieces: Sequence[Path], target: str, output: Path) -> None:
        """Makes a code object of what to_bitcode() made, or of LLVM's text. Raises BuildError for what none defines."""
        for piece in pieces:
            if piece.read_bytes()[:4] not in _BITCODE:
                command = [str(self.zig.path), "clang", *toolchain.AMD_IR, f"-mcpu={target}", "-emit-llvm"]
                run([*command, "-c", str(piece), "-o", str(piece)], Path.cwd(), piece.name)
        command = [str(self.zig.path), "ld.lld", "-shared", "--no-undefined", "--strip-debug"]
        command += [f"-plugin-opt=mcpu={target}", *map(str, pieces), "-o", str(output)]
        run(command, Path.cwd(), f"for {target}")

    def _text(self, scratch: str, root: Path, source: str, target: str, extra: tuple[str, ...]) -> tuple[Path, str]:
        """LLVM's text of a source, with notes of its kernels' arguments, and the warnings."""
        command = [str(self.zig.path), "clang", *compile_flags.front_end(target, is_strict=False), *self._notes]
        text = Path(scratch) / "k.ll"
        command += [*headers(self.zig), *extra, "-emit-llvm", "-S", source, "-o", str(text)]
        done = run([*command, *self.zig.libraries(scratch, target)], root, f"{source} for {target}")
        text.write_text(argument_types.noted(text.read_text()))
        return text, done.stderr


def compiler(name: toolchain.Name = "auto") -> Toolchain:
    """The compiler of that name for other people's sources. Raises BuildError where there is none."""
    found = toolchain.detect(name)
    if isinstance(found, Zig):
        return ZigForSources(attrs.evolve(found, is_strict=False))
    return attrs.evolve(found, is_strict=False) if isinstance(found, Hipcc) else found


def flags_for(source: str | Path) -> tuple[str, ...]:
    """What a source needs that says so by its name: CUDA's compiler includes its header by itself."""
    return ("-include", "cuda_runtime.h") if Path(source).suffix == ".cu" else ()


def local_headers(path: Path, options: tuple[str, ...] = ()) -> list[Path]:
    """The headers in quotes that a file includes, and theirs, as far as they lie beside it or in folders of `-I`."""
    folders = [Path(option[2:]) for option in options if option.startswith("-I") and len(option) > 2]
    found, waiting = dict[Path, None](), [path]
    while waiting:
        here = waiting.pop()
        for name in _INCLUDE.findall(here.read_text(errors="replace")):
            places = (Path(os.path.normpath(folder / name)) for folder in (here.parent, *folders))
            header = next((place for place in places if place.is_file()), None)
            if header is not None and header not in found:
                found[header] = None
                waiting.append(header)
    return list(found)
