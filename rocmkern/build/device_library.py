"""The device libraries that kernels call: ocml for AMDGPU with its control constants, libdevice for NVPTX."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from rocmkern.errors import BuildError
from rocmkern.near import near
from rocmkern.targets import BUILT, PTX, TARGETS, is_ptx

# Where a Python package keeps the bitcode, first the one that the `build` extra installs.
_OCML_PACKAGES: Final = (
    ("iree.compiler", "_mlir_libs/iree_platform_libs/rocm/ocml.bc"),
    ("triton", "backends/amd/lib/ocml.bc"),
)
_OCML_FILES: Final = ("/opt/rocm/amdgcn/bitcode/ocml.bc", "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode/ocml.bc")
_LIBDEVICE_PACKAGES: Final = (
    ("nvidia.cu13", "nvvm/libdevice/libdevice.10.bc"),
    ("nvidia.cuda_nvcc", "nvvm/libdevice/libdevice.10.bc"),
    ("triton", "backends/nvidia/lib/libdevice.10.bc"),
)
_LIBDEVICE_FILES: Final = ("/usr/local/cuda/nvvm/libdevice/libdevice.10.bc",)

_ISA_VERSIONS: Final[dict[str, int]] = {"gfx10-3-generic": 10300, "gfx11-generic": 11000, "gfx12-generic": 12000}


def _first(packages: tuple[tuple[str, str], ...], paths: tuple[str, ...]) -> Path | None:
    candidates = [Path(folder) / inside for package, inside in packages for folder in _package_folders(package)]
    return next((p for p in (*candidates, *map(Path, paths)) if p.is_file()), None)


def _package_folders(package: str) -> list[str]:
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        return []
    return list(spec.submodule_search_locations or ()) if spec else []


def ocml() -> Path:
    """The bitcode of AMD's maths library. Raises BuildError if it is nowhere."""
    found = _first(_OCML_PACKAGES, _OCML_FILES)
    if found is None:
        raise BuildError("build: no ocml.bc here; install it with `pip install rocmkern[build]`, or install ROCm")
    return found


def libdevice() -> Path | None:
    """The bitcode of NVIDIA's maths library, where it is installed; few kernels need it."""
    return _first(_LIBDEVICE_PACKAGES, _LIBDEVICE_FILES)


def isa_version(target: str) -> int:
    """The number that ocml compares: 9402 for gfx942, 9010 for gfx90a."""
    if target in _ISA_VERSIONS:
        return _ISA_VERSIONS[target]
    if not re.fullmatch(r"gfx\d{1,2}[0-9a-f]{2}", target):
        raise unknown_target(target)
    digits = target.removeprefix("gfx")
    return int(digits[:-2]) * 1000 + int(digits[-2], 16) * 100 + int(digits[-1], 16)


def unknown_target(target: str) -> BuildError:
    return BuildError(f"build: no target {target!r}; there are {near(target, (*BUILT, *TARGETS, *PTX))}")


def check_targets(targets: Iterable[str]) -> None:
    """Raise BuildError for the first that is no target."""
    for target in targets:
        if not is_ptx(target):
            isa_version(target)


def control_constants(target: str, code_object_version: int) -> str:
    """LLVM IR that answers what ocml asks of its surroundings: IEEE denormals, infinities, exact square roots."""
    values = (
        ("ISA_version", "i32", isa_version(target)),
        ("ABI_version", "i32", code_object_version * 100),
        ("wavefrontsize64", "i8", int(target.startswith("gfx9"))),
        ("daz_opt", "i8", 0),
        ("finite_only_opt", "i8", 0),
        ("unsafe_math_opt", "i8", 0),
        ("correctly_rounded_sqrt32", "i8", 1),
    )
    lines = (f"@__oclc_{name} = linkonce_odr hidden addrspace(4) constant {kind} {v}" for name, kind, v in values)
    return "\n".join(('target triple = "amdgcn-amd-amdhsa"', *lines)) + "\n"
