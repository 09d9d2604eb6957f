"""What the emulator keeps on disk: functions by symbol, kernels by content."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import msgpack
from attrs import define, field

from rocmkern import private_files
from rocmkern.disk_cache import DiskCache, use
from rocmkern.emulator.linking import Function

_NAME_BYTES: Final = 12
_LINE: Final = re.compile(rb"^([0-9a-f]{%d})((?: [!-~]+)+)$" % (2 * _NAME_BYTES), re.MULTILINE)  # skips damaged ones
MOST_HELD: Final = 256  # files whose functions stay in memory, for the kernels that consist of them


@define(eq=False)
class Store:
    """Files of functions, one per compilation, with an index line per symbol; and a file per kernel with all that it
    needs. Writers in several processes are safe: files appear by rename, index lines by one append, and equal symbols
    have equal meaning."""

    cache: DiskCache
    version: str  # of the emulator and this CPU: a folder of its own
    _index: dict[str, str] = field(factory=dict)  # symbol → file
    _read: int = 0
    _held: dict[str, dict[str, Function]] = field(factory=dict)  # by file

    @property
    def index_path(self) -> Path:
        return self.cache.folder / self._index_name

    @property
    def _index_name(self) -> str:
        return f"{self.version}/index"

    def refresh(self) -> None:
        """Read the index lines that appeared since."""
        with contextlib.suppress(OSError), private_files.stream(self.cache.folder, self._index_name) as file:
            if file.seek(0, os.SEEK_END) < self._read:
                self._read = 0  # another one, in the place of one that was dropped
            file.seek(self._read)
            data = file.read()
            use(self.index_path)
            end = data.rfind(b"\n") + 1
            self._read += end
            for name, symbols in _LINE.findall(data[:end]):
                self._index |= dict.fromkeys(symbols.decode().split(), name.decode())

    def find(self, symbol: str) -> str | None:
        """The file that holds a function."""
        return self._index.get(symbol)

    def forget(self, name: str) -> None:
        """Drop what a vanished file held."""
        self._index = {symbol: file for symbol, file in self._index.items() if file != name}

    def functions(self, name: str) -> dict[str, Function]:
        """Those of a file; none where it is gone or damaged."""
        held = self._held.get(name)
        if held is None:
            held = {symbol: Function(symbol, *rest) for symbol, *rest in self.recall(name) or ()}
            self._hold(name, held)
        return held

    def _hold(self, name: str, held: dict[str, Function]) -> None:
        if len(self._held) >= MOST_HELD:
            self._held.clear()
        if held:
            self._held[name] = held

    def write(self, functions: Iterable[Function]) -> None:
        """Keep functions; without a writable folder this process alone has them."""
        held = {function.symbol: function for function in functions}
        symbols = " ".join(held)
        name = blake2b(symbols.encode(), digest_size=_NAME_BYTES).hexdigest()
        self._hold(name, held)
        self._index |= dict.fromkeys(held, name)
        if not self.keep(name, [(f.symbol, f.code, f.fixes) for f in held.values()]):
            return
        line = f"{name} {symbols}\n"
        with contextlib.suppress(OSError):
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
            descriptor = private_files.opened_file(self.cache.folder, self._index_name, flags)
            try:
                os.write(descriptor, line.encode())
            finally:
                os.close(descriptor)

    def recall(self, key: str) -> Any:
        """What was kept under this key; None where nothing, or it is damaged."""
        data = self.cache.fetch(f"{self.version}/{key}")
        return None if data is None else msgpack.unpackb(data, use_list=False, strict_map_key=False)

    def keep(self, key: str, content: Any) -> bool:
        return self.cache.keep(f"{self.version}/{key}", msgpack.packb(content))
