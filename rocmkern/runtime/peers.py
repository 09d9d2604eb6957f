"""Copies between devices: directly where the driver has both, else through pinned memory of the host.

What crosses the host goes in pieces through two buffers, so that the next piece is read while the last one is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rocmkern.runtime import capturing
from rocmkern.runtime.stream import Stream, stream_handle

if TYPE_CHECKING:
    from rocmkern.runtime.device import Device

PIECE_BYTES: Final = 8 << 20


def copy_between(
    to: Device, target: int, of: Device, source: int, nbytes: int, owner: object, stream: Stream | None = None
) -> None:
    """Copies from an address on one device, in memory that `owner` keeps, to one on another, in the order of a stream
    of the target's device.

    Work of the source's default stream so far is done before, and what follows there waits for the copy.
    """
    capturing.require_done("copy between devices")
    if nbytes and not to.driver.copy_from_peer(
        target, of.driver, source, nbytes, stream_handle(stream, to.driver), owner
    ):
        _through_host(to, target, of, source, nbytes, stream)


def _through_host(to: Device, target: int, of: Device, source: int, nbytes: int, stream: Stream | None) -> None:
    of.driver.synchronize_stream(0)
    size = min(PIECE_BYTES, nbytes)
    buffers = [to.driver.alloc_pinned(size) for _ in range(2 if nbytes > size else 1)]
    with of.create_stream() as reader, to.create_stream() as writer:
        if stream is not None:
            writer.wait(stream.record())
        written = [to.create_event() for _ in buffers]
        for number, at in enumerate(range(0, nbytes, size)):
            which = number % len(buffers)
            buffer = buffers[which][: min(size, nbytes - at)]
            written[which].synchronize()
            of.driver.copy_to_host(buffer, source + at, reader.handle)
            reader.synchronize()
            to.driver.copy_to_device(target + at, buffer, writer.handle)
            written[which].record(writer)
        writer.synchronize()
