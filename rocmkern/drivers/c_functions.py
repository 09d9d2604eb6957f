"""Functions of the vendors' libraries as the bindings hold them, called with C values: half of what the bindings' own
Python functions cost.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

from attrs import frozen

_capsule_name = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.restype, _capsule_name.argtypes = ctypes.c_char_p, (ctypes.py_object,)
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


def function_pointer(capsule: object) -> int:
    """Where the function of a module's `__pyx_capi__` is, however it is declared."""
    return int(_capsule_pointer(capsule, _capsule_name(capsule)))


@frozen
class CFunction:
    """A function and how the bindings declare it. All arguments are integers and pointers, the result is a status."""

    name: str
    declared: bytes

    def found(self, module: str | None) -> Any:
        """What calls it; None where the module does not show it with just this declaration."""
        try:
            capsule = importlib.import_module(module or "").__pyx_capi__[self.name]
        except (ImportError, ValueError, AttributeError, KeyError):
            return None
        if _capsule_name(capsule) != self.declared:
            return None
        return ctypes.CFUNCTYPE(ctypes.c_int)(_capsule_pointer(capsule, self.declared))
