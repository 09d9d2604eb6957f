"""What RDNA does not wait for by itself is found, and not once the instruction lies between that makes it right."""

from __future__ import annotations

import attrs
import pytest

from rocmkern import codeobject
from rocmkern.checking import lint
from rocmkern.codeobject import CodeObject
from rocmkern.emulator.isa import decode
from rocmkern.kernels import shipped
from rocmkern.targets import devices
from tests.checking.kernels import findings

EXP = "v_exp_f32 v2, v0"
USE = "v_add_f32 v3, v2, v2"
PRODUCT = "v_wmma_f32_16x16x16_f16 v[0:7], v[16:23], v[24:31], v[0:7]"
PRODUCT12 = "v_wmma_f32_16x16x16_f16 v[0:7], v[16:19], v[24:27], v[0:7]"
READ, WRITE = "v_add_f32 v1, s4, v0", "s_mov_b32 s4, 1"
AGAIN = "v_add_f32 v2, s4, v0"
OTHER = "v_mov_b32 v9, v8"
WAIT_ALU = "s_wait_alu depctr_{}(0)"

# target, name → instructions, findings
CASES: dict[str, dict[str, tuple[str, int]]] = {
    "gfx1030": {
        "denormals": ("global_atomic_fcmpswap v2, v0, v[4:5], s[4:5] glc\ns_nop 1\ns_denorm_mode 15", 1),
        "denormals_three": ("global_atomic_fcmpswap v2, v0, v[4:5], s[4:5] glc\ns_nop 2\ns_denorm_mode 15", 0),
        "denormals_vector": (f"global_atomic_fcmpswap v2, v0, v[4:5], s[4:5] glc\n{OTHER}\ns_denorm_mode 15", 0),
        "denormals_integer": ("global_atomic_add v2, v0, v4, s[4:5] glc\ns_denorm_mode 15", 0),
        "permuted": ("v_cmpx_eq_u32 v0, v1\nv_permlane16_b32 v2, v3, s4, s5", 1),
        "permuted_nop": ("v_cmpx_eq_u32 v0, v1\nv_nop\nv_permlane16_b32 v2, v3, s4, s5", 1),
        "permuted_far": ("v_cmpx_eq_u32 v0, v1\ns_nop 7\ns_nop 7\nv_permlane16_b32 v2, v3, s4, s5", 1),
        "permuted_other": (f"v_cmpx_eq_u32 v0, v1\n{OTHER}\nv_permlane16_b32 v2, v3, s4, s5", 0),
    },
    "gfx1100": {
        "transcendental": (f"{EXP}\n{USE}", 1),
        "transcendental_five": (f"{EXP}\n" + f"{OTHER}\n" * 5 + USE, 1),
        "transcendental_six": (f"{EXP}\n" + f"{OTHER}\n" * 6 + USE, 0),
        "transcendental_scalars": (f"{EXP}\n" + "s_nop 0\n" * 9 + USE, 1),
        "transcendental_one_more": (f"{EXP}\nv_exp_f32 v4, v0\n{USE}", 1),
        "transcendental_two_more": (f"{EXP}\nv_exp_f32 v4, v0\nv_exp_f32 v5, v0\n{USE}", 0),
        "transcendental_waited": (f"{EXP}\ns_waitcnt_depctr 0xfff\n{USE}", 0),
        "transcendental_other_wait": (f"{EXP}\ns_waitcnt_depctr 0xfffe\n{USE}", 1),
        "transcendental_stored": (f"{EXP}\nds_store_b32 v0, v1\n{USE}", 0),
        "transcendental_loop": (f"again_t:\n{USE}\n{EXP}\ns_cbranch_scc0 again_t", 1),
        "product": (f"{PRODUCT}\nv_wmma_f32_16x16x16_f16 v[32:39], v[0:7], v[24:31], v[32:39]", 1),
        "product_nop": (f"{PRODUCT}\nv_nop\nv_wmma_f32_16x16x16_f16 v[32:39], v[0:7], v[24:31], v[32:39]", 0),
        "product_added_to": (f"{PRODUCT}\n{PRODUCT}", 0),
    },
    "gfx1201": {
        "product": (f"{PRODUCT12}\nv_wmma_f32_16x16x16_f16 v[32:39], v[0:3], v[24:27], v[32:39]", 1),
        "product_nop": (f"{PRODUCT12}\nv_nop\nv_wmma_f32_16x16x16_f16 v[32:39], v[0:3], v[24:27], v[32:39]", 0),
        "index": (f"{PRODUCT12}\nv_swmmac_f32_16x16x32_f16 v[32:39], v[16:19], v[24:31], v5", 1),
        "no_index": (f"{PRODUCT12}\nv_swmmac_f32_16x16x32_f16 v[32:39], v[16:19], v[24:31], v9", 0),
        "transcendental": (f"{EXP}\n{USE}", 0),
        "reread": (f"{READ}\n{WRITE}\n{AGAIN}", 1),
        "reread_by_scalar": (f"{READ}\n{WRITE}\ns_add_co_u32 s8, s4, s4", 1),
        "reread_neighbour": (f"v_add_f32 v1, s5, v0\n{WRITE}\n{AGAIN}", 1),
        "reread_other_pair": (f"v_add_f32 v1, s6, v0\n{WRITE}\n{AGAIN}", 0),
        "reread_waited": (f"{READ}\n{WRITE}\n{WAIT_ALU.format('sa_sdst')}\n{AGAIN}", 0),
        "reread_other_wait": (f"{READ}\n{WRITE}\n{WAIT_ALU.format('va_sdst')}\n{AGAIN}", 1),
        "reread_memory": (f"{READ}\n{WRITE}\ns_load_b32 s8, s[0:1], 0x0\n{AGAIN}\ns_wait_kmcnt 0x0", 0),
        "never_read": (f"{WRITE}\n{AGAIN}", 0),
        "by_vector": (f"{READ}\nv_cmp_eq_u32 s4, v0, v1\n{AGAIN}", 1),
        "by_vector_waited": (f"{READ}\nv_cmp_eq_u32 s4, v0, v1\n{WAIT_ALU.format('va_sdst')}\n{AGAIN}", 0),
        "by_vector_read_by_scalar": (f"{READ}\nv_cmp_eq_u32 s4, v0, v1\ns_mov_b32 s8, s4", 0),
        "vcc": ("v_cndmask_b32 v1, v2, v3, vcc_lo\nv_cmp_eq_u32 vcc_lo, v0, v1\nv_cndmask_b32 v1, v2, v3, vcc_lo", 1),
        "vcc_waited": ("v_cndmask_b32 v1, v2, v3, vcc_lo\nv_cmp_eq_u32 vcc_lo, v0, v1\n"
                       + WAIT_ALU.format("va_vcc") + "\nv_cndmask_b32 v1, v2, v3, vcc_lo", 0),
        "cleared_by_what_the_loop_reads_last": (
            f"again_c:\n{READ}\nv_cmp_eq_u32 s4, v0, v1\ns_mov_b32 s8, s6\n{AGAIN}\nv_add_f32 v3, s6, v0\n"
            "s_cbranch_scc0 again_c", 0),
        "loop": (f"again_r:\n{READ}\n{WRITE}\ns_cbranch_scc0 again_r", 1),
        "exec": ("v_cmp_eq_u32 vcc_lo, v0, v1\ns_mov_b32 exec_lo, -1\nv_mov_b32 v2, exec_lo", 0),
    },
}  # fmt: skip


@pytest.mark.parametrize("target", CASES)
def test_rules(target: str) -> None:
    """Each is met by the instructions of its case alone, with one finding, and not by the sound twin."""
    found = findings(target, {name: body for name, (body, _) in CASES[target].items()})
    counts = {name: sum(f.kind == "missing wait states" for f in one) for name, one in found.items()}
    assert counts == {name: count for name, (_, count) in CASES[target].items()}
    told = [f for one in found.values() for f in one]
    assert all(f.remedy.endswith(" before it") and f.after is not None for f in told)


def test_a_finding_names_what_wrote() -> None:
    """The register, the instruction that wrote it and the wait of that kind of writer."""
    (one,) = findings("gfx1201", {"k": f"{READ}\n{WRITE}\n{AGAIN}"})["k"]
    assert one.after is not None
    assert (one.registers, one.after.text, one.remedy) == (
        "s4", "s_mov_b32 s4, 1", "s_wait_alu depctr_sa_sdst(0) before it",
    )  # fmt: skip


def without(code: CodeObject, kernel: str, name: str) -> dict[int, CodeObject]:
    """A kernel without one of the instructions of a name each, by where that lay."""
    isa = devices(code.target)[0].isa
    entry, (_, size) = code.kernels[kernel].entry_address, code.symbols[kernel]
    number = next(i for i, s in enumerate(code.segments) if s.address <= entry < s.address + len(s.data))
    segment, found = code.segments[number], dict[int, CodeObject]()
    pc = start = entry - segment.address
    while pc < start + size:
        inst = decode(isa, segment.data, pc)
        if inst.name == name:
            data = segment.data[:pc] + b"\0\0\x80\xbf" + segment.data[pc + 4 :]  # s_nop 0
            segments = (*code.segments[:number], attrs.evolve(segment, data=data), *code.segments[number + 1 :])
            found[pc - start] = attrs.evolve(code, segments=segments)
        pc += inst.size
    return found


@pytest.mark.parametrize(
    ("target", "name", "family", "kernel"),
    [("gfx1200", "s_wait_alu", "reduce", "sum_f32"), ("gfx1200", "s_wait_alu", "reduce", "softmax_rows_f32"),
     ("gfx1100", "s_waitcnt_depctr", "reduce", "softmax_rows_f32")],
)  # fmt: skip
def test_every_deleted_wait_of_a_shipped_kernel_is_found(target: str, name: str, family: str, kernel: str) -> None:
    """clang puts each there for a reason that the rules know."""
    code = codeobject.read(shipped.path(family).read_bytes(), target)
    assert lint(code, kernel).findings == ()
    changed = without(code, kernel, name)
    assert changed and [pc for pc, mutant in changed.items() if not lint(mutant, kernel).findings] == []
