"""Missing wait states are found one short of what a rule asks for, and not with as many as it does."""

from __future__ import annotations

import pytest

from tests.checking.kernels import CDNA, NAMES, findings

GFX940 = ("gfx942", "gfx950")
# name → first instruction, the one behind it, states needed by target
CASES: dict[str, tuple[str, str, dict[str, int]]] = {
    "scalar_of_memory": ("v_readfirstlane_b32 s4, v0", "global_load_dword v2, v1, s[4:5]", dict.fromkeys(CDNA, 5)),
    "division": ("v_cmp_eq_u32 vcc, v0, v1", "v_div_fmas_f32 v2, v3, v4, v5", dict.fromkeys(CDNA, 4)),
    "lane_choice": ("v_readfirstlane_b32 s4, v0", "v_readlane_b32 s6, v1, s4", dict.fromkeys(CDNA, 4)),
    "lane_moved": ("v_mov_b32 v1, v0", "v_mov_b32_dpp v2, v1 row_shr:1 row_mask:0xf bank_mask:0xf",
                   dict.fromkeys(CDNA, 2)),
    "exec_of_dpp": ("v_cmpx_eq_u32 vcc, v0, v1", "v_mov_b32_dpp v2, v3 row_shr:1 row_mask:0xf bank_mask:0xf",
                    dict.fromkeys(CDNA, 5)),
    "hardware_register": ("s_setreg_b32 hwreg(HW_REG_MODE), s4", "s_getreg_b32 s5, hwreg(HW_REG_MODE)",
                          dict.fromkeys(CDNA, 2)),
    "m0": ("s_mov_b32 m0, s4", "s_sendmsg sendmsg(MSG_INTERRUPT)", dict.fromkeys(CDNA, 1)),
    "wide_store": ("global_store_dwordx4 v0, v[4:7], s[4:5]", "v_mov_b32 v6, 0",
                   {"gfx90a": 1, "gfx942": 2, "gfx950": 2}),
    "wide_store_with_offset": ("buffer_store_dwordx4 v[4:7], off, s[8:11], s4", "v_mov_b32 v6, 0",
                               {"gfx90a": 0, "gfx942": 1, "gfx950": 1}),
    "exec_of_matrix": ("v_cmpx_eq_u32 vcc, v0, v1", "v_mfma_f32_16x16x4f32 v[4:7], v2, v3, v[4:7]",
                       dict.fromkeys(CDNA, 4)),
    "factor": ("v_mov_b32 v2, 0", "v_mfma_f32_16x16x4f32 v[4:7], v2, v3, v[4:7]", dict.fromkeys(CDNA, 2)),
    "dot": ("v_dot2_f32_f16 v2, v0, v1, v2", "v_mov_b32 v3, v2", dict.fromkeys(CDNA, 3)),
    "constant": ("v_cmp_eq_u32 s[4:5], v0, v1", "v_cndmask_b32 v2, v0, v1, s[4:5]", dict.fromkeys(GFX940, 2)),
    "exec_of_lane": ("v_cmpx_eq_u32 vcc, v0, v1", "v_readfirstlane_b32 s4, v2", dict.fromkeys(GFX940, 4)),
    "lane_read": ("v_mov_b32 v2, 0", "v_readfirstlane_b32 s4, v2", dict.fromkeys(GFX940, 1)),
    "transcendental": ("v_exp_f32 v2, v0", "v_add_f32 v3, v2, v2", dict.fromkeys(GFX940, 1)),
    "part": ("v_mov_b32_sdwa v2, v0 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0", "v_mov_b32 v3, v2",
             dict.fromkeys(GFX940, 1)),
    "swap": ("v_mov_b32 v2, 0", "v_permlane32_swap_b32 v2, v3", {"gfx950": 2}),
    "product_read": ("v_mfma_f32_16x16x16f16 v[4:7], v[0:1], v[2:3], v[4:7]", "v_mov_b32 v8, v7",
                     {"gfx90a": 11, "gfx942": 7, "gfx950": 8}),
    "product_stored": ("v_mfma_f32_16x16x16f16 v[4:7], v[0:1], v[2:3], v[4:7]", "ds_write_b32 v0, v7",
                       {"gfx90a": 11, "gfx942": 7, "gfx950": 8}),
    "product_multiplied": ("v_mfma_f32_16x16x16f16 v[4:7], v[0:1], v[2:3], v[4:7]",
                           "v_mfma_f32_16x16x16f16 v[8:11], v[4:5], v[2:3], v[8:11]",
                           {"gfx90a": 11, "gfx942": 7, "gfx950": 8}),
    "product_added_to": ("v_mfma_f32_16x16x16f16 v[4:7], v[0:1], v[2:3], v[4:7]",
                         "v_mfma_f32_16x16x16f16 v[4:7], v[0:1], v[2:3], v[4:7]", dict.fromkeys(CDNA, 0)),
    "product_added_elsewhere": ("v_mfma_f32_16x16x16f16 v[4:7], v[0:1], v[2:3], v[4:7]",
                                "v_mfma_f32_16x16x16f16 v[6:9], v[0:1], v[2:3], v[6:9]",
                                {"gfx90a": 8, "gfx942": 5, "gfx950": 6}),
    "product_of_doubles": ("v_mfma_f64_16x16x4f64 v[8:15], v[0:1], v[2:3], v[8:15]", "v_mov_b32 v4, v8",
                           {"gfx90a": 11, "gfx942": 11, "gfx950": 19}),
    "doubles_stored": ("v_mfma_f64_16x16x4f64 v[8:15], v[0:1], v[2:3], v[8:15]", "ds_write_b32 v0, v8",
                       dict.fromkeys(CDNA, 18)),
}  # fmt: skip


def apart(states: int) -> str:
    """So many states."""
    return "\n".join(f"s_nop {min(states - done, 8) - 1}" for done in range(0, states, 8))


@pytest.mark.parametrize("target", CDNA)
def test_rules(target: str) -> None:
    """Each rule asks for exactly its states, along the straight way and around a loop."""
    bodies, expected = dict[str, str](), dict[str, int]()
    for name, (first, then, needs) in CASES.items():
        needed = needs.get(target)
        if needed is None:
            continue
        bodies[f"{name}_sound"] = f"{first}\n{apart(needed)}\n{then}"
        expected[f"{name}_sound"] = 0
        if needed:
            bodies[f"{name}_short"] = f"{first}\n{apart(needed - 1)}\n{then}"
            expected[f"{name}_short"] = 1
        if needed > 1 and name != "product_added_elsewhere":  # which is as wrong the other way round
            bodies[f"{name}_loop"] = f"again_{name}:\n{then}\n{first}\n{apart(needed - 2)}\ns_branch again_{name}"
            expected[f"{name}_loop"] = 1
    found = findings(target, bodies)
    counts = {name: sum(f.kind == "missing wait states" for f in found[name]) for name in bodies}
    assert counts == expected
    assert all(f.remedy == "s_nop 0 before it" for name in bodies for f in found[name])


def test_the_shortest_way_counts() -> None:
    """A branch around the s_nop leaves the states out."""
    body = "v_readfirstlane_b32 s4, v0\n s_cbranch_scc0 1\n s_nop 4\n global_load_dword v2, v1, s[4:5]"
    (found,) = findings("gfx942", {"k": body})["k"]
    assert (found.registers, found.remedy) == ("s4", "s_nop 3 before it")
    assert found.rule.endswith("1 of 5 wait states")


@pytest.mark.parametrize("target", NAMES[3:])
def test_targets_that_look_after_it_themselves(target: str) -> None:
    """From GFX10 on the hardware waits for scalars of vector instructions."""
    load = "global_load_dword" if target == "gfx1030" else "global_load_b32"
    assert findings(target, {"k": f"v_readfirstlane_b32 s4, v0\n {load} v2, v1, s[4:5]"}) == {"k": []}
