"""Workers at arm's length: one that dies or hangs is replaced, and costs only the candidate that it was given."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import IO, Any, Final

from attrs import define, field

_START_SECONDS: Final = 300.0  # of a process, before any candidate
_END_SECONDS: Final = 10.0  # that a process may take to write its core and go
_SHOWN: Final = 400  # characters of what a dead worker wrote last


@define(eq=False)
class Worker:
    """A process that answers requests line by line; `command` starts it."""

    command: Sequence[str]
    _process: subprocess.Popen[bytes] | None = field(init=False, default=None)
    _errors: IO[bytes] = field(init=False, factory=tempfile.TemporaryFile)

    @staticmethod
    def on(device: str, warmup: int, iterations: int) -> Worker:
        """A worker that measures on a device."""
        return Worker((sys.executable, "-m", "rocmkern.tuning.worker", device, str(warmup), str(iterations)))

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The answer; an `error` where the process ended or took longer than `seconds`."""
        if self._process is None or self._process.poll() is not None:
            self._start()
            begun = self._line(_START_SECONDS)
            if "error" in begun:
                return begun
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return self._ended()
        return self._line(seconds)

    def _line(self, seconds: float) -> dict[str, Any]:
        """The process's next line."""
        assert self._process is not None and self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        if not ready:
            self.close()
            return {"error": f"it took longer than {seconds:g} s, and was ended"}
        line = self._process.stdout.readline()
        if not line:
            return self._ended()
        found: dict[str, Any] = json.loads(line)
        return found

    def close(self) -> None:
        """Ends the process; the next request starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def _ended(self) -> dict[str, Any]:
        """What is left of a process that closed its side: its exit status, and what it wrote last."""
        assert self._process is not None
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        self.close()
        self._errors.seek(0)
        last = self._errors.read().decode(errors="replace").strip()[-_SHOWN:]
        return {"error": f"its process ended with {self._process.returncode}{': ' if last else ''}{last}"}

    def _start(self) -> None:
        self._errors.seek(0)
        self._errors.truncate()
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(self.command, stdin=pipe, stdout=pipe, stderr=self._errors)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
        self._errors.close()
