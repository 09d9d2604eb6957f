"""What other packages want to be told of ours, told when they are imported, before or after this one: none is imported
for that.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

Told = Callable[[ModuleType], object]


class _Watch(MetaPathFinder):
    """Waits for the import of one module."""

    def __init__(self, name: str, tell: Told) -> None:
        self._name, self._tell = name, tell

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(fullname, path, target)
        loader: Any = None if spec is None else spec.loader
        if loader is not None:
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                self._tell(module)

            loader.exec_module = exec_module
        return spec


def when_imported(name: str, tell: Told) -> None:
    """Has `tell` called with the module of that name, now or as soon as it is imported."""
    if name in sys.modules:
        tell(sys.modules[name])
    else:
        sys.meta_path.insert(0, _Watch(name, tell))
