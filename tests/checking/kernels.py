"""Small kernels in assembly, several in one code object of a target."""

from __future__ import annotations

from rocmkern import codeobject
from rocmkern.checking import Finding, lint
from rocmkern.codeobject import CodeObject
from rocmkern.targets import TARGETS
from tests.samples import assemble

NAMES = ("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201")
CDNA = NAMES[:3]


def written(target: str, bodies: dict[str, str], flags: tuple[str, ...] = ()) -> CodeObject:
    """A kernel of each body, `s_endpgm` behind it."""
    wide = TARGETS[target].wave_size == 64
    extra = ".amdhsa_accum_offset 64" if wide else ".amdhsa_wavefront_size32 1"
    text, metadata = "", ""
    for name, body in bodies.items():
        text += (
            f".text\n.globl {name}\n.p2align 8\n.type {name},@function\n{name}:\n{body}\n s_endpgm\n"
            f".size {name}, .-{name}\n.section .rodata\n.p2align 6\n.amdhsa_kernel {name}\n"
            f".amdhsa_next_free_vgpr 128\n.amdhsa_next_free_sgpr 64\n{extra}\n.end_amdhsa_kernel\n"
        )
        metadata += (
            f"  - .name: {name}\n    .symbol: {name}.kd\n    .kernarg_segment_size: 0\n    .kernarg_segment_align: 8\n"
            "    .group_segment_fixed_size: 0\n    .private_segment_fixed_size: 0\n    .max_flat_workgroup_size: 64\n"
            f"    .wavefront_size: {TARGETS[target].wave_size}\n    .sgpr_count: 64\n    .vgpr_count: 64\n"
        )
    note = f".amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.kernels:\n{metadata}...\n.end_amdgpu_metadata\n"
    return codeobject.read(assemble(text + note, target, flags=flags))


def findings(target: str, bodies: dict[str, str]) -> dict[str, list[Finding]]:
    """What is found in each kernel."""
    report = lint(written(target, bodies))
    assert report.kernels == tuple(bodies)
    return {name: [f for f in report.findings if f.kernel == name] for name in bodies}


def verdicts(target: str, bodies: dict[str, str]) -> dict[str, list[str]]:
    """The remedies, kernel by kernel."""
    return {name: [f.remedy for f in found] for name, found in findings(target, bodies).items()}
