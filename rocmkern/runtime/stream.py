"""Streams order work, events mark points in it."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, ClassVar

from attrs import define, field

from rocmkern.drivers.protocol import Driver
from rocmkern.errors import ArgumentError, ClosedError
from rocmkern.runtime.closing import Closing

if TYPE_CHECKING:
    from rocmkern.runtime.device import Device


@define(eq=False, repr=False)
class _Made(Closing):
    """What a driver makes and destroys, known by its handle."""

    _user: ClassVar[str] = "work"  # which must be of the same device
    _destroy: ClassVar[str]  # the driver's method

    device: Device
    _handle: int = field(init=False)
    _finalizer: Any = field(init=False)

    @property
    def _noun(self) -> str:
        return type(self).__name__.lower()

    @property
    def handle(self) -> int:
        if not self._finalizer.alive:
            raise ClosedError(f"{self._noun} of {self.device.name}: it is closed; create another")
        return self._handle

    def handle_for(self, driver: Driver) -> int:
        """The handle, if it belongs to `driver`."""
        if self.device._driver is not driver:
            raise ArgumentError(
                f"{self._noun}: it belongs to {self.device.name}, the {self._user} to {driver.info.name}; "
                "use one of that device"
            )
        return self.handle

    @property
    def is_closed(self) -> bool:
        return not self._finalizer.alive

    def close(self) -> None:
        """Destroys it, a stream when its work is done. Again does nothing."""
        if self._finalizer.detach():
            getattr(self.device._driver, self._destroy)(self._handle)

    def _made(self, handle: int) -> None:
        self._handle = handle
        self._finalizer = weakref.finalize(self, self.device._driver.retire, self._destroy, handle)

    def __repr__(self) -> str:
        state = f"{self._handle:#x}" if self._finalizer.alive else "closed"
        return f"{type(self).__name__}({self.device.name}, {state})"


@define(eq=False, repr=False)
class Stream(_Made):
    """Work given to one stream runs in order. Work on the default stream (`stream=None`) waits for all other streams of
    the device, and they wait for it.
    """

    _destroy = "destroy_stream"

    def __attrs_post_init__(self) -> None:
        self._made(self.device.driver.create_stream())

    def synchronize(self) -> None:
        """Waits until all work is done, and raises what went wrong in it."""
        self.device._driver.synchronize_stream(self.handle)
        self.device.settle()

    def record(self, event: Event | None = None) -> Event:
        """Marks this point of the stream in `event`, by default a new one."""
        event = Event(self.device) if event is None else _event(event)
        self.device._driver.record_event(event.handle_for(self.device._driver), self.handle)
        return event

    def wait(self, event: Event) -> None:
        """Lets all later work on this stream wait for `event`, of any device, as it was last recorded. The host goes
        on, except that it waits itself for an event of another vendor's device.
        """
        driver, peer = self.device._driver, _event(event).device._driver
        if peer is driver:
            driver.stream_wait_event(self.handle, event.handle)
        else:
            driver.wait_for_peer(self.handle, peer, event.handle)

    @staticmethod
    def from_handle(device: Device, handle: object) -> Stream:
        """A stream that another library made, by its address: PyTorch's `torch.cuda.Stream`, CuPy's `cupy.cuda.Stream`,
        whatever has `__cuda_stream__`, or the number itself. 0 and 1 are the default stream.

        Its maker keeps it, beyond the memory that was used on it; close() ends the use here alone.
        """
        number: Any = getattr(handle, "cuda_stream", getattr(handle, "ptr", handle))
        if hasattr(handle, "__cuda_stream__"):
            number = handle.__cuda_stream__()[1]
        if not isinstance(number, int) or number < 0:
            raise ArgumentError(f"stream: a {type(handle).__name__} has no handle; give the number of its address")
        return _Foreign(device, number)


@define(eq=False, repr=False)
class _Foreign(Stream):
    """A stream of another library's."""

    _number: int

    def __attrs_post_init__(self) -> None:
        self._handle = self.device.driver.adopt_stream(self._number)
        self._finalizer = weakref.finalize(self, int)

    @property
    def _noun(self) -> str:
        return "stream"

    def close(self) -> None:
        self._finalizer.detach()


def stream_handle(stream: Stream | None, driver: Driver) -> int:
    """The handle of a stream of `driver`, for None that of the default stream."""
    if stream is None:
        return 0
    if not isinstance(stream, Stream):
        raise ArgumentError(f"stream: a {type(stream).__name__} is none; make one with device.create_stream()")
    return stream.handle_for(driver)


@define(eq=False, repr=False)
class Event(_Made):
    """A point in a stream. `end - start` of two finished events is the time between them in milliseconds."""

    _user, _destroy = "stream", "destroy_event"

    def __attrs_post_init__(self) -> None:
        self._made(self.device.driver.create_event())

    @property
    def is_done(self) -> bool:
        """Whether all work before the event is done; an event that was never recorded is done."""
        return self.device._driver.query_event(self.handle)

    def record(self, stream: Stream | None = None) -> Event:
        """Marks the present end of `stream`, by default the default stream."""
        driver = self.device._driver
        driver.record_event(self.handle, stream_handle(stream, driver))
        return self

    def synchronize(self) -> None:
        """Waits until all work before the event is done."""
        self.device._driver.synchronize_event(self.handle)
        self.device.settle()

    def __sub__(self, start: Event) -> float:
        """Milliseconds from `start` to this event."""
        if not isinstance(start, Event):
            return NotImplemented
        return self.device._driver.elapsed_ms(start.handle_for(self.device._driver), self.handle)


def _event(event: object) -> Event:
    if not isinstance(event, Event):
        raise ArgumentError(f"event: a {type(event).__name__} is none; make one with device.create_event()")
    return event
