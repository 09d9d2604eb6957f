"""Native code: compile LLVM IR for this CPU, keep it on disk, load it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from functools import cache, cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import llvmlite
from attrs import define, field, frozen

from rocmkern.emulator.compiler import THOROUGH, attributes, compile_ir, target_machine
from rocmkern.emulator.ir import target_features
from rocmkern.emulator.threads import whole
from rocmkern.errors import DriverError
from rocmkern.paths import cache_folder

CACHE_LIMIT_BYTES: Final = 512 << 20
DIGEST_BYTES: Final = 12
SYMBOL_TABLE: Final = 2
_SECTION: Final = struct.Struct("<4xI16xQQI")  # of a section's header: kind, where it lies, its size, that of its names
_SYMBOL: Final = struct.Struct("<I2xH16x")  # name, section (0: undefined)


@frozen
class Code:
    """LLVM IR of one function with external linkage, and what it calls."""

    symbol: str
    text: str
    declarations: dict[str, str]
    needs: tuple[str, ...] = ()  # symbols of other functions of ours
    globals: dict[str, str] = field(factory=dict)
    level: int = THOROUGH


Build = Callable[[], Code]


@cache
def translator_version() -> str:
    """A hash of the emulator's own sources and of LLVM: code of another version is never used."""
    state = blake2b(llvmlite.__version__.encode(), digest_size=8)
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        state.update(path.read_bytes())
    return state.hexdigest()


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=DIGEST_BYTES).digest()


def _object_name(data: bytes) -> str:
    return _digest(data).hex() + ".o"


@define(eq=False)
class Store:
    """Object files on disk, one per compilation, and an index line per symbol. Writers in several processes are safe:
    files appear by rename, index lines by one append, and equal symbols have equal meaning."""

    folder: Path
    _index: dict[str, tuple[str, tuple[str, ...]]] = field(factory=dict)
    _read: int = 0
    _is_pruned: bool = False

    @property
    def index_path(self) -> Path:
        return self.folder / "index"

    def refresh(self) -> None:
        """Read the index lines that appeared since."""
        with contextlib.suppress(OSError), self.index_path.open("rb") as file:
            file.seek(self._read)
            data = file.read()
            end = data.rfind(b"\n") + 1
            self._read += end
            for line in data[:end].decode().splitlines():
                symbol, name, *needs = line.split()
                self._index.setdefault(symbol, (name, tuple(needs)))

    def find(self, symbol: str) -> tuple[str, tuple[str, ...]] | None:
        """The file that holds `symbol`, and the symbols of others that the file needs."""
        return self._index.get(symbol)

    def profile(self, key: str) -> dict[int, tuple[str, list[int]]]:
        """What was compiled of a kernel in earlier runs: where units begin, their symbols and their blocks."""
        try:
            lines = [line.split() for line in (self.folder / key).read_text().splitlines()]
        except OSError:
            return {}
        return {int(pc): (symbol, [int(block) for block in blocks]) for pc, symbol, *blocks in lines}

    def keep_profile(self, key: str, units: dict[int, tuple[str, list[int]]]) -> None:
        lines = (" ".join((str(pc), symbol, *map(str, blocks))) for pc, (symbol, blocks) in units.items())
        with contextlib.suppress(OSError):
            self._replace(key, "".join(f"{line}\n" for line in lines).encode())

    def recall(self, key: str) -> bytes | None:
        """What an earlier process kept under this key; None where nothing, or it is damaged."""
        try:
            data = (self.folder / key).read_bytes()
        except OSError:
            return None
        return data[DIGEST_BYTES:] if _digest(data[DIGEST_BYTES:]) == data[:DIGEST_BYTES] else None

    def keep(self, key: str, data: bytes) -> None:
        with contextlib.suppress(OSError):
            self._replace(key, _digest(data) + data)

    def _replace(self, name: str, data: bytes) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=self.folder)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).replace(self.folder / name)

    def read(self, name: str) -> bytes | None:
        """The object file; None where it is gone or damaged: files are named by their content."""
        try:
            data = (self.folder / name).read_bytes()
        except OSError:
            return None
        return data if _object_name(data) == name else None

    def forget(self, name: str) -> None:
        """Drop what a vanished file held."""
        self._index = {s: entry for s, entry in self._index.items() if entry[0] != name}

    def write(self, data: bytes, codes: list[Code]) -> None:
        """Keep an object file; without a writable folder nothing is kept."""
        name = _object_name(data)
        try:
            self._replace(name, data)
            defined = {c.symbol for c in codes}
            needs = sorted({n for c in codes for n in c.needs} - defined)
            lines = "".join(f"{' '.join((c.symbol, name, *needs))}\n" for c in codes)
            descriptor = os.open(self.index_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(descriptor, lines.encode())
            finally:
                os.close(descriptor)
        except OSError:
            return
        if not self._is_pruned:
            self._is_pruned = True
            self.prune(CACHE_LIMIT_BYTES)

    def prune(self, limit_bytes: int) -> None:
        """Empty the folders of other versions and hosts, oldest first, then this one, while all exceed the limit."""
        with contextlib.suppress(OSError):
            folders = sorted((p for p in self.folder.parent.iterdir() if p.is_dir()), key=lambda p: p.stat().st_mtime)
            folders.sort(key=lambda p: p == self.folder)
            sizes = {p: sum(f.stat().st_size for f in p.iterdir()) for p in folders}
            total = sum(sizes.values())
            for old in folders:
                if total <= limit_bytes:
                    return
                total -= sizes[old]
                for file in old.iterdir():
                    file.unlink(missing_ok=True)


@define(eq=False)
class Native:
    """The compiler and the loaded code of this process."""

    _addresses: dict[str, int] = field(factory=dict)
    _loaded: set[str] = field(factory=set)
    _changed: threading.Condition = field(factory=threading.Condition)  # on all that is here; reentrant
    _under_way: set[str] = field(factory=set)  # symbols that some thread compiles
    compiled: int = 0  # functions that this process had to compile

    @cached_property
    def engine(self) -> Any:
        import llvmlite.binding as llvm

        return llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine(THOROUGH))

    @cached_property
    def store(self) -> Store:
        import llvmlite.binding as llvm

        host = llvm.get_host_cpu_name() + target_features() + sys.platform
        name = blake2b((host + translator_version()).encode(), digest_size=10).hexdigest()
        store = Store(cache_folder() / "emulator" / name)
        store.refresh()
        return store

    def forget_threads(self) -> None:
        """In a forked child: who compiled, or held the lock, is not there."""
        self._under_way.clear()
        self._changed = threading.Condition()

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
            with self._changed:
                self._resolve_all(wanted)
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
                    self._resolve(needed)
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
            data = compile_ir(module_text(some), level)
            self._refuse_unknown(data)
            with self._changed:
                self._add(data)
                self.store.write(data, some)
                self.compiled += len(some)
                self._resolve_all(c.symbol for c in some)

    def _resolve_all(self, symbols: Iterable[str]) -> None:
        for symbol in symbols:
            self._resolve(symbol)

    @whole
    def load(self, symbols: Iterable[str]) -> bool:
        """Load symbols from disk; False where one is not there."""
        with self._changed:
            wanted = list(symbols)
            if not all(self._load_from_store(s) for s in wanted):
                return False
            self._resolve_all(wanted)
            return True

    def _resolve(self, symbol: str) -> None:
        """Link what was added, and make the symbol known to objects that come later."""
        import llvmlite.binding as llvm

        if symbol not in self._addresses:
            address = self.engine.get_function_address(symbol)
            assert address, f"{symbol} was not linked"
            self._addresses[symbol] = address
            llvm.add_symbol(symbol, address)

    def _load_from_store(self, symbol: str) -> bool:
        if symbol in self._addresses:
            return True
        entry = self.store.find(symbol)
        if entry is None:
            return False
        name, needs = entry
        if not all(self._load_from_store(n) for n in needs):
            return False
        for needed in needs:
            self._resolve(needed)
        if name not in self._loaded:
            data = self.store.read(name)
            if data is None:
                self.store.forget(name)
                return False
            self._add(data)
            self._loaded.add(name)
        return True

    def _add(self, data: bytes) -> None:
        import llvmlite.binding as llvm

        self.engine.add_object_file(llvm.ObjectFileRef.from_data(data))

    def _refuse_unknown(self, data: bytes) -> None:
        """LLVM ends the process at a call that it can't link, such as one of a C library function that is not here."""
        import llvmlite.binding as llvm

        process = ctypes.CDLL(None)
        missing = [s for s in undefined_symbols(data) if llvm.address_of_symbol(s) is None and not hasattr(process, s)]
        if missing:
            raise DriverError(f"compile: the code calls {', '.join(missing)}, which this process does not have")


def undefined_symbols(data: bytes) -> list[str]:
    """Names that an ELF object of 64 bits needs from elsewhere; none for other formats."""
    if data[:5] != b"\x7fELF\x02":
        return []
    (table,), (entry_bytes, count) = struct.unpack_from("<Q", data, 40), struct.unpack_from("<HH", data, 58)
    sections = [_SECTION.unpack_from(data, table + i * entry_bytes) for i in range(count)]
    names = list[str]()
    for kind, offset, size, link in sections:
        if kind == SYMBOL_TABLE:
            texts = sections[link][1]
            for name, place in _SYMBOL.iter_unpack(data[offset : offset + size]):
                if name and not place:
                    names.append(data[texts + name : data.index(0, texts + name)].decode())
    return names


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
    os.register_at_fork(after_in_child=here.forget_threads)
    return here


def function(address: int, result: Any, *arguments: Any) -> Callable[..., int]:
    """A Python callable of native code that runs without the GIL."""
    return ctypes.CFUNCTYPE(result, *arguments)(address)
