"""The cache of translated code on disk."""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path

import llvmlite.binding as llvm
import pytest
from llvmlite.binding import create_context, ffi, parse_assembly

from rocmkern.disk_cache import DiskCache, prune
from rocmkern.emulator import linking, native, store
from rocmkern.emulator.compiler import THOROUGH, compile_ir, emit_object, target_machine
from rocmkern.emulator.ir import AVX512_VARIABLE, host_features, target_features
from rocmkern.emulator.linking import Function, Image, Memory, functions
from rocmkern.emulator.native import Code, Native
from rocmkern.emulator.store import Store
from rocmkern.errors import DriverError
from rocmkern.paths import CACHE_VARIABLE

RUN = """
import sys
import numpy as np
from rocmkern.emulator.native import native
from tests.emulator.device import bench
from tests.emulator.test_machine import AFFINE
x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
bench(AFFINE, compiled=True).run("affine", np.uint32(64), x, out, np.float32(2), np.float32(1))
assert (out == 2 * x + 1).all()
print(native().compiled, "llvmlite.binding" in sys.modules)
"""


def made(symbol: str, *needs: str) -> Function:
    return Function(symbol, symbol.encode(), tuple((0, need, 0) for need in needs))


def held(by: Store, symbol: str) -> Function | None:
    name = by.find(symbol)
    return None if name is None else by.functions(name).get(symbol)


def test_what_one_writes_another_finds(tmp_path: Path) -> None:
    """Two stores on one folder see each other's functions and what these need; those of another version stay apart."""
    cache = DiskCache(tmp_path)
    first, second, third = Store(cache, "v"), Store(cache, "v"), Store(cache, "w")
    first.write([made("a"), made("b", "helper")])
    second.write([made("c")])
    for each in (first, second, third):
        each.refresh()
    for each in (first, second):
        assert held(each, "b") == made("b", "helper")
        assert held(each, "c") == made("c")
    assert third.find("b") is None


def test_damaged_functions_count_as_missing(tmp_path: Path) -> None:
    """A cut-off file is never used; what takes its place is found, and so it is behind a cut-off index line."""
    Store(DiskCache(tmp_path), "v").write([made("a")])
    (file,) = (tmp_path / "v").glob("*.kept")
    file.write_bytes(file.read_bytes()[:-1])
    later = Store(DiskCache(tmp_path), "v")
    later.refresh()
    assert held(later, "a") is None
    later.index_path.write_bytes(later.index_path.read_bytes()[:-1])
    later.write([made("a")])
    later.write([made("b")])
    last = Store(DiskCache(tmp_path), "v")
    last.refresh()
    assert held(last, "b") == made("b")


@pytest.mark.parametrize("damage", [b"\n", b"\0\0\0\0", b"\xff\xfe", b"\0\0 a\n\n"])
def test_what_a_crash_leaves_in_the_index_is_passed_over(tmp_path: Path, damage: bytes) -> None:
    """Empty lines, zeros, bytes that are no text."""
    here = Store(DiskCache(tmp_path), "v")
    here.write([made("a")])
    here.index_path.write_bytes(here.index_path.read_bytes() + damage + b"\n")
    Store(DiskCache(tmp_path), "v").write([made("b")])
    later = Store(DiskCache(tmp_path), "v")
    later.refresh()
    assert [held(later, "a"), held(later, "b")] == [made("a"), made("b")]


def test_an_index_that_takes_the_place_of_a_dropped_one_is_read(tmp_path: Path) -> None:
    """From its beginning, by who has read more of the former."""
    first = Store(DiskCache(tmp_path), "v")
    first.write([made("a"), made("b")])
    first.refresh()
    first.index_path.unlink()
    Store(DiskCache(tmp_path), "v").write([made("c")])
    first.refresh()
    assert held(first, "c") == made("c")


def test_functions_whose_file_was_dropped_are_found_where_they_were_kept_again(tmp_path: Path) -> None:
    """The later index line counts: files group functions as they happened to be compiled together."""
    Store(DiskCache(tmp_path), "v").write([made("a"), made("b")])
    (file,) = (tmp_path / "v").glob("*.kept")
    file.unlink()
    Store(DiskCache(tmp_path), "v").write([made("a")])
    last = Store(DiskCache(tmp_path), "v")
    last.refresh()
    assert held(last, "a") == made("a")
    assert held(last, "b") is None


def test_a_store_holds_a_bounded_number_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it let go it reads again."""
    monkeypatch.setattr(store, "MOST_HELD", 2)
    here = Store(DiskCache(tmp_path), "v")
    for symbol in "abcdef":
        here.write([made(symbol)])
    assert len(here._held) <= 2
    assert [held(here, symbol) for symbol in "abcdef"] == [made(symbol) for symbol in "abcdef"]
    assert len(here._held) <= 2


def test_an_index_in_use_outlasts_the_limit(tmp_path: Path) -> None:
    """Reading it counts as use."""
    here = Store(DiskCache(tmp_path), "v")
    here.write([made("a")])
    os.utime(here.index_path, (0, 0))
    Store(DiskCache(tmp_path), "v").refresh()
    prune(tmp_path, 0)
    assert here.index_path.exists()


def test_an_index_that_cannot_be_written(tmp_path: Path) -> None:
    """This process has the functions all the same."""
    here = Store(DiskCache(tmp_path), "v")
    here.index_path.mkdir(parents=True)
    here.write([made("a")])
    here.refresh()
    assert held(here, "a") == made("a")


def test_a_kernel_is_kept_again_by_who_took_it_from_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its functions came with it, not by the index, which is read for that."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    first, second, third = Native(), Native(), Native()
    first.ensure({"one": lambda: quick("one")})
    first.keep("kernel", ["one"], 1)
    assert second.recall("kernel") == 1
    second.keep("kernel", ["one"], 2)
    assert third.recall("kernel") == 2
    assert third.address("one")


def test_second_process_compiles_nothing(tmp_path: Path) -> None:
    """What one process translated, in both tiers, another takes from disk without LLVM; a lost cache is made anew."""
    environment = {**os.environ, CACHE_VARIABLE: str(tmp_path)}

    def compiled() -> tuple[int, bool]:
        command = [sys.executable, "-c", RUN]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=Path.cwd())
        count, has_llvm = done.stdout.split()
        return int(count), has_llvm == "True"

    assert compiled()[0] > 10
    assert compiled() == (0, False)
    for file in tmp_path.rglob("*.kept"):
        file.write_bytes(b"")
    assert compiled()[0] > 10


CPU = "processor\t: 0\nvendor_id\t: A\nmodel\t\t: 1\nflags\t\t: avx2 {more}\ncpu MHz\t\t: {speed}\n\nprocessor\t: 1\n"


def test_code_of_another_cpu_or_emulator_lies_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a CPU can do counts, not how fast it is; so do AVX-512 left out and the emulator's own sources."""
    info = tmp_path / "cpuinfo"
    monkeypatch.setattr(native, "CPU_INFO", info)
    monkeypatch.delenv(AVX512_VARIABLE, raising=False)

    def version(more: str = "", speed: str = "2000") -> str:
        info.write_text(CPU.format(more=more, speed=speed))
        return Native().store.version

    first = version()
    assert version(speed="3000") == first
    assert version("avx512f") != first
    info.unlink()
    assert Native().store.version != first
    with monkeypatch.context() as other:
        other.setenv(AVX512_VARIABLE, "0")
        assert version() != first
    monkeypatch.setattr(native, "translator_version", lambda: "another")
    assert version() != first


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


def test_files_that_need_each_other_are_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`a` was dropped and compiled again with one that calls `b`, beside which lies one that calls `a`."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    texts = {
        name: f"define i32 @{name}() {{ {body} }}\n"
        for name, body in {
            "a": "ret i32 1", "x": "%r = call i32 @b()\n ret i32 %r",
            "b": "ret i32 2", "y": "%r = call i32 @a()\n ret i32 %r",
        }.items()
    }  # fmt: skip
    for names, other in (("ax", "b"), ("by", "a")):
        declared = f"declare i32 @{other}()"
        Native().store.write(functions(compile_ir("".join(texts[n] for n in names) + declared, THOROUGH)))
    here = Native()
    here.ensure(dict.fromkeys("ay", partial(pytest.fail, "compiled")))
    for name, result in zip("axby", (1, 2, 2, 1), strict=True):
        assert ctypes.CFUNCTYPE(ctypes.c_int32)(here.address(name) or 0)() == result


def test_emission_does_without_the_lock_of_llvmlite() -> None:
    """Code is emitted while another thread holds the lock, and is what llvmlite's own way emits."""
    machine = target_machine(THOROUGH)
    module = parse_assembly("define i32 @next(i32 %a) {\n  %b = add i32 %a, 1\n  ret i32 %b\n}\n", create_context())
    with ThreadPoolExecutor(1) as thread, ffi.lib._lock:
        data = thread.submit(emit_object, machine, module).result(60)
    assert data == machine.emit_object(module)


PARTS = """
@unlike = internal constant [5 x i64] [i64 1, i64 2, i64 3, i64 4, i64 6]
@table = internal constant [3 x i64] [i64 5, i64 7, i64 11]
define i64 @other(i64 %i) {
  %at = getelementptr i64, ptr @unlike, i64 %i
  %n = load i64, ptr %at
  ret i64 %n
}
define internal i64 @inner(i64 %i) noinline {
  %at = getelementptr i64, ptr @table, i64 %i
  %n = load i64, ptr %at
  ret i64 %n
}
define double @halved(double %x) {
  %y = fmul double %x, 5.0e-1
  %z = fadd double %y, 3.0e+0
  ret double %z
}
define i64 @outer(i64 %i) {
  %a = call i64 @inner(i64 %i)
  %b = call i64 @elsewhere(i64 %a)
  ret i64 %b
}
declare i64 @elsewhere(i64)
@one = private unnamed_addr constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]
@two = private unnamed_addr constant [4 x i32] [i32 5, i32 6, i32 7, i32 8]
define i32 @ahead(i64 %i) {
  %j = add i64 %i, 6
  %at = getelementptr i32, ptr @one, i64 %j
  %n = load i32, ptr %at
  ret i32 %n
}
define i32 @plain(i64 %i) {
  %at = getelementptr i32, ptr @two, i64 %i
  %n = load i32, ptr %at
  ret i32 %n
}
"""


def test_functions_run_wherever_they_are_put() -> None:
    """With their own constants, tables and calls: in any order, each by itself, and twice."""
    parts = {f.symbol: f for f in functions(compile_ir(PARTS, THOROUGH))}
    assert parts.keys() == {"inner", "halved", "outer", "other", "ahead", "plain"}
    assert parts["outer"].needs == {"inner", "elsewhere"}
    assert parts["halved"].needs == set()
    memory, double = Memory(), ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda n: 2 * n)
    elsewhere = ctypes.cast(double, ctypes.c_void_p).value or 0
    for names in (("inner", "outer"), ("outer", "halved", "inner")):
        image = Image.of(parts[name] for name in names)
        assert [symbol for _, symbol, _ in image.foreign] == ["elsewhere"]
        base = memory.place(image, {"elsewhere": elsewhere}.__getitem__)
        outer = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(base + image.symbols["outer"])
        assert [outer(i) for i in range(3)] == [10, 14, 22]
    halved = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(base + image.symbols["halved"])
    assert halved(5.0) == 5.5
    image = Image.of(parts[name] for name in ("ahead", "plain"))
    base = memory.place(image, {}.__getitem__)
    ahead, plain = (ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64)(base + at) for at in image.symbols.values())
    assert [ahead(i) for i in range(-6, -2)] == [1, 2, 3, 4]  # by an address behind the table
    assert [plain(i) for i in range(4)] == [5, 6, 7, 8]


def test_an_image_may_be_larger_than_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets one of its own, and what comes next another."""
    monkeypatch.setattr(linking, "CHUNK_BYTES", mmap.PAGESIZE)
    (returns,) = functions(compile_ir("define i32 @f() { ret i32 7 }\n", THOROUGH))
    large, memory = Function("large", bytes(3 * mmap.PAGESIZE), ()), Memory()
    for symbols in ((large, returns), (returns,), (large, returns)):
        image = Image.of(symbols)
        base = memory.place(image, {}.__getitem__)
        assert ctypes.CFUNCTYPE(ctypes.c_int32)(base + image.symbols["f"])() == 7


def test_code_for_one_place_is_refused() -> None:
    """Only addresses of 64 bits reach from wherever a function is put."""
    small = llvm.Target.from_default_triple().create_target_machine(codemodel="small", reloc="pic")
    text = "define void @f() {\n  call void @g()\n  call void @g()\n  ret void\n}\ndeclare void @g()\n"
    with pytest.raises(DriverError, match="compile: f has a relocation of type"):
        functions(small.emit_object(llvm.parse_assembly(text)))


def test_code_with_variables_is_refused() -> None:
    """It could not be shared by images."""
    text = "@n = internal global i64 0\ndefine void @f(i64 %i) {\n  store volatile i64 %i, ptr @n\n  ret void\n}\n"
    with pytest.raises(DriverError, match="compile: f refers to variables, which code that moves can't have"):
        functions(compile_ir(text, THOROUGH))


def test_code_that_calls_what_is_not_here_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it runs, and nothing of it is kept."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    here, text = Native(), "define void @f() { call void @nowhere()\nret void }\ndeclare void @nowhere()\n"
    with pytest.raises(DriverError, match="compile: the code calls nowhere, which this process does not have"):
        here.ensure({"f": lambda: Code("f", text, {})})
    assert here.address("f") is None
    assert list(tmp_path.rglob("*.kept")) == []
