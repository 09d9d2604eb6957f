"""Native code: compile LLVM IR for this CPU, keep it on disk, load it."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterable
from functools import cache, cached_property
from hashlib import blake2b
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

import llvmlite
from attrs import astuple, define, field, frozen

from rocmkern.disk_cache import DiskCache
from rocmkern.emulator.compiler import THOROUGH, attributes, compile_ir, hold_llvm, release_llvm
from rocmkern.emulator.ir import AVX512_VARIABLE, target_features
from rocmkern.emulator.linking import Function, Image, Memory, address_in_process, functions
from rocmkern.emulator.store import Store
from rocmkern.emulator.threads import whole
from rocmkern.errors import DriverError
from rocmkern.locks import Condition, renew_in_children


@frozen
class Code:
    """LLVM IR of one function with external linkage, and what it calls."""

    symbol: str
    text: str
    declarations: dict[str, str]
    needs: tuple[str, ...] = ()  # symbols of other functions of ours
    globals: dict[str, str] = field(factory=dict)
    level: int = THOROUGH


CPU_INFO: Final = Path("/proc/cpuinfo")
CPU_FACTS: Final = ("vendor_id", "cpu family", "model", "stepping", "flags")
Build = Callable[[], Code]


@cache
def translator_version() -> str:
    """A hash of the emulator's own sources and of LLVM: code of another version is never used."""
    state = blake2b(llvmlite.__version__.encode(), digest_size=8)
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        state.update(path.read_bytes())
    return state.hexdigest()


def host() -> str:
    """What code for this CPU depends on. LLVM need not be asked, which takes 30 ms to load."""
    known = [sys.platform, os.environ.get(AVX512_VARIABLE, "")]
    try:
        with CPU_INFO.open() as file:
            first = takewhile(str.strip, file)
            return " ".join([*known, *(line for line in first if line.split("\t")[0] in CPU_FACTS)])
    except OSError:
        return " ".join([*known, target_features()])


@define(eq=False)
class Native:
    """The compiler and the loaded code of this process."""

    _addresses: dict[str, int] = field(factory=dict)
    _memory: Memory = field(factory=Memory)
    _changed: Condition = field(factory=lambda: Condition("native code"))  # on all that is here; reentrant
    _under_way: set[str] = field(factory=set)  # symbols that some thread compiles
    compiled: int = 0  # functions that this process had to compile

    @cached_property
    def store(self) -> Store:
        name = blake2b((host() + translator_version()).encode(), digest_size=10).hexdigest()
        return Store(DiskCache.named("emulator"), name)

    def __attrs_post_init__(self) -> None:
        renew_in_children(self)

    def renew(self) -> None:
        """In a forked child: who compiled is not there."""
        self._under_way.clear()

    def address(self, symbol: str) -> int | None:
        return self._addresses.get(symbol)

    @whole
    def ensure(self, wanted: dict[str, Build], parts: Callable[[str], Build] | None = None) -> None:
        """Make every symbol callable: from this process, from disk, or by compiling all that is missing in one go.

        `parts` gives the builders of symbols that built code needs. Compiling holds no lock: it may take seconds, and
        others want code meanwhile.
        """
        with self._changed:
            absent = [s for s in wanted if not self._load_from_store(s)]
            if absent:
                self.store.refresh()
                absent = [s for s in absent if not self._load_from_store(s)]
        built = [wanted[s]() for s in absent]
        with self._changed:
            codes = self._missing(built, parts)
            while not self._under_way.isdisjoint(c.symbol for c in codes):
                self._changed.wait()
                codes = self._missing(built, parts)
            ours = {c.symbol for c in codes}
            self._under_way |= ours
        try:
            if codes:
                self._compile(codes)
        finally:
            with self._changed:
                self._under_way -= ours
                self._changed.notify_all()

    def _missing(self, codes: list[Code], parts: Callable[[str], Build] | None) -> list[Code]:
        """Those that no thread has added yet, and the code of what they need."""
        codes = [c for c in codes if not self._load_from_store(c.symbol)]
        queue, known = list(codes), {c.symbol for c in codes}
        while queue:
            for needed in queue.pop().needs:
                if needed in known:
                    continue
                if self._load_from_store(needed):
                    continue
                assert parts is not None, f"{needed} has no builder"
                code = parts(needed)()
                known.add(needed)
                codes.append(code)
                queue.append(code)
        return codes

    def _compile(self, codes: list[Code]) -> None:
        """What is called comes first: that is never of a lower level than what calls it."""
        for level in sorted({c.level for c in codes}, reverse=True):
            some = [c for c in codes if c.level == level]
            made = functions(compile_ir(module_text(some), level))
            with self._changed:
                self._place(Image.of(made))
                self.store.write(made)
                self.compiled += len(some)

    def _place(self, image: Image) -> None:
        """Put an image into memory. Of what is there already nothing changes."""
        unknown = [s for _, s, _ in image.foreign if s not in self._addresses and address_in_process(s) is None]
        if unknown:
            raise DriverError(f"compile: the code calls {', '.join(unknown)}, which this process does not have")
        base = self._memory.place(image, lambda s: self._addresses.get(s) or address_in_process(s) or 0)
        for symbol, offset in image.symbols.items():
            self._addresses.setdefault(symbol, base + offset)

    def _load_from_store(self, symbol: str) -> bool:
        """Make a function that is on disk callable, and with it its neighbours and all that they call.

        Files may need each other: a function may be dropped and compiled again with one that calls what called it.
        """
        chosen, queue = dict[str, Function](), [symbol]
        while queue:
            needed = queue.pop()
            if needed in self._addresses or needed in chosen:
                continue
            name = self.store.find(needed)
            held = {} if name is None else self.store.functions(name)
            if name is not None and needed not in held:
                self.store.forget(name)
            if needed in held:
                chosen |= held
                queue += {n for function in held.values() for n in function.needs}
            elif needed == symbol or address_in_process(needed) is None:
                return False
        if chosen:
            self._place(Image.of(chosen.values()))
        return True

    def recall(self, key: str) -> Any:
        """What was kept with an image under a key, whose functions are callable now; None where nothing was."""
        with self._changed:
            kept = self.store.recall(key)
            if kept is None:
                return None
            image, content = Image(*kept[0]), kept[1]
            if not image.symbols.keys() <= self._addresses.keys():
                self._place(image)
            return content

    def keep(self, key: str, symbols: Iterable[str], content: Any) -> None:
        """Keep content with an image of functions and of all that they call, unless one of them is not on disk."""
        with self._changed:
            self.store.refresh()
            image = self._image(symbols)
        if image is not None:
            self.store.keep(key, (astuple(image), content))

    def _image(self, symbols: Iterable[str]) -> Image | None:
        chosen, queue = dict[str, Function](), list(symbols)
        while queue:
            symbol = queue.pop()
            name = self.store.find(symbol)
            if symbol in chosen or (name is None and address_in_process(symbol) is not None):
                continue
            function = None if name is None else self.store.functions(name).get(symbol)
            if function is None:
                return None
            chosen[symbol] = function
            queue += function.needs
        return Image.of(chosen.values())


def module_text(codes: Iterable[Code]) -> str:
    """One module of several functions; what they define needs no declaration."""
    codes = list(codes)
    defined = {c.symbol for c in codes}
    declarations: dict[str, str] = {}
    for code in codes:
        declarations |= {s: d for s, d in code.declarations.items() if s not in defined}
    constants = {s: line for c in codes for s, line in c.globals.items()}
    return "\n".join([*constants.values(), *(c.text for c in codes), *declarations.values(), attributes()])


@cache
def native() -> Native:
    """The native code of this process."""
    here = Native()
    os.register_at_fork(before=hold_llvm, after_in_parent=release_llvm, after_in_child=release_llvm)
    return here


def function(address: int, result: Any, *arguments: Any) -> Callable[..., int]:
    """A Python callable of native code that runs without the GIL."""
    return ctypes.CFUNCTYPE(result, *arguments)(address)
