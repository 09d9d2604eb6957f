"""The error tree: every error is also the builtin that a Python programmer would catch.

Messages read `operation: fact with values; remedy`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

_LOG_LINES: Final = 24  # of a compiler's, in a message


class RocmkernError(Exception):
    """Base of all errors that rocmkern raises itself."""

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Pickled by a call of the class: tblib, by which dask sends errors, makes other exceptions by `__new__`, which
        is MemoryError's own where that is a base too, and refuses.
        """
        return super().__reduce__()


class CodeObjectError(RocmkernError, ValueError):
    """A file is no code object that can be read: truncated, corrupt or of another kind."""


class TargetNotBuilt(RocmkernError, LookupError):
    """No shipped code object serves the device's target."""


class KernelNotFound(RocmkernError, LookupError):
    """A module has no kernel of that name."""


class ModuleNotShipped(RocmkernError, LookupError):
    """The package holds no kernel family of that name."""


class ArgumentError(RocmkernError, TypeError):
    """A kernel argument has the wrong count, kind, width or dtype."""


class ArgumentRangeError(ArgumentError, ValueError):
    """A number does not fit the kernel parameter's dtype."""


class ArgumentLayoutError(ArgumentError, ValueError):
    """A kernel can't follow a tensor's strides, or is told of more elements than its memory has."""


class LaunchError(RocmkernError, ValueError):
    """Grid, block or shared memory violate a limit of the kernel or the device."""


class DeviceNotFound(RocmkernError, LookupError):
    """The named device does not exist here."""


class DriverUnavailable(RocmkernError, RuntimeError):
    """The driver's library can't be loaded on this machine."""


class DriverError(RocmkernError, RuntimeError):
    """The driver answered with an error status."""


class DeviceOutOfMemory(RocmkernError, MemoryError):
    """The device has not enough free memory."""


class ClosedError(RocmkernError, RuntimeError):
    """An object was used after close()."""


class MemoryFault(RocmkernError, RuntimeError):
    """A kernel accessed memory that it may not access."""


class KernelTimeout(RocmkernError, TimeoutError):
    """A kernel ran longer than the watchdog allows, or can never finish."""


class BarrierDeadlock(KernelTimeout):
    """Waves of a workgroup wait at a barrier that another one of its waves never reached."""


class KernelAborted(RocmkernError, RuntimeError):
    """A kernel ended itself: an assert failed, or it executed a trap."""


class UnsupportedInstruction(RocmkernError, NotImplementedError):
    """The emulator met an instruction it does not know."""


class BuildError(RocmkernError, RuntimeError):
    """A kernel source did not compile, or no compiler is there. The message shows the first lines of the compiler's
    `log`.
    """

    def __init__(self, message: str, log: str = "") -> None:
        self.log = log.strip()
        lines = self.log.splitlines()
        more = [f"and {len(lines) - _LOG_LINES} lines more"] if len(lines) > _LOG_LINES else []
        super().__init__("\n".join((message, *lines[:_LOG_LINES], *more)))


class StaleCodeObject(RocmkernError, RuntimeError):
    """A code object was made of other sources, flags or declarations than those that lie beside it."""


class CompileWarning(UserWarning):
    """The compiler warns of something in a source that it compiled."""


class IndexOutOfRange(RocmkernError, IndexError):
    """An index lies outside its axis, or there are more indices than axes."""


class KernelIndexError(IndexOutOfRange):
    """An index tensor holds a value outside the indexed axis."""


class ShapeError(RocmkernError, ValueError):
    """Shapes or axes do not fit the operation."""


class AxesAttributeError(ShapeError, AttributeError):
    """An attribute that tensors of so many dimensions do not have."""


class AxisError(ShapeError, IndexError):
    """An axis number is outside the tensor's dimensions."""


class LinAlgError(RocmkernError, ValueError):
    """A matrix is singular, not positive definite or not finite, where the operation can't take that."""


class DTypeError(RocmkernError, TypeError):
    """A dtype does not fit the operation."""


class UnknownKind(DTypeError, ValueError):
    """There is no dtype, and no kind of them, of that name."""


class ScalarRangeError(RocmkernError, OverflowError):
    """A Python number lies outside the range of the tensor's dtype."""


class ExchangeError(RocmkernError, BufferError, ValueError):
    """Memory can't be shared with another library as asked; a copy can be made instead."""


class GgufError(RocmkernError, ValueError):
    """A file is no GGUF file that can be read: truncated, corrupt, or with tensors of a kind unknown here."""


class ReproducerError(RocmkernError, ValueError):
    """A file is no saved launch that can be read, or a launch is too much for one."""


class TensorNotFound(RocmkernError, KeyError):
    """A file has no tensor of that name."""

    __str__ = Exception.__str__  # KeyError shows its message as a quoted key


class FormatNotFound(RocmkernError, LookupError):
    """There is no block format of that name, or no kernel that does this with it."""


class ModelNotFound(RocmkernError, LookupError):
    """A model's files or the packages that read them are not installed."""


class UnsupportedArchitecture(RocmkernError, LookupError):
    """A model is of a kind, or has a part, that is not computed here."""


class TemplateError(RocmkernError, ValueError):
    """A chat template is missing, does not parse, or refuses the messages."""


class ContextError(RocmkernError, ValueError):
    """More tokens than a session has room for."""


class PackageError(RocmkernError, ValueError):
    """A package of foreign kernels, or a table in it, can't be used as it is."""


class ConfigError(RocmkernError, ValueError):
    """A configuration says something that can't be done."""


class GraphError(RocmkernError, RuntimeError):
    """Work that a graph can't capture, or a graph that is used before it has some or otherwise than it was captured."""


class CollectiveError(RocmkernError, RuntimeError):
    """Processes that work together do not: one is gone, asks for something else, or the library between them failed."""


class CollectiveTimeout(CollectiveError, TimeoutError):
    """A process waited longer for the others than it was told to."""


class TraceError(RocmkernError, RuntimeError):
    """A trace is entered while another one is."""


def together(errors: Sequence[BaseException]) -> BaseException:
    """The first of several errors, which tells the others in its notes; before Python 3.11 in its message."""
    first, *others = errors
    for other in others:
        text = "\n".join([f"and {type(other).__name__}: {other}", *getattr(other, "__notes__", ())])
        if sys.version_info >= (3, 11):
            first.add_note(text)
        else:
            first.args = (f"{first}\n{text}",)
    return first
