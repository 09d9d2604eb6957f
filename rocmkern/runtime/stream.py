"""Streams order work, events mark points in it."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from attrs import define, field

from rocmkern.drivers.protocol import Driver
from rocmkern.errors import ArgumentError, ClosedError

if TYPE_CHECKING:
    from rocmkern.runtime.device import Device


@define(eq=False, repr=False)
class Stream:
    """Work given to one stream runs in order. Work on the default stream (`stream=None`) waits for all other streams of
    the device, and they wait for it.
    """

    device: Device
    _handle: int = field(init=False)
    _finalizer: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        driver = self.device.driver
        self._handle = driver.create_stream()
        self._finalizer = weakref.finalize(self, driver.destroy_stream, self._handle)

    @property
    def handle(self) -> int:
        if not self._finalizer.alive:
            raise ClosedError(f"stream of {self.device.name}: it is closed; create another")
        return self._handle

    def handle_for(self, driver: Driver) -> int:
        """The handle, if the stream belongs to `driver`."""
        if self.device._driver is not driver:
            raise ArgumentError(
                f"stream: it belongs to {self.device.name}, the work to {driver.info.name}; use a stream of that device"
            )
        return self.handle

    @property
    def is_closed(self) -> bool:
        return not self._finalizer.alive

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
        """Lets all later work on this stream wait for `event` as it was last recorded; the host goes on."""
        self.device._driver.stream_wait_event(self.handle, _event(event).handle_for(self.device._driver))

    def close(self) -> None:
        """Destroys the stream; work that is under way is finished. Again does nothing."""
        self._finalizer()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Stream({self.device.name}, {f'{self._handle:#x}' if self._finalizer.alive else 'closed'})"


def stream_handle(stream: Stream | None, driver: Driver) -> int:
    """The handle of a stream of `driver`, for None that of the default stream."""
    if stream is None:
        return 0
    if not isinstance(stream, Stream):
        raise ArgumentError(f"stream: a {type(stream).__name__} is none; make one with device.create_stream()")
    return stream.handle_for(driver)


@define(eq=False, repr=False)
class Event:
    """A point in a stream. `end - start` of two finished events is the time between them in milliseconds."""

    device: Device
    _handle: int = field(init=False)
    _finalizer: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        driver = self.device.driver
        self._handle = driver.create_event()
        self._finalizer = weakref.finalize(self, driver.destroy_event, self._handle)

    @property
    def handle(self) -> int:
        if not self._finalizer.alive:
            raise ClosedError(f"event of {self.device.name}: it is closed; create another")
        return self._handle

    def handle_for(self, driver: Driver) -> int:
        """The handle, if the event belongs to `driver`."""
        if self.device._driver is not driver:
            raise ArgumentError(
                f"event: it belongs to {self.device.name}, the stream to {driver.info.name}; use one of that device"
            )
        return self.handle

    @property
    def is_closed(self) -> bool:
        return not self._finalizer.alive

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

    def close(self) -> None:
        """Destroys the event. Again does nothing."""
        self._finalizer()

    def __enter__(self) -> Event:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Event({self.device.name}, {f'{self._handle:#x}' if self._finalizer.alive else 'closed'})"


def _event(event: object) -> Event:
    if not isinstance(event, Event):
        raise ArgumentError(f"event: a {type(event).__name__} is none; make one with device.create_event()")
    return event
