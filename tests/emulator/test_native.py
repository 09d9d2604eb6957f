"""The cache of translated code on disk."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from llvmlite.binding import create_context, ffi, parse_assembly

from rocmkern.emulator.compiler import THOROUGH, compile_ir, emit_object, target_machine
from rocmkern.emulator.ir import AVX512_VARIABLE, host_features, target_features
from rocmkern.emulator.native import Code, Native, Store
from rocmkern.paths import CACHE_VARIABLE

RUN = """
import numpy as np
from rocmkern.emulator.native import native
from tests.emulator.device import bench
from tests.emulator.test_machine import AFFINE
x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
bench(AFFINE, compiled=True).run("affine", np.uint32(64), x, out, np.float32(2), np.float32(1))
assert (out == 2 * x + 1).all()
print(native().compiled)
"""


def codes(*symbols: str) -> list[Code]:
    return [Code(s, "", {}, ("helper",)) for s in symbols]


def test_what_one_writes_another_finds(tmp_path: Path) -> None:
    """Two stores on one folder see each other's objects and what these need."""
    first, second = Store(tmp_path / "v"), Store(tmp_path / "v")
    first.write(b"object one", codes("a", "b"))
    second.write(b"object two", codes("c"))
    for store in (first, second):
        store.refresh()
        (name, needs), other = store.find("b") or ("", ()), store.find("c")
        assert store.read(name) == b"object one"
        assert needs == ("helper",)
        assert other is not None
        assert store.read(other[0]) == b"object two"


def test_damaged_object_counts_as_missing(tmp_path: Path) -> None:
    """A file whose content is not what its name says is never loaded."""
    store = Store(tmp_path / "v")
    store.write(b"object", codes("a"))
    store.refresh()
    name, _ = store.find("a") or ("", ())
    (tmp_path / "v" / name).write_bytes(b"objec")
    assert store.read(name) is None


def test_cache_is_bounded(tmp_path: Path) -> None:
    """Other versions go first, the oldest before the newer; this one last."""
    stores = [Store(tmp_path / name) for name in ("old", "newer", "mine")]
    for i, store in enumerate(stores):
        store.write(bytes([i]) * 1000, codes(f"s{i}"))
        os.utime(store.folder, (i, i))
    mine = stores[2]
    mine.prune(2600)
    assert [len(list(s.folder.iterdir())) > 0 for s in stores] == [False, True, True]
    mine.prune(1100)
    assert [len(list(s.folder.iterdir())) > 0 for s in stores] == [False, False, True]


def test_second_process_compiles_nothing(tmp_path: Path) -> None:
    """Everything that one process translated, in both tiers, another takes from disk; a lost cache is made anew."""
    environment = {**os.environ, CACHE_VARIABLE: str(tmp_path)}

    def compiled() -> int:
        command = [sys.executable, "-c", RUN]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=Path.cwd())
        return int(done.stdout)

    assert compiled() > 10
    assert compiled() == 0
    for file in tmp_path.rglob("*.o"):
        file.write_bytes(b"")
    assert compiled() > 10


def test_avx512_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """ROCMKERN_AVX512=0 takes away exactly what a CPU has of AVX-512; nothing is taken away without it."""
    has = {"avx2": True, "fma": True, "avx512f": True, "avx512vl": True, "avx10.1": True, "amx-int8": False}
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_features", lambda: has)
    try:
        for value, wanted in (("1", {"avx2", "fma", "avx512f", "avx512vl", "avx10.1"}), ("0", {"avx2", "fma"})):
            monkeypatch.setenv(AVX512_VARIABLE, value)
            host_features.cache_clear()
            target_features.cache_clear()
            assert host_features() == wanted
            assert set(target_features().split(",")) == {("+" if n in wanted else "-") + n for n in has}
    finally:
        host_features.cache_clear()
        target_features.cache_clear()


def quick(symbol: str, needs: tuple[str, ...] = ()) -> Code:
    return Code(symbol, f"define void @{symbol}() {{ ret void }}\n", {}, needs)


def test_compiling_holds_up_only_who_wants_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one thread compiles, another gets other code; one that wants the same waits, and it is compiled once."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    here, begun, go_on, texts = Native(), threading.Event(), threading.Event(), list[str]()

    def compile_slowly(text: str, level: int) -> bytes:
        texts.append(text)
        if "@slow_part" in text:
            begun.set()
            assert go_on.wait(60)
        return compile_ir(text, level)

    monkeypatch.setattr("rocmkern.emulator.native.compile_ir", compile_slowly)

    def want(symbol: str, *needs: str) -> None:
        here.ensure({symbol: lambda: quick(symbol, needs)}, lambda part: lambda: quick(part))

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(want, "slow", "slow_part")
        try:
            assert begun.wait(60)
            want("other")
            assert here.address("other")
            second = threads.submit(want, "another", "slow_part")
            assert not wait([second], 0.05).done
            assert here.address("slow") is None
        finally:
            go_on.set()
        first.result()
        second.result()
    assert here.address("slow")
    assert here.address("another")
    assert sum("@slow_part()" in text for text in texts) == 1


def test_emission_does_without_the_lock_of_llvmlite() -> None:
    """Code is emitted while another thread holds the lock, and is what llvmlite's own way emits."""
    machine = target_machine(THOROUGH)
    module = parse_assembly("define i32 @next(i32 %a) {\n  %b = add i32 %a, 1\n  ret i32 %b\n}\n", create_context())
    with ThreadPoolExecutor(1) as thread, ffi.lib._lock:
        data = thread.submit(emit_object, machine, module).result(60)
    assert data == machine.emit_object(module)
