"""Compiles the kernels into the package before a wheel is made of it."""

import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileKernels(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from my_kernels import kernels

        kernels.build()
