"""Compilers from `.hip` to code object: hipcc where ROCm is installed, else the clang in zig's wheel."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import shutil
import subprocess
import tempfile
from collections.abc import Hashable
from pathlib import Path
from typing import Final, Literal, Protocol

from attrs import field, frozen

from rocmkern.build import device_library
from rocmkern.errors import BuildError
from rocmkern.kernels import compile_flags
from rocmkern.locks import lazy
from rocmkern.targets import is_ptx

Name = Literal["auto", "hipcc", "zig"]
_UNKNOWN_TARGET: Final = re.compile(r"(?:unsupported HIP gpu architecture: |invalid target ID ')(\w+)")
AMD_IR: Final = ("-target", "amdgcn-amd-amdhsa", "-nogpulib", "-x", "ir")


class Toolchain(Hashable, Protocol):
    """A compiler. `source` is given relative to `root`, for the same bytes in any checkout; `extra` are flags.
    Compiling returns the compiler's warnings.
    """

    @property
    def identity(self) -> str: ...  # of these very files, without asking them
    @property
    def compiler(self) -> str: ...  # what is noted of a code object, free of paths
    def library(self, target: str) -> str: ...  # the device library, by content
    def flags(self, target: str) -> tuple[str, ...]: ...
    def compile(self, root: Path, source: str, target: str, output: Path, extra: tuple[str, ...] = ()) -> str: ...


def run(command: list[str], root: Path, what: str) -> subprocess.CompletedProcess[str]:
    """What a tool of the compiler says. Raises BuildError with its messages where it fails."""
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        if unknown := _UNKNOWN_TARGET.search(done.stderr):
            raise device_library.unknown_target(unknown[1])
        raise BuildError(f"build {what}: the compiler answers {done.returncode}", done.stderr)
    return done


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
    is_strict: bool = True  # with our own sources

    @property
    def identity(self) -> str:
        return _identity(self.path)

    def library(self, target: str) -> str:
        return "of the ROCm installation"

    @lazy
    def compiler(self) -> str:
        lines = run([str(self.path), "--version"], Path.cwd(), "version").stdout.splitlines()
        return next((line for line in lines if "clang version" in line), lines[0]).split("(")[0].strip()

    def flags(self, target: str) -> tuple[str, ...]:
        return compile_flags.hipcc(target, is_strict=self.is_strict)

    def compile(self, root: Path, source: str, target: str, output: Path, extra: tuple[str, ...] = ()) -> str:
        if is_ptx(target):
            raise BuildError(f"build {target}: hipcc makes code for AMD GPUs only; use `--toolchain zig`")
        command = [str(self.path), *self.flags(target), *extra, source, "-o", str(output)]
        return run(command, root, f"{source} for {target}").stderr


@frozen(slots=False)
class Zig:
    """clang and lld inside the `ziglang` wheel, in three steps: its one-step driver link needs files it lacks."""

    path: Path
    release: str = field(default="")
    is_strict: bool = True  # with our own sources

    @property
    def identity(self) -> str:
        return _identity(self.path)

    @lazy
    def compiler(self) -> str:
        first = run([str(self.path), "clang", "--version"], Path.cwd(), "version").stdout.splitlines()[0]
        return f"{first.split('(')[0].strip()} (ziglang {self.release})"

    def library(self, target: str) -> str:
        if not is_ptx(target):
            return f"ocml {_digest(device_library.ocml())}"
        found = device_library.libdevice()
        return f"libdevice {_digest(found)}" if found else "none"

    def flags(self, target: str) -> tuple[str, ...]:
        return compile_flags.zig(target, is_strict=self.is_strict)

    def compile(self, root: Path, source: str, target: str, output: Path, extra: tuple[str, ...] = ()) -> str:
        what = f"{source} for {target}"
        clang = [str(self.path), "clang"]
        with tempfile.TemporaryDirectory() as scratch:
            if is_ptx(target):
                found = device_library.libdevice()
                link = ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(found)] if found else []
                done = run(
                    [
                        *clang,
                        *compile_flags.front_end(target, is_strict=self.is_strict),
                        *extra,
                        *link,
                        source,
                        "-o",
                        str(output),
                    ],
                    root,
                    what,
                )
                _require_linked(output, what)
                return done.stderr
            bitcode = str(Path(scratch) / "k.bc")
            to_bitcode = [
                *compile_flags.front_end(target, is_strict=self.is_strict),
                *extra,
                "-emit-llvm",
                "-c",
                source,
                "-o",
                bitcode,
            ]
            done = run([*clang, *to_bitcode, *self.libraries(scratch, target)], root, what)
            self.link(scratch, bitcode, target, output)
        return done.stderr

    def libraries(self, scratch: str, target: str) -> list[str]:
        """The flags that link the device library and its control constants, which are compiled here."""
        text, controls = Path(scratch) / "controls.ll", Path(scratch) / "controls.bc"
        text.write_text(device_library.control_constants(target, compile_flags.code_object_version(target)))
        command = [str(self.path), "clang", *AMD_IR, "-emit-llvm", "-c", str(text), "-o", str(controls)]
        run(command, Path(scratch), target)
        files = (str(device_library.ocml()), str(controls))
        return [word for file in files for word in ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", file)]

    def link(self, scratch: str, bitcode: str, target: str, output: Path, *flags: str) -> None:
        """Makes the code object of optimised bitcode, or of its text."""
        unlinked = str(Path(scratch) / "k.o")
        to_object = [*AMD_IR, f"-mcpu={target}", *compile_flags.TO_OBJECT, "-c", bitcode, "-o", unlinked]
        run([str(self.path), "clang", *to_object], Path(scratch), f"for {target}")
        command = [str(self.path), "ld.lld", "-shared", "--no-undefined", *flags, unlinked, "-o", str(output)]
        run(command, Path(scratch), f"for {target}")


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
