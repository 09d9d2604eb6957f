"""Foreign code objects: packages such as AITER's, checked, chosen from, launched."""

from rocmkern.packages.args import KernelArgs, Packing, pointer, scalar
from rocmkern.packages.check import Report, check
from rocmkern.packages.choice import Choice, KernelTable
from rocmkern.packages.kinds import KINDS, Kind
from rocmkern.packages.package import KernelPackage

__all__ = [
    "KINDS", "Choice", "KernelArgs", "KernelPackage", "KernelTable", "Kind", "Packing", "Report", "check", "pointer",
    "scalar",
]  # fmt: skip
