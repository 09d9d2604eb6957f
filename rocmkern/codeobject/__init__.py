"""Reading code objects: ELF, clang offload bundles, kernel metadata."""

from rocmkern.codeobject.bundle import BundleEntry, read_bundle
from rocmkern.codeobject.model import Argument, CodeObject, Kernel, Segment
from rocmkern.codeobject.reader import read

__all__ = ["Argument", "BundleEntry", "CodeObject", "Kernel", "Segment", "read", "read_bundle"]
