"""LLVM's disassembler of the PyPI wheel rocm-llvm-python, the oracle for decoding.

It crashes on some invalid encodings, so it lives in a child process that is started again.
Run as a script it answers lines `target hex` with lines `size text`.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType

Answer = tuple[int, str]
CPU = {
    "gfx90a": ("gfx90a", ""),
    "gfx940": ("gfx942", ""),
    "gfx950": ("gfx950", ""),
    "gfx10": ("gfx1030", ""),
    "gfx11": ("gfx1151", "+real-true16"),
    "gfx12": ("gfx1201", "+real-true16"),
}


def library() -> Path:
    """Path of librocmllvm.so."""
    spec = find_spec("rocm.llvm")
    assert spec is not None and spec.submodule_search_locations is not None
    return Path(next(iter(spec.submodule_search_locations))) / "librocmllvm.so"


class Disassembler:
    """Asks the child process; an encoding that kills it has no answer."""

    def __init__(self) -> None:
        self._child = self._start()

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, __file__, str(library())]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Disassembler:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        assert self._child.stdin is not None and self._child.stdout is not None
        self._child.stdin.close()
        self._child.stdout.close()
        self._child.wait()

    def __call__(self, isa: str, code: bytes) -> Answer | None:
        """Size and text of the first instruction; None where LLVM knows none or dies."""
        return self.all(isa, [code])[0]

    def all(self, isa: str, codes: list[bytes]) -> list[Answer | None]:
        """The answer for each of at most 256 codes, which the pipes hold; a death leaves the rest without."""
        assert self._child.stdin is not None and self._child.stdout is not None
        self._child.stdin.write("".join(f"{isa} {code.hex()}\n" for code in codes))
        self._child.stdin.flush()
        answers: list[Answer | None] = []
        while len(answers) < len(codes):
            answer = self._child.stdout.readline()
            if not answer:
                self.close()
                self._child = self._start()
                return answers + [None] * (len(codes) - len(answers))
            size, _, text = answer.partition(" ")
            answers.append((int(size), text.strip()) if size != "0" else None)
        return answers


def _serve(path: str) -> None:
    llvm = ctypes.CDLL(path)
    for part in ("TargetInfo", "TargetMC", "Disassembler"):
        getattr(llvm, f"LLVMInitializeAMDGPU{part}")()
    create = llvm.LLVMCreateDisasmCPUFeatures
    create.restype = ctypes.c_void_p
    create.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    disassemble = llvm.LLVMDisasmInstruction
    disassemble.restype = ctypes.c_size_t
    place = [ctypes.c_uint64, ctypes.c_uint64]
    disassemble.argtypes = [ctypes.c_void_p, ctypes.c_char_p, *place, ctypes.c_char_p, ctypes.c_size_t]
    text = ctypes.create_string_buffer(1024)

    @cache
    def context(isa: str) -> int:
        cpu, features = CPU[isa]
        made = create(b"amdgcn-amd-amdhsa", cpu.encode(), features.encode(), None, 0, None, None)
        assert isinstance(made, int)
        return made

    for line in sys.stdin:
        isa, code = line.split()
        data = bytes.fromhex(code)
        size = disassemble(context(isa), data, len(data), 0, text, len(text))
        print(size, " ".join(text.value.decode().split()), flush=True)


if __name__ == "__main__":
    _serve(sys.argv[1])
