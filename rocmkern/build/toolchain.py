"""Compilers from `.hip` to code object: hipcc where ROCm is installed, else the clang in zig's wheel."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import shutil
import subprocess
import tempfile
from collections.abc import Hashable
from functools import cached_property
from pathlib import Path
from typing import Literal, Protocol

from attrs import field, frozen

from rocmkern.build import device_library
from rocmkern.errors import BuildError
from rocmkern.kernels import compile_flags
from rocmkern.targets import is_ptx

Name = Literal["auto", "hipcc", "zig"]


class Toolchain(Hashable, Protocol):
    """A compiler. `source` is given relative to `root`, for the same bytes in any checkout; `extra` are flags."""

    @property
    def identity(self) -> str: ...  # of these very files, without asking them
    @property
    def compiler(self) -> str: ...  # what is noted of a code object, free of paths
    def library(self, target: str) -> str: ...  # the device library, by content
    def flags(self, target: str) -> tuple[str, ...]: ...
    def compile(self, root: Path, source: str, target: str, output: Path, extra: tuple[str, ...] = ()) -> None: ...


def _run(command: list[str], root: Path, what: str) -> str:
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"build {what}: the compiler answers {done.returncode}\n{done.stderr.strip()}")
    return done.stdout


def _require_linked(ptx: Path, what: str) -> None:
    missing = sorted(set(re.findall(r"^\.extern \.func.*?\b(__nv_\w+)", ptx.read_text(), re.MULTILINE)))
    if missing:
        raise BuildError(
            f"build {what}: it calls {', '.join(missing[:3])}, and no libdevice.10.bc is here; "
            "install it with `pip install nvidia-nvvm`, or install CUDA"
        )


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _identity(path: Path) -> str:
    at = path.stat()
    return f"{path} {at.st_size} {at.st_mtime_ns}"


@frozen(slots=False)
class Hipcc:
    """ROCm's own driver. It finds the device library itself."""

    path: Path

    @property
    def identity(self) -> str:
        return _identity(self.path)

    def library(self, target: str) -> str:
        return "of the ROCm installation"

    @cached_property
    def compiler(self) -> str:
        lines = _run([str(self.path), "--version"], Path.cwd(), "version").splitlines()
        return next((line for line in lines if "clang version" in line), lines[0]).split("(")[0].strip()

    def flags(self, target: str) -> tuple[str, ...]:
        return compile_flags.hipcc(target)

    def compile(self, root: Path, source: str, target: str, output: Path, extra: tuple[str, ...] = ()) -> None:
        if is_ptx(target):
            raise BuildError(f"build {target}: hipcc makes code for AMD GPUs only; use `--toolchain zig`")
        _run(
            [str(self.path), *self.flags(target), *extra, source, "-o", str(output)],
            root,
            f"{source} for {target}",
        )


@frozen(slots=False)
class Zig:
    """clang and lld inside the `ziglang` wheel, in three steps: its one-step driver link needs files it lacks."""

    path: Path
    release: str = field(default="")

    @property
    def identity(self) -> str:
        return _identity(self.path)

    @cached_property
    def compiler(self) -> str:
        first = _run([str(self.path), "clang", "--version"], Path.cwd(), "version").splitlines()[0]
        return f"{first.split('(')[0].strip()} (ziglang {self.release})"

    def library(self, target: str) -> str:
        if not is_ptx(target):
            return f"ocml {_digest(device_library.ocml())}"
        found = device_library.libdevice()
        return f"libdevice {_digest(found)}" if found else "none"

    def flags(self, target: str) -> tuple[str, ...]:
        return compile_flags.zig(target)

    def compile(self, root: Path, source: str, target: str, output: Path, extra: tuple[str, ...] = ()) -> None:
        what = f"{source} for {target}"
        clang = [str(self.path), "clang"]
        with tempfile.TemporaryDirectory() as scratch:
            if is_ptx(target):
                found = device_library.libdevice()
                link = ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(found)] if found else []
                _run([*clang, *compile_flags.front_end(target), *extra, *link, source, "-o", str(output)], root, what)
                _require_linked(output, what)
                return
            bitcode, unlinked, controls = (str(Path(scratch) / n) for n in ("k.bc", "k.o", "controls.bc"))
            text = Path(scratch) / "controls.ll"
            text.write_text(device_library.control_constants(target, compile_flags.code_object_version(target)))
            amd = ["-target", "amdgcn-amd-amdhsa", "-nogpulib", "-x", "ir"]
            _run([*clang, *amd, "-emit-llvm", "-c", str(text), "-o", controls], root, what)
            libraries = (str(device_library.ocml()), controls)
            link = [word for path in libraries for word in ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", path)]
            to_bitcode = [*compile_flags.front_end(target), *extra, "-emit-llvm", "-c", source, "-o", bitcode]
            _run([*clang, *to_bitcode, *link], root, what)
            to_object = [*amd, f"-mcpu={target}", *compile_flags.TO_OBJECT, "-c"]
            _run([*clang, *to_object, bitcode, "-o", unlinked], root, what)
            _run([str(self.path), "ld.lld", "-shared", "--no-undefined", unlinked, "-o", str(output)], root, what)


def _find_zig() -> Zig | None:
    spec = importlib.util.find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        return None
    from importlib.metadata import version

    return Zig(Path(spec.submodule_search_locations[0]) / "zig", version("ziglang"))


def _find_hipcc() -> Hipcc | None:
    found = shutil.which("hipcc") or shutil.which("/opt/rocm/bin/hipcc")
    return Hipcc(Path(found)) if found else None


def detect(name: Name = "auto") -> Toolchain:
    """The toolchain of that name; by default hipcc if it is installed, else zig's. Raises BuildError without one."""
    finders = {"hipcc": (_find_hipcc,), "zig": (_find_zig,), "auto": (_find_hipcc, _find_zig)}[name]
    for find in finders:
        found = find()
        if found is not None:
            return found
    wanted = "hipcc or ziglang" if name == "auto" else {"hipcc": "hipcc", "zig": "ziglang"}[name]
    raise BuildError(f"build: no {wanted} here; install ROCm, or `pip install rocmkern[build]`")
