"""Faults in code objects that show without running them."""

from rocmkern.checking.findings import Finding, Instruction, Report
from rocmkern.checking.lint import lint

__all__ = ["Finding", "Instruction", "Report", "lint"]
