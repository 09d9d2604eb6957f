"""The flags that kernels are compiled with, by compiler: what a code object was made with is compared with them."""

from __future__ import annotations

from typing import Final

from rocmkern.targets import is_ptx

_COMMON: Final = ("-O3", "-std=c++17")
_STRICT: Final = ("-Wall", "-Wextra", "-Werror")  # with our own sources; of others, warnings are only told

# From optimised bitcode to an object: nothing is optimised twice. Hoisting f64 coefficients out of the rolled loops
# would cost a hundred registers, and spills on gfx90a.
TO_OBJECT: Final = ("-O3", "-Xclang", "-disable-llvm-passes", "-mllvm", "-disable-machine-licm")

# CUDA's default fuses products and sums whatever the sources say. Loops that step a pointer for each operand would take
# twice the registers.
_TO_PTX: Final = ("-ffp-contract=on", "-mllvm", "-disable-lsr")


def code_object_version(target: str) -> int:
    """Generic targets exist since version 6; exact ones keep 5, which older runtimes load too."""
    return 6 if target.endswith("generic") else 5


def hipcc(target: str, *, is_strict: bool = True) -> tuple[str, ...]:
    version = f"-mcode-object-version={code_object_version(target)}"
    more = _STRICT if is_strict else ("-fhip-kernel-arg-name",)
    return ("--genco", f"--offload-arch={target}", "--no-gpu-bundle-output", version, *_COMMON, *more)


def zig(target: str, *, is_strict: bool = True) -> tuple[str, ...]:
    """Those of both steps: to bitcode, or PTX, and from there to an object."""
    front = front_end(target, is_strict=is_strict)
    return front if is_ptx(target) else (*front, "then", *TO_OBJECT)


def front_end(target: str, *, is_strict: bool = True) -> tuple[str, ...]:
    """Those of zig's clang from a source to bitcode or PTX."""
    common = ("--cuda-device-only", "--no-gpu-bundle-output", *_COMMON, *(_STRICT if is_strict else ()))
    if is_ptx(target):
        # No CUDA installation is looked at: its release would choose the PTX version.
        feature = ("--cuda-path=/none", "--cuda-feature=+ptx80", "-nocudainc", "-nocudalib", "-S")
        return ("-x", "cuda", f"--cuda-gpu-arch={target}", *feature, *common, *_TO_PTX)
    version = f"-mcode-object-version={code_object_version(target)}"
    where = ("-x", "hip", f"--offload-arch={target}", "-nogpuinc", "-nogpulib", version, "-fuse-cuid=none")
    return (*where, *common)


def known(target: str) -> tuple[tuple[str, ...], ...]:
    """Those of every compiler that makes code for a target."""
    return (zig(target),) if is_ptx(target) else (zig(target), hipcc(target))
