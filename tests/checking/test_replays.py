"""Saved launches do the same again elsewhere, become small, and can be followed step by step."""

from __future__ import annotations

import json
import struct
import zlib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve
from click.testing import CliRunner

import rocmkern as rk
from rocmkern.checking.reproducer import MAGIC, MOST_HEAD_BYTES, Block, Reproducer, read
from rocmkern.checking.running import Findings
from rocmkern.checking.saving import MOST_PARTS, _parts
from rocmkern.cli import main
from rocmkern.errors import ConfigError, MemoryFault, ReproducerError
from rocmkern.runtime.replays import Replay, checked_errors
from rocmkern.runtime.shrinking import shrink
from rocmkern.runtime.traces import place, trace
from tests.checking.kernels import NAMES
from tests.checking.launched import FLAGS, PRELUDE, line_of
from tests.samples import compile_hip

SOURCE = """
KERNEL void shift(const u32 *x, u32 *out, u32 n) {
    u32 i = G * 64 + T;
    if (i <= n) out[i] = x[i] + 1;  // shift
}
KERNEL void chase(u64 *heads, u32 *out) {
    u64 *second = (u64 *)heads[T & 1];
    out[T] = *(u32 *)second[1];  // chase
}
KERNEL void reverse(u32 *out, u32 n) {
    SHARED u32 part[256];
    part[T] = T * n;
    out[G * 256 + T] = part[255 - T];  // reverse
}
KERNEL void scale(const float *x, float *out, float by) {
    if (T & 1) out[T] = x[T] * by;
}
"""


def device(target: str, checked: bool = True) -> rk.Device:
    return rk.Device(f"emulator:{target}", checked=checked)


def module(on: rk.Device) -> rk.Module:
    return rk.Module.load_data(compile_hip(PRELUDE + SOURCE, on.info.arch, flags=FLAGS), on)


def filled(on: rk.Device, array: np.ndarray) -> rk.DeviceMemory:
    memory = on.alloc(array.nbytes)
    memory.copy_from_host(array)
    return memory


def saved_shift(path: Path, target: str, n: int, written: int) -> tuple[Findings, Reproducer]:
    """What a launch on `n` numbers did wrong of which only so many are there, and the launch."""
    on = device(target)
    x, out = filled(on, np.arange(n, dtype=np.uint32)), on.alloc(4 * n)
    half = on.alloc(4 * n)
    half.copy_from_host(np.arange(written, dtype=np.uint32))
    shift = module(on).get_function("shift")
    with rk.check() as findings, rk.save_reproducer(path) as saver:
        shift(x, out, np.uint32(n - 1), grid=-(-n // 64), block=64)  # nothing wrong
        shift(half, out, np.uint32(n), grid=-(-n // 64), block=64)
        shift(half, out, np.uint32(n), grid=1, block=64)
    assert saver.saved is not None
    assert read(path) == saver.saved
    return findings, saver.saved


@pytest.mark.parametrize("target", NAMES)
def test_a_saved_launch_does_the_same_wrong(target: str, tmp_path: Path) -> None:
    """The first one that is wrong, with all its faults: what nothing wrote is not written again."""
    findings, saved = saved_shift(tmp_path / "bug.rkz", target, 200, 150)
    assert {one.kind for one in findings.errors} == {"out of bounds", "uninitialised"}
    assert (saved.kernel, saved.grid, saved.target) == ("shift", (4, 1, 1), target)
    assert saved.finding.startswith("uninitialised in shift")
    again = checked_errors(Replay(device(target), saved.code), saved)
    assert {one.kind for one in again} == {one.kind for one in findings.errors}
    assert {one.at.source for one in again} == {f"k.hip:{line_of(SOURCE, '// shift')}"}
    assert sum(one.count for one in again) == sum(one.count for one in findings.errors)


def test_addresses_in_memory_are_followed(tmp_path: Path) -> None:
    """Through as many allocations as it takes, and to freed ones, which are freed again."""
    on = device("gfx942")
    value, gone = filled(on, np.array([7], np.uint32)), filled(on, np.array([8], np.uint32))
    seconds = [filled(on, np.array([0, a.address], np.uint64)) for a in (value, gone)]
    heads, out = filled(on, np.array([s.address for s in seconds], np.uint64)), on.alloc(256)
    chase = module(on).get_function("chase")
    gone.close()
    with rk.save_reproducer(tmp_path / "bug.rkz") as saver:
        chase(heads, out, grid=1, block=64)
    assert saver.saved is not None
    assert [block.is_freed for block in saver.saved.blocks] == [False] * 5 + [True]
    (one,) = checked_errors(Replay(device("gfx942"), saver.saved.code), saver.saved)
    assert (one.kind, one.count) == ("use after free", 32)


def test_results_are_told_without_checking(tmp_path: Path) -> None:
    """Of each block how much was changed and what it holds, addresses left out; a launch may be saved by its name."""
    on = device("gfx942")
    x, out = filled(on, np.ones(64, np.float32)), filled(on, np.zeros(64, np.float32))
    with rk.save_reproducer(tmp_path / "scale.rkz", kernel="sca*"):
        module(on).get_function("scale")(x, out, np.float32(0.5), grid=1, block=64)
    saved = read(tmp_path / "scale.rkz")
    others = [rk.Device(name) for name in ("emulator:gfx942", "emulator:gfx942:1")]
    first, second = (Replay(other, saved.code).run(saved).results() for other in others)
    assert first == second
    assert [(one.nbytes, one.changed) for one in first] == [(256, 0), (256, 32)]
    assert first[1].checksum == zlib.crc32(out.copy_to_host().tobytes())
    shown = CliRunner().invoke(main, ["replay", str(tmp_path / "scale.rkz")])
    told = json.loads(CliRunner().invoke(main, ["replay", str(tmp_path / "scale.rkz"), "--json"]).stdout)
    assert (told["kernel"], told["device"]) == ("scale", "emulator:gfx942") and told["blocks"]
    assert shown.exit_code == 0 and "scale on emulator:gfx942" in shown.output
    assert f"{first[1].checksum:08x}" in shown.output


def test_a_replay_raises_what_the_launch_raises(tmp_path: Path) -> None:
    """On a checked device, where nobody collects faults."""
    _, saved = saved_shift(tmp_path / "bug.rkz", "gfx942", 200, 200)
    with pytest.raises(MemoryFault, match="outside every allocation"):
        Replay(device("gfx942"), saved.code).run(saved)


def test_nothing_is_saved_of_launches_that_are_right(tmp_path: Path) -> None:
    """And no file is written."""
    on = device("gfx942")
    x, out = filled(on, np.ones(64, np.float32)), on.alloc(256)
    with rk.save_reproducer(tmp_path / "none.rkz") as saver:
        module(on).get_function("scale")(x, out, np.float32(2), grid=1, block=64)
    assert saver.saved is None and not (tmp_path / "none.rkz").exists()


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_shrinking(target: str, tmp_path: Path) -> None:
    """Grid, numbers and buffers become small together, and the fault is the same one: as far behind the end."""
    findings, saved = saved_shift(tmp_path / "bug.rkz", target, 3000, 3000)
    less = shrink(saved, device(target))
    assert less.grid == (1, 1, 1) and less.block[0] <= 4
    assert max(block.nbytes for block in less.blocks) <= 16
    for one in checked_errors(Replay(device(target), less.code), less):
        assert (one.kind, one.at.source) == ("out of bounds", findings.errors[0].at.source)
        assert one.access is not None and "it is 0 bytes past the end" in one.access.place
    sound = evolve(saved, grid=(1, 1, 1))
    assert shrink(sound, device(target)) is sound


def test_shrinking_keeps_the_waves_of_a_race(tmp_path: Path) -> None:
    """Fewer threads than two waves have no race."""
    on = device("gfx942")
    with rk.save_reproducer(tmp_path / "bug.rkz", kernel="reverse") as saver:
        module(on).get_function("reverse")(on.alloc(4 * 1024), np.uint32(3), grid=4, block=256)
    assert saver.saved is not None
    before = checked_errors(Replay(device("gfx942"), saver.saved.code), saver.saved)
    less = shrink(saver.saved, device("gfx942"))
    assert less.grid == (1, 1, 1)
    found = checked_errors(Replay(device("gfx942"), less.code), less)
    assert before[0].kind in {one.kind for one in found}


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx1030", "gfx1201"])
def test_traces(target: str, tmp_path: Path) -> None:
    """Instructions in their order, with lines and EXEC, and what each wrote in each lane, loads as well."""
    on = device(target, checked=False)
    x, out = filled(on, np.arange(64, dtype=np.float32)), filled(on, np.zeros(64, np.float32))
    with rk.save_reproducer(tmp_path / "scale.rkz", kernel="scale"):
        module(on).get_function("scale")(x, out, np.float32(0.5), grid=1, block=64)
    saved = read(tmp_path / "scale.rkz")
    lines = list(trace(saved, place("wg=0,wave=0,lane=5"), device(target, checked=False)))
    assert lines[0].startswith("; k.hip:") and lines[-1].split()[1] == "s_endpgm"
    after = {line.split()[1]: following for line, following in pairwise(lines)}
    loaded = next(following for name, following in after.items() if name.startswith("global_load"))
    multiplied = next(following for name, following in after.items() if name.startswith("v_mul"))
    assert loaded.split()[1:] == ["=", "0x40a00000", "(5)"] and multiplied.split()[1:] == ["=", "0x40200000", "(2.5)"]
    mask = "[lanes 0xaaaaaaaa" + ("aaaaaaaa]" if on.info.wave_size == 64 else "]")
    assert any("global_load" in line and mask in line for line in lines)
    whole = "\n".join(trace(saved, place("wg=0,wave=0"), device(target, checked=False)))
    assert f"0x3f800000 (1)  0x40400000 (3)  0x40a00000 (5)  0x40e00000 (7) … {on.info.wave_size // 2} lanes" in whole
    for wrong in ("wg=1,wave=0", "wg=0,wave=9", "wg=0,wave=0,lane=64"):
        with pytest.raises(ConfigError, match="no such wave or lane"):
            list(trace(saved, place(wrong), device(target, checked=False)))
    with pytest.raises(ConfigError, match="names no wave"):
        place("wave=1")


def test_the_commands(tmp_path: Path) -> None:
    """`check --save` writes the launch; `replay` checks it, makes it small and follows it."""
    file, bug, small = tmp_path / "k.hsaco", str(tmp_path / "bug.rkz"), str(tmp_path / "small.rkz")
    file.write_bytes(compile_hip(PRELUDE + SOURCE, "gfx942", flags=FLAGS))
    buffers = ["--arg", "u32[100]=arange", "--arg", "u32[100]", "--arg", "u32:100"]
    found = CliRunner().invoke(
        main, ["check", "--save", bug, "--kernel", "shift", "--grid", "2", "--block", "64", *buffers, str(file)]
    )
    assert found.exit_code == 1, found.output
    checked = CliRunner().invoke(main, ["replay", bug, "--check"])
    assert checked.exit_code == 1 and "out of bounds in shift" in checked.output
    shrunk = CliRunner().invoke(main, ["replay", bug, "--shrink", small])
    assert shrunk.exit_code == 0 and "grid (2, 1, 1)" in shrunk.output and "→ shift: grid (1, 1, 1)" in shrunk.output
    followed = CliRunner().invoke(main, ["replay", small, "--trace", "wg=0,wave=0"])
    assert followed.exit_code == 0 and "s_endpgm" in followed.output
    refused = CliRunner().invoke(main, ["replay", bug, "--check", "--device", "hip:0"])
    assert refused.exit_code == 1 and "neither checks nor traces" in refused.output


def test_what_was_written_comes_in_few_parts() -> None:
    """The smallest gaps count as written where there are too many."""
    written = np.ones(10_000, np.bool_)
    written[::10] = False
    written[5000:5010] = False
    parts = _parts(written)
    assert len(parts) == MOST_PARTS
    assert all(first + count <= 5000 or first >= 5010 for first, count in parts)
    assert _parts(np.zeros(8, np.bool_)) == [] and _parts(np.ones(8, np.bool_)) == [(0, 8)]


def file_of(head: bytes, *, size: int | None = None) -> bytes:
    return MAGIC + zlib.compress(struct.pack("<I", len(head) if size is None else size) + head)


def test_files_that_are_none(tmp_path: Path) -> None:
    """Each is an error that says what is wrong with it, before anything is taken that it claims."""
    path = tmp_path / "x.rkz"
    whole = Reproducer("gfx942", "k", (1, 1, 1), (64, 1, 1), 0, bytes(8), b"code", (Block(16, ((0, 4),), b"data"),))
    whole.write(path)
    assert read(path) == whole
    data = path.read_bytes()
    for content, fact in (
        (b"", "no file of save_reproducer"),
        (data[:20], "of 4|bytes of"),
        (MAGIC + b"x" * 50, "is damaged"),
        (file_of(b"\x90"), "not 10 values"),
        (file_of(b"\xc1"), "no msgpack"),
        (file_of(b"", size=MOST_HEAD_BYTES + 1), "are the most"),
    ):
        path.write_bytes(content)
        with pytest.raises(ReproducerError, match=fact):
            read(path)
    for wrong in (
        evolve(whole, blocks=(Block(1 << 40, (), b""),)),
        evolve(whole, blocks=(Block(16, ((12, 8),), bytes(8)),)),
        evolve(whole, grid=(-1, 1, 1)),
    ):
        wrong.write(path)
        with pytest.raises(ReproducerError):
            read(path)
    with pytest.raises(ReproducerError, match="no regular file"):
        read(Path("/dev/zero"))
