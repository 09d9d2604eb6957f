"""The kinds of cases by name."""

from __future__ import annotations

from typing import Final

from tests.fuzz.calls import Calls
from tests.fuzz.gguf_files import GgufFiles
from tests.fuzz.kind import Kind
from tests.fuzz.machine_code import MachineCode
from tests.fuzz.notes import Notes
from tests.fuzz.objects import Objects
from tests.fuzz.reproducers import Reproducers
from tests.fuzz.texts import Texts

KINDS: Final[dict[str, type[Kind]]] = {
    kind.name: kind for kind in (Objects, MachineCode, Notes, GgufFiles, Texts, Calls, Reproducers)
}
