"""A missing wait is found on every counter of every target, and its sound twin passes."""

from __future__ import annotations

import pytest

from tests.checking.kernels import CDNA, NAMES, findings, verdicts
from tests.checking.spelling import said, waiting

RDNA = NAMES[3:]
# body → what has to be waited for, "loads 0" say; "" for nothing
CASES = {
    "load_used": ("{load} v2, v0, s[4:5]; {add} v3, v2, v2", "loads 0"),
    "load_waited": ("{load} v2, v0, s[4:5]; wait loads 0; {add} v3, v2, v2", ""),
    "load_waited_on_another_counter": ("{load} v2, v0, s[4:5]; wait lds 0; {add} v3, v2, v2", "loads 0"),
    "load_overwritten": ("{load} v2, v0, s[4:5]; v_mov_b32 v2, 0", "loads 0"),
    "second_of_two_used": ("{load} v2, v0, s[4:5]; {load} v3, v1, s[4:5]; wait loads 1; {add} v4, v3, v3", "loads 0"),
    "first_of_two_used": ("{load} v2, v0, s[4:5]; {load} v3, v1, s[4:5]; wait loads 1; {add} v4, v2, v2", ""),
    "first_of_two_unwaited": ("{load} v2, v0, s[4:5]; {load} v3, v1, s[4:5]; {add} v4, v2, v2", "loads 1"),
    "address_overwritten": ("{load} v2, v0, s[4:5]; v_mov_b32 v0, 0", ""),
    "stored_data_overwritten": ("{store} v0, v2, s[4:5]; v_mov_b32 v2, 0", ""),
    "lds_read_used": ("{read} v2, v0; {add} v3, v2, v2", "lds 0"),
    "lds_read_waited": ("{read} v2, v0; wait lds 0; {add} v3, v2, v2", ""),
    "scalar_used": ("{scalar} s8, s[4:5], 0x0; s_mov_b32 s9, s8", "scalars 0"),
    "scalar_waited": ("{scalar} s8, s[4:5], 0x0; wait scalars 0; s_mov_b32 s9, s8", ""),
    "scalars_come_in_no_order": (
        "{scalar} s8, s[4:5], 0x0; {scalar} s9, s[4:5], 0x4; wait scalars 1; s_mov_b32 s10, s8", "scalars 0",
    ),
    "scalar_loaded_twice": ("{scalar} s8, s[4:5], 0x0; {scalar} s8, s[4:5], 0x4; wait scalars 0", "scalars 0"),
    "scalar_as_address": ("{scalar} s8, s[4:5], 0x0; wait loads 0; v_mov_b32 v1, s8", "scalars 0"),
    "waited_on_one_path": (
        "{load} v2, v0, s[4:5]; s_cbranch_scc0 skip_{{}}; wait loads 0; skip_{{}}:; {add} v3, v2, v2", "loads 0",
    ),
    "waited_on_both_paths": (
        "{load} v2, v0, s[4:5]; s_cbranch_scc0 skip_{{}}; wait loads 0; s_branch end_{{}}; skip_{{}}:; wait loads 0;"
        "end_{{}}:; {add} v3, v2, v2", "",
    ),
    "used_in_the_next_round": (
        "again_{{}}:; {add} v3, v2, v2; {load} v2, v0, s[4:5]; s_cbranch_scc0 again_{{}}", "loads 0",
    ),
    "waited_in_the_next_round": (
        "again_{{}}:; wait loads 0; {add} v3, v2, v2; {load} v2, v0, s[4:5]; s_cbranch_scc0 again_{{}}", "",
    ),
    "used_in_a_function": (
        "{load} v2, v0, s[4:5]; s_getpc_b64 s[6:7]; at_{{}}:; s_add_u32 s6, s6, f_{{}}-at_{{}};"
        "s_addc_u32 s7, s7, 0; s_swappc_b64 s[30:31], s[6:7]; s_endpgm; f_{{}}:; {add} v3, v2, v2;"
        "s_setpc_b64 s[30:31]", "loads 0",
    ),
    "used_behind_a_function": (
        "s_getpc_b64 s[6:7]; at_{{}}:; s_add_u32 s6, s6, f_{{}}-at_{{}}; s_addc_u32 s7, s7, 0;"
        "s_swappc_b64 s[30:31], s[6:7]; {add} v3, v2, v2; s_endpgm; f_{{}}:; {load} v2, v0, s[4:5];"
        "s_setpc_b64 s[30:31]", "loads 0",
    ),
    "waited_in_a_function": (
        "{load} v2, v0, s[4:5]; s_getpc_b64 s[6:7]; at_{{}}:; s_add_u32 s6, s6, f_{{}}-at_{{}};"
        "s_addc_u32 s7, s7, 0; s_swappc_b64 s[30:31], s[6:7]; {add} v3, v2, v2; s_endpgm; f_{{}}:; wait loads 0;"
        "s_setpc_b64 s[30:31]", "",
    ),
}  # fmt: skip


def remedy(target: str, what: str) -> list[str]:
    return [f"{waiting(target, what.split()[0], int(what.split()[1]))} before it"] if what else []


@pytest.mark.parametrize("target", NAMES)
def test_waits_of_every_counter(target: str) -> None:
    """Uses and overwrites before a result is there are found, on all paths, with the least wait that mends each."""
    bodies = {name: said(target, body).replace("{}", name) for name, (body, _) in CASES.items()}
    assert verdicts(target, bodies) == {name: remedy(target, what) for name, (_, what) in CASES.items()}


@pytest.mark.parametrize("target", NAMES)
def test_flat_loads_need_both_counters(target: str) -> None:
    """A flat load has ended when both its counters say so."""
    bodies = {
        "vector_only": "{flat} v2, v[0:1]; wait loads 0; {add} v3, v2, v2",
        "lds_only": "{flat} v2, v[0:1]; wait lds 0; {add} v3, v2, v2",
        "both": "{flat} v2, v[0:1]; wait loads 0; wait lds 0; {add} v3, v2, v2",
        "others_behind": "{flat} v2, v[0:1]; {flat} v3, v[0:1]; wait loads 1; wait lds 1; {add} v4, v2, v2",
    }
    found = verdicts(target, {name: said(target, body) for name, body in bodies.items()})
    assert found["vector_only"] == remedy(target, "lds 0")
    assert found["lds_only"] == remedy(target, "loads 0")
    assert found["both"] == []
    assert bool(found["others_behind"]) == (target in CDNA)


@pytest.mark.parametrize("target", NAMES)
def test_full_counters(target: str) -> None:
    """A counter holds so many: the first of 64 loads has ended when the last one is counted, the second may not."""
    loads = "".join(f"{{load}} v{i}, v0, s[4:5];" for i in range(2, 66))
    bodies = {"first": loads + "{add} v70, v2, v2", "second": loads + "{add} v70, v3, v3"}
    found = verdicts(target, {name: said(target, body) for name, body in bodies.items()})
    assert (found["first"], len(found["second"])) == ([], 1)


@pytest.mark.parametrize("target", NAMES)
def test_order_of_loads_to_one_register(target: str) -> None:
    """Loads of one kind write in order up to GFX11; GFX12 says nothing of it, and two kinds have no order."""
    bodies = {
        "one_kind": "{load} v2, v0, s[4:5]; {load} v2, v1, s[4:5]; wait loads 0",
        "two_kinds": "{load} v2, v0, s[4:5]; {read} v2, v1; wait loads 0; wait lds 0",
    }
    found = verdicts(target, {name: said(target, body) for name, body in bodies.items()})
    assert found["one_kind"] == (remedy(target, "loads 0") if target == "gfx1201" else [])
    assert found["two_kinds"] == remedy(target, "loads 0")


@pytest.mark.parametrize("target", NAMES)
def test_halves_of_registers(target: str) -> None:
    """Where a 16-bit load keeps the other half, that half may be used; with ECC the whole register is written."""
    name = "global_load_d16_hi_b16" if target in ("gfx1100", "gfx1201") else "global_load_short_d16_hi"
    low = "ds_load_u16_d16" if target in ("gfx1100", "gfx1201") else "ds_read_u16_d16"
    found = verdicts(target, {"halves": said(target, f"{name} v2, v0, s[4:5]; {low} v2, v1; wait loads 0; wait lds 0")})
    assert found["halves"] == (remedy(target, "loads 0") if target in CDNA else [])


@pytest.mark.parametrize("target", NAMES)
def test_lds_writes_before_barriers(target: str) -> None:
    """What a wave wrote to LDS has to be there before it tells the others."""
    barrier = "s_barrier_signal -1; s_barrier_wait -1" if target == "gfx1201" else "s_barrier"
    bodies = {"early": f"{{write}} v0, v1; {barrier}", "sound": f"{{write}} v0, v1; wait lds 0; {barrier}"}
    found = findings(target, {name: said(target, body) for name, body in bodies.items()})
    assert [f.kind for f in found["early"]] == ["unwaited LDS write"]
    assert [f.remedy for f in found["early"]] == remedy(target, "lds 0")
    assert found["sound"] == []


@pytest.mark.parametrize("target", RDNA)
def test_stores_have_their_own_counter(target: str) -> None:
    """From GFX10 on stores don't put off loads: a count of 1 with a store behind the load proves nothing."""
    found = verdicts(target, {"k": said(target, "{load} v2, v0, s[4:5]; {store} v0, v1, s[4:5]; wait loads 1;"
                                                "{add} v3, v2, v2")})  # fmt: skip
    assert found["k"] == remedy(target, "loads 0")


@pytest.mark.parametrize("target", CDNA)
def test_stores_share_the_counter_of_loads(target: str) -> None:
    """On GFX9 a store behind the load is one of the operations under way."""
    found = verdicts(target, {"k": said(target, "{load} v2, v0, s[4:5]; {store} v0, v1, s[4:5]; wait loads 1;"
                                                "{add} v3, v2, v2")})  # fmt: skip
    assert found["k"] == []


def test_older_lds_reads_among_scalar_loads() -> None:
    """A scalar load behind LDS reads may end before them, so the count says nothing of it but tells of the reads."""
    found = verdicts("gfx942", {
        "unordered": said("gfx942", "{read} v2, v0; {scalar} s8, s[4:5], 0x0; wait lds 1; {add} v3, v2, v2"),
        "pushed_out": said("gfx942", "{read} v2, v0; {read} v3, v0; {scalar} s8, s[4:5], 0x0; wait lds 1;"
                                     "{add} v4, v2, v2"),
    })  # fmt: skip
    assert found == {"unordered": ["s_waitcnt lgkmcnt(0) before it"], "pushed_out": []}


def test_separate_wait_instructions() -> None:
    """GFX11's instructions of one counter, GFX12's of two, and the one that waits for all."""
    load = "global_load_b32 v2, v0, s[4:5]\n ds_load_b32 v3, v1\n"
    use = "\n v_add_nc_u32 v4, v2, v3"
    found = verdicts("gfx1100", {
        "one": f"{load} s_waitcnt_vmcnt null, 0x0{use}",
        "all": f"{load} s_waitcnt_vmcnt null, 0x0\n s_waitcnt_lgkmcnt null, 0x0{use}",
        "idle": f"{load} s_wait_idle{use}",
    })  # fmt: skip
    assert found == {"one": ["s_waitcnt lgkmcnt(0) before it"], "all": [], "idle": []}
    assert verdicts("gfx1201", {"both": f"{load} s_wait_loadcnt_dscnt 0x0{use}"}) == {"both": []}
