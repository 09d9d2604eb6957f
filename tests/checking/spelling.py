"""Small kernels in assembly for all targets: what instructions and waits are called on each."""

from __future__ import annotations

from typing import Final

from tests.checking.kernels import CDNA

LONG: Final = {
    "load": "global_load_dword", "load2": "global_load_dwordx2", "load4": "global_load_dwordx4",
    "store": "global_store_dword", "store4": "global_store_dwordx4", "read": "ds_read_b32", "read2": "ds_read2_b32",
    "read4": "ds_read_b128", "write": "ds_write_b32", "scalar": "s_load_dword", "scalar2": "s_load_dwordx2",
    "flat": "flat_load_dword", "flat_store": "flat_store_dword", "scratch_load": "scratch_load_dword",
    "add": "v_add_u32", "count": "global_atomic_add",
}  # fmt: skip
SHORT: Final = {
    "load": "global_load_b32", "load2": "global_load_b64", "load4": "global_load_b128", "store": "global_store_b32",
    "store4": "global_store_b128", "read": "ds_load_b32", "read2": "ds_load_2addr_b32", "read4": "ds_load_b128",
    "write": "ds_store_b32", "scalar": "s_load_b32", "scalar2": "s_load_b64", "flat": "flat_load_b32",
    "flat_store": "flat_store_b32", "scratch_load": "scratch_load_b32", "add": "v_add_nc_u32",
    "count": "global_atomic_add_u32",
}  # fmt: skip
RETURNS: Final = {"gfx942": "sc0", "gfx950": "sc0", "gfx1201": "th:TH_ATOMIC_RETURN"}


def said(target: str, body: str) -> str:
    """A body in a target's spelling: `wait loads 1`, `wait lds 0`, `wait scalars 0`, `barrier`, and the names above in
    braces; `{returns}` makes an atomic return.
    """
    spelled = LONG if target in CDNA else {**LONG, "add": "v_add_nc_u32"} if target == "gfx1030" else SHORT
    lines = []
    for line in body.format(**spelled, returns=RETURNS.get(target, "glc")).split(";"):
        words = line.split()
        if words[:1] == ["wait"]:
            lines.append(waiting(target, words[1], int(words[2])))
        elif words == ["barrier"]:
            lines += ["s_barrier_signal -1", "s_barrier_wait -1"] if target == "gfx1201" else ["s_barrier"]
        else:
            lines.append(line)
    return "\n".join(lines)


def waiting(target: str, what: str, count: int) -> str:
    if target == "gfx1201":
        return f"s_wait_{ {'loads': 'load', 'lds': 'ds', 'scalars': 'km'}[what] }cnt {count:#x}"
    return f"s_waitcnt {'vmcnt' if what == 'loads' else 'lgkmcnt'}({count})"
