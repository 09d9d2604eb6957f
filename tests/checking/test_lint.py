"""What lint-code says of whole files: shipped kernels, mutants of them, source lines, code that can't be followed."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import attrs
import pytest
from click.testing import CliRunner

from rocmkern import codeobject
from rocmkern.build import jit
from rocmkern.checking import Finding, Instruction, lint
from rocmkern.checking.counters import counters, waits
from rocmkern.cli import main
from rocmkern.codeobject import CodeObject
from rocmkern.emulator.isa import decode
from rocmkern.errors import KernelNotFound
from rocmkern.kernels import shipped
from rocmkern.targets import BUILT, devices
from tests.checking.kernels import written
from tests.samples import compile_hip

GENERATIONS = {"gfx90a": 9, "gfx940": 9, "gfx950": 9, "gfx10": 10, "gfx11": 11, "gfx12": 12}
NOP = 0xBF800000


def part(family: str, target: str) -> CodeObject:
    """A shipped code object."""
    return codeobject.read(shipped.path(family).read_bytes(), target)


@pytest.mark.parametrize("target", BUILT)
@pytest.mark.parametrize("family", ["fill", "linalg"])
def test_shipped_kernels_pass(family: str, target: str) -> None:
    """Nothing is found in compiled kernels, and all of their code is followed."""
    report = lint(part(family, target))
    assert (report.findings, report.unfollowed) == ((), {})
    assert report.instructions > 1000


@pytest.mark.slow
@pytest.mark.parametrize("target", BUILT)
def test_all_shipped_kernels_pass(target: str) -> None:
    """Nothing is found in any shipped kernel."""
    for path in sorted(shipped.path("fill").parent.glob("*.hsaco")):
        report = lint(codeobject.read(path.read_bytes(), target))
        assert (report.findings, report.unfollowed) == ((), {}), path.stem


BARRIER_FIRST = """
KERNEL void rounds(const unsigned *x, unsigned *out, unsigned n) {
    __attribute__((shared)) static unsigned slots[256];
    unsigned t = __builtin_amdgcn_workitem_id_x(), kept = 0;
    for (unsigned i = 0; i < n; ++i) {
        BARRIER
        kept ^= slots[(t + i) % 256];
        slots[t] = x[t] + i;
    }
    out[t] = kept;
}
"""
OF_BUILTINS = """
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        __builtin_amdgcn_s_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
"""


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1200"])
def test_a_barrier_waits_for_what_the_loop_wrote_the_round_before(target: str) -> None:
    """clang drops the wait of a fence ahead of a barrier that it first sees with nothing under way; that of the
    package's own headers stays."""
    bare = compile_hip(BARRIER_FIRST.replace("BARRIER", OF_BUILTINS), target)
    found = lint(codeobject.read(bare, target)).findings
    assert [(f.kind, f.after.text.split()[0].startswith("ds_")) for f in found] == [("unwaited LDS write", True)]
    source = BARRIER_FIRST.replace("KERNEL", 'extern "C" __global__').replace("BARRIER", "__syncthreads();")
    source = "#include <hip/hip_runtime.h>\n" + source.replace("__attribute__((shared))", "__shared__")
    source = source.replace("__builtin_amdgcn_workitem_id_x()", "threadIdx.x")
    assert lint(codeobject.read(jit.compiled(source, target), target)).findings == ()


def mutants(code: CodeObject, kernel: str) -> dict[int, CodeObject]:
    """A kernel with one wait less each, by the place of the wait."""
    target = devices(code.target)[0]
    entry, (_, size) = code.kernels[kernel].entry_address, code.symbols[kernel]
    number = next(i for i, s in enumerate(code.segments) if s.address <= entry < s.address + len(s.data))
    segment = code.segments[number]
    start, found = entry - segment.address, dict[int, CodeObject]()
    pc = start
    while pc < start + size:
        inst = decode(target.isa, segment.data, pc)
        if waits(inst, counters(GENERATIONS[target.isa])):
            data = segment.data[:pc] + struct.pack("<I", NOP) + segment.data[pc + 4 :]
            segments = list(code.segments)
            segments[number] = attrs.evolve(segment, data=data)
            found[pc - start] = attrs.evolve(code, segments=tuple(segments))
        pc += inst.size
    return found


# Waits that change nothing, by hand: where paths meet on which each has waited for the same registers and used them,
# and clang's own beside that of a barrier on GFX12.
REDUNDANT = {"badd_f32": 2, "sum_f32": 1}
BESIDE_BARRIERS = {("sum_f32", "gfx12-generic"): 2}


@pytest.mark.parametrize("target", BUILT)
@pytest.mark.parametrize(("family", "kernel"), [("binary", "badd_f32"), ("reduce", "sum_f32")])
def test_every_deleted_wait_is_found(family: str, kernel: str, target: str) -> None:
    """Without any one of its 20 and more waits a kernel fails, but for those that are redundant."""
    code = part(family, target)
    assert lint(code, kernel).findings == ()
    changed = mutants(code, kernel)
    missed = [pc for pc, mutant in changed.items() if not lint(mutant, kernel).findings]
    assert len(changed) >= 20
    assert len(missed) == REDUNDANT[kernel] + BESIDE_BARRIERS.get((kernel, target), 0)


def test_findings_name_source_lines() -> None:
    """With line tables each instruction comes with its file and line."""
    source = "KERNEL void twice(float *x) {\n float y = x[__builtin_amdgcn_workitem_id_x()];\n x[1] = 2 * y;\n}\n"
    code = codeobject.read(compile_hip(source, flags=("-gline-tables-only",)))
    found = [f for mutant in mutants(code, "twice").values() for f in lint(mutant).findings]
    assert {f.at.source for f in found if f.after.text.startswith("global_load")} == {"k.hip:4"}
    assert {f.after.source for f in found if f.after.text.startswith("global_load")} == {"k.hip:3"}


def test_findings_say_what_to_do() -> None:
    """A finding holds both instructions, the register and the wait to write."""
    code = written("gfx942", {"k": "global_load_dwordx2 v[2:3], v0, s[4:5]\n v_mov_b32 v4, v3"})
    assert lint(code).findings == (
        Finding(
            "missing wait",
            "k",
            "v3",
            Instruction(8, "v_mov_b32_e32 v4, v3"),
            Instruction(0, "global_load_dwordx2 v[2:3], v0, s[4:5]"),
            "used before it has surely ended",
            "s_waitcnt vmcnt(0) before it",
        ),
    )


def test_what_is_not_followed_is_counted() -> None:
    """Jumps and calls by registers, registers by number and words of no instruction are told."""
    report = lint(written("gfx942", {
        "jump": "s_setpc_b64 s[4:5]",
        "call": "s_swappc_b64 s[30:31], s[4:5]\n v_mov_b32 v0, 0",
        "index": "s_set_gpr_idx_on s4, 1\n v_mov_b32 v0, v1\n s_set_gpr_idx_off",
        "data": "s_nop 0\n .long 0xffffffff",
    }))  # fmt: skip
    assert report.unfollowed == {
        "jumps to addresses in registers": 1,
        "calls of addresses in registers": 1,
        "registers chosen as the code runs": 2,
        "words that are no instruction": 1,
    }
    assert report.findings == ()


def test_unknown_kernels_are_refused() -> None:
    """The error says how many kernels there are, and where they are listed."""
    with pytest.raises(KernelNotFound, match="lint: no kernel 'other' among 1; `rocmkern inspect` lists them"):
        lint(written("gfx942", {"k": ""}), "other")


def test_the_command(tmp_path: Path) -> None:
    """It prints what it found and exits with 1, with 0 where nothing is found; --json gives the same as data."""
    (tmp_path / "bad.co").write_bytes(written("gfx942", {"k": "s_load_dword s8, s[4:5], 0x0\n s_mov_b32 s9, s8"}).image)
    done = CliRunner().invoke(main, ["lint-code", str(tmp_path / "bad.co")])
    assert done.exit_code == 1
    assert "put s_waitcnt lgkmcnt(0) before it" in done.output
    done = CliRunner().invoke(main, ["lint-code", str(tmp_path / "bad.co"), "--json"])
    assert json.loads(done.output)[0]["findings"][0]["registers"] == "s8"
    done = CliRunner().invoke(main, ["lint-code", "fill", "--target", "gfx942", "--kernel", "fill_u32"])
    assert (done.exit_code, "no findings" in done.output) == (0, True)
