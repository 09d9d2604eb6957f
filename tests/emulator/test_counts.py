"""What kernels ask for, counted by hand."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import rocmkern as rk
from rocmkern.emulator.machine import Machine
from rocmkern.emulator.observers.checker import CHECKED
from rocmkern.emulator.observers.counts import Count, Counts, Kind, Tally
from rocmkern.emulator.observers.seam import Observers
from rocmkern.errors import DriverError, MemoryFault
from rocmkern.kernels import shipped
from rocmkern.kernels.cache import get_kernel
from tests.emulator.instructions import Dialect
from tests.emulator.test_observers import TARGETS, Bare, steps
from tests.samples import assemble


def counted(machine: Machine) -> dict[str, dict[int, Count]]:
    (tally,) = [r for r in machine.records if isinstance(r, Tally)]
    return tally.kernels


def run(target: str, name: str, text: str, observers: Observers, tier: int, groups: int, waves: int) -> list[Count]:
    """What a kernel of one text asks for in one launch, in the order of its instructions."""
    dialect = Bare(target)
    machine = Machine(target, observers, timeout_s=60, compiles=False)
    entry = machine.load(assemble(dialect.source({name: text}), target)).kernel(name)
    address = machine.alloc(1 << 20)
    machine.view(address, 1 << 20)[:] = bytes(1 << 20)
    before = dict[int, Count]()
    for i in range(1 + tier):
        if i:
            entry.module.program.compile(entry.kernel)
            before = counted(machine)[name]
        block = (waves * dialect.wave_size, 1, 1)
        machine.launch(entry, (groups, 1, 1), block, 0, struct.pack("<Q", address).ljust(72, b"\0"))
    after = counted(machine)[name]
    if not tier:
        return list(after.values())
    assert after.keys() == before.keys()
    fields = ("runs", "lanes", "bytes", "lines")
    return [Count(c.name, c.kind, *(getattr(c, f) - getattr(before[pc], f) for f in fields)) for pc, c in after.items()]


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("target", TARGETS)
def test_a_loop_between_barriers(target: str, tier: int) -> None:
    """Two workgroups of two waves go round three times; stores four bytes behind a line touch one line more."""
    dialect, waves = Dialect(target), 4
    lines = steps(dialect)
    text = "\n".join(f" {line}" for line in lines)
    found = run(target, "k", text, Observers((Counts(),)), tier, groups=2, waves=2)
    lanes = waves * dialect.wave_size
    begin, end = next(i for i, s in enumerate(lines) if s.startswith("again")), lines.index("s_cbranch_scc1 again")
    assert len(found) == len(lines)
    for i, (count, line) in enumerate(zip(found, lines, strict=True)):
        often = 3 if begin <= i <= end else 1
        mnemonic = line.removeprefix("again: ").split()[0]
        kind: Kind = (
            "scalar memory" if mnemonic.startswith("s_load")
            else "lds" if mnemonic.startswith("ds_")
            else "vector memory" if mnemonic.startswith("global_")
            else "barrier" if "barrier" in mnemonic
            else "wait" if "wait" in mnemonic
            else "branch" if "branch" in mnemonic
            else "other" if mnemonic in ("s_nop", "s_endpgm")
            else "salu" if mnemonic.startswith("s_")
            else "valu"
        )  # fmt: skip
        has_lanes = kind in ("valu", "lds", "vector memory")
        size = {"scalar memory": 8 * waves, "lds": 4 * lanes, "vector memory": 4 * lanes}.get(kind, 0)
        touched = {"scalar memory": waves, "vector memory": waves * (dialect.wave_size * 4 // 128 + 1)}.get(kind, 0)
        wanted = (kind, often * waves, often * lanes * has_lanes, often * size, often * touched)
        assert (count.kind, count.runs, count.lanes, count.bytes, count.lines) == wanted, line


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("line_bytes", [64, 128])
def test_lanes_that_are_off_ask_for_nothing(target: str, tier: int, line_bytes: int) -> None:
    """Ten lanes on, 256 bytes from one to the next: ten lines, or twenty where each goes over a line's end; one line
    where all read the same place.
    """
    dialect = Dialect(target)
    renamed = dialect.isa in ("gfx11", "gfx12")
    load, pair = ("global_load_b64", "s_load_b64") if renamed else ("global_load_dwordx2", "s_load_dwordx2")
    full = "s_mov_b64 exec, 0x3ff" if dialect.wide else "s_mov_b32 exec_lo, 0x3ff"
    text = "\n".join([
        f"{pair} s[4:5], s[0:1], 0x0", "v_and_b32 v1, 0x3ff, v0", "v_lshlrev_b32 v1, 8, v1", "v_mov_b32 v4, 0",
        dialect.wait, full, f"{load} v[2:3], v1, s[4:5]", f"{load} v[2:3], v1, s[4:5] offset:124",
        f"{load} v[2:3], v4, s[4:5]", "v_exp_f32 v5, v4", dialect.wait, "s_endpgm",
    ])  # fmt: skip
    found = run(target, "k", text, Observers((Counts(line_bytes),)), tier, groups=1, waves=1)
    loads = [(c.runs, c.lanes, c.bytes, c.lines) for c in found if c.kind == "vector memory"]
    assert loads == [(1, 10, 80, 10), (1, 10, 80, 20), (1, 10, 80, 1)]
    (exp,) = [c for c in found if c.kind == "transcendental"]
    assert (exp.name, exp.runs, exp.lanes) == ("v_exp_f32", 1, 10)


def test_counts_do_not_depend_on_who_runs_them() -> None:
    """On all threads, with the checker beside, launch after launch: the sums of one more than those before."""
    sums = list[dict[int, Count]]()
    for observers in (Observers((Counts(),)), Observers((*CHECKED.those, Counts()))):
        machine = Machine("gfx942", observers, timeout_s=60, compiles=False)
        affine = machine.load(shipped.code("affine", "gfx942")).kernel("affine_f32")
        n = 1 << 18
        x, out = machine.alloc(4 * n), machine.alloc(4 * n)
        machine.view(x, 4 * n)[:] = np.ones(n, np.float32).tobytes()
        for _ in range(2):
            arguments = struct.pack("<QQQQQff", n, 1, 0, x, out, 2.5, -1)
            machine.launch(affine, (n >> 10, 1, 1), (256, 1, 1), 0, arguments)
            sums.append(counted(machine)["affine_f32"])
    first, second, beside, last = sums
    assert beside == first and last == second
    assert {pc: 2 * c.runs for pc, c in first.items()} == {pc: c.runs for pc, c in second.items()}
    asked = sum(c.bytes for c in first.values() if c.kind == "vector memory")
    assert asked == 2 * 4 * n  # read once and written once
    lines = sum(c.lines for c in first.values() if c.kind == "vector memory")
    assert lines == 2 * 4 * n // 128


def test_a_device_is_watched_for_a_while() -> None:
    """Launches of modules that were loaded before, by any way to launch, count from then on and no longer."""
    device = rk.Device("emulator:gfx1100")
    x = rk.asarray(np.arange(1 << 12, dtype=np.float32), device=device)
    wanted = (x + x).numpy()
    graph = rk.Graph()
    with graph.capture():
        captured = x + x
    for _ in range(2):  # with an argument block that was laid before as well
        with device._driver.watched(Counts()) as (tally,):
            for _ in range(3):
                np.testing.assert_array_equal((x + x).numpy(), wanted)
            with rk.Stream(device) as stream:
                y = x + x
                stream.synchronize()
            graph.launch()
        np.testing.assert_array_equal((x + x).numpy(), wanted)
        for result in (y, captured):
            np.testing.assert_array_equal(result.numpy(), wanted)
        (counts,) = tally.kernels.values()
        asked = sum(c.bytes for c in counts.values() if c.kind == "vector memory")
        assert asked == 5 * 3 * x.nbytes  # launches, tensors
    apart = "watch: allocations lie apart for checker, not here"
    with pytest.raises(DriverError, match=apart), device._driver.watched(*CHECKED.those):
        pass


def test_a_checked_device_stays_one_while_it_is_watched() -> None:
    """What is counted there is checked too, against what was allocated before."""
    device = rk.Device("emulator:gfx942:checked")
    x = rk.asarray(np.ones(300, np.float32), device=device)
    with device._driver.watched(Counts()) as (tally,):
        assert (x * 3).numpy().sum() == 900
        unwritten = device.alloc(1200)
        with pytest.raises(MemoryFault, match="of memory that nothing wrote"):
            get_kernel("affine", "affine_f32", device)(300, 1, None, unwritten, x, 2.5, -1.0, grid=1, block=256)
    assert "affine_f32" in tally.kernels
