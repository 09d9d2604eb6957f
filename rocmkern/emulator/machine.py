"""An emulated device: memory, modules, launches."""

from __future__ import annotations

import ctypes
import os
import struct
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from time import perf_counter
from typing import Final

from attrs import astuple, define, field, frozen

from rocmkern.codeobject import Kernel, read
from rocmkern.emulator import layout as at
from rocmkern.emulator.arena import Arena
from rocmkern.emulator.faults import COLLECTORS, STUCK, Copied, Log, Teller
from rocmkern.emulator.launch import Dims, Geometry, Plan, plan
from rocmkern.emulator.library import Library
from rocmkern.emulator.native import function, native
from rocmkern.emulator.observers.seam import LANE_BITS, NOBODY, PLACE_BITS, Observer, Observers, Records
from rocmkern.emulator.printf import printing
from rocmkern.emulator.program import Program, warn_of_failures
from rocmkern.emulator.space import FIRST_QUOTA, Space, Start, Worker
from rocmkern.emulator.threads import Threads
from rocmkern.errors import BarrierDeadlock, ClosedError, DriverError, KernelNotFound, KernelTimeout, MemoryFault
from rocmkern.locks import Lock
from rocmkern.targets import TARGETS, strip_features

REMEMBERED_STARTS: Final = 256
ARGUMENT_BYTES: Final = 4096  # that a space kept for later launches has room for
FUEL: Final = 1 << 14  # branches per time slice
COMPILED_FUEL: Final = 1 << 19
SLICE_S: Final = 0.03
PATIENCE: Final = 4  # time slices of one workgroup before others get a turn
MOST_WAITING_BYTES: Final = 1 << 28  # of workgroups that take turns on one thread
HELPERS_FROM_S: Final = 2e-4  # expected work that is worth waking other threads for
TIMEOUT_S: Final = 600.0
BARRIER_BYTES: Final = 4  # of the instruction


def next_pc(wave: int) -> int:
    """Address of the instruction that a wave goes on with."""
    operation = ctypes.c_uint64.from_address(wave + at.WAVE_NEXT).value
    return ctypes.c_uint64.from_address(operation + at.OP_PC).value


_LAUNCH: Final = struct.Struct("<qqIIIIIIQQQQQIIIIQQQQQQQQIIQQIIIIIIIIqII")


@frozen
class Entry:
    """A kernel of a loaded module."""

    module: Loaded
    kernel: Kernel
    _starts: dict[tuple[Dims, Dims, int], Start] = field(factory=dict, eq=False, repr=False)

    def start(self, machine: Machine, grid: Dims, block: Dims, shared_bytes: int) -> Start | None:
        """How launches of that geometry begin; None where it has no thread."""
        key = grid, block, shared_bytes
        found = self._starts.get(key)
        if found is None:
            geometry = Geometry(*key)
            if not (geometry.groups and geometry.threads):
                return None
            if len(self._starts) >= REMEMBERED_STARTS:
                self._starts.clear()
            found = self._starts[key] = self._start(machine, geometry)
        return found

    def _start(self, machine: Machine, geometry: Geometry) -> Start:
        kernel, program, arena = self.kernel, self.module.program, machine.arena
        text, mode = program.translation_of(kernel), program.mode(kernel)
        begin = plan(kernel, machine.isa, geometry)
        record = _LAUNCH.pack(
            0, begin.groups, *geometry.grid, 0, begin.waves, 0, program.entry(kernel, kernel.wave_size), 0,
            *begin.wave_tables, *begin.group_slots, begin.wave_slot,
            begin.lds_bytes, begin.private_bytes, begin.wave_bytes, arena.base, 0,
            ctypes.addressof(text.table), text.address, len(text.text), 0, 0,
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            mode.of_cpu, mode.initial,
        )  # fmt: skip
        descriptor = program.base + kernel.descriptor_address
        first, _ = program.extent(kernel)
        return Start(
            begin,
            program.code,
            kernel,
            text,
            first,
            program.heat(kernel),
            program.expects_zeros(kernel),
            descriptor,
            record,
        )


@define(eq=False)
class Loaded:
    """A module on a machine."""

    program: Program
    is_closed: bool = False
    _users: list[None] = field(factory=list)  # one for each launch that is under way, or waits for its turn
    _watched: dict[Observers, Loaded] = field(factory=dict)
    _entries: dict[str, Entry] = field(factory=dict)  # of kernels that are watched

    def kernel(self, name: str) -> Entry:
        """The kernel `name`; KernelNotFound where there is none, CodeObjectError where it can't run."""
        kernel = self.program.code.kernels.get(name)
        if kernel is None:
            have = ", ".join(sorted(self.program.code.kernels)) or "none"
            raise KernelNotFound(f"kernel: no kernel {name!r} in this module; it has {have}")
        self.program.require_entry(kernel)
        return Entry(self, kernel)

    def watched(self, name: str, observers: Observers) -> Entry:
        """The kernel `name` in a translation that these have part in."""
        module = self._watched.get(observers)
        if module is None:
            one = self.program
            compiles = one.compiles and not observers.look_at_registers
            more = Program(one.code, one.isa, one.arena, one.library, compiles, observers, one)
            module = self._watched.setdefault(observers, Loaded(more))
        return module._entries.get(name) or module._entries.setdefault(name, module.kernel(name))

    def close(self) -> None:
        """Begin no more launches, and free the module's memory with the last one. Waits for nothing."""
        self.is_closed = True  # first: who holds it looks then
        if not self._users:
            self.program.close()

    def hold(self) -> None:
        """Keep the memory until let_go(). Raises ClosedError where it is too late."""
        self._users.append(None)
        if self.is_closed:
            self.let_go()
            raise ClosedError("launch: the module is closed; load it again")

    def let_go(self) -> None:
        self._users.pop()
        if self.is_closed:
            self.close()

    def renew(self) -> None:
        """In a forked child: the threads that launched are not there."""
        self._users.clear()


@define(eq=False)
class Machine:
    """A device of `target` on this CPU. Launches are synchronous; several threads may launch at once."""

    target: str
    observers: Observers = NOBODY
    timeout_s: float = TIMEOUT_S
    compiles: bool = True  # hot kernels; False: everything runs in tier 0
    like: Machine | None = None  # the device that this one is, with fewer observers
    isa: str = field(init=False)
    arena: Arena = field(init=False)
    records: tuple[Records, ...] = field(init=False)  # what each observer keeps
    library: Library = field(factory=lambda: Library(native()))
    threads: int = field(factory=lambda: len(os.sched_getaffinity(0)))
    pool: Threads = field(init=False)
    _run: Callable[[object], int] | None = None
    _spaces: list[Space] = field(factory=list)
    _idle: list[Worker] = field(factory=list)  # as with spaces, threads take and put in one step
    _recording: Lock = field(factory=lambda: Lock("records"))  # on what the observers keep of all threads

    # No cached_property: with one, attrs makes reading any attribute take several times as long.
    def __attrs_post_init__(self) -> None:
        self.isa = TARGETS[strip_features(self.target)].isa
        observers = self.observers.those
        self.arena = Arena(apart=any(o.apart for o in observers)) if self.like is None else self.like.arena
        known = () if self.like is None else self.like.records
        self.records = (*known, *(o.open(self.arena) for o in observers[len(known) :]))
        self.arena.watchers = self.records
        self.pool = Threads(max(1, self.threads - 1), "rocmkern-emulator")

    @property
    def run(self) -> Callable[[object], int]:
        """Runs a worker, passed as its `passed`, until it has to be looked at: why."""
        run = self._run
        if run is None:
            run = self._run = function(self.library.load_scheduler(self.observers), ctypes.c_int32)
        return run

    @contextmanager
    def watched(self, *observers: Observer) -> Iterator[Machine]:
        """This device with more observers, to launch what is loaded here on. What they keep comes last in `records`."""
        apart = [o.name for o in observers if o.apart and not self.arena.apart]
        if apart:
            raise DriverError(f"watch: allocations lie apart for {apart[0]}, not here; open a device that has it")
        those = Observers((*self.observers.those, *observers))
        try:
            yield Machine(self.target, those, self.timeout_s, self.compiles, self)
        finally:
            self.arena.watchers = self.records

    def alloc(self, nbytes: int) -> int:
        return self.arena.alloc(nbytes)

    def free(self, address: int) -> None:
        self.arena.free(address)

    def view(self, address: int, nbytes: int, *, writes: bool = True) -> memoryview:
        """The bytes of device memory. Observers take them as written, unless the view is for reading."""
        return self.arena.view(address, nbytes, writes=writes)

    def tell_of_copy(self, address: int, nbytes: int, source: str) -> None:
        """Tell those who collect faults if the host just got bytes from there that nothing wrote."""
        for records in self.records:
            found = records.unwritten(address, nbytes)
            if found is not None:
                count, first = found
                copy = Copied(address + first, nbytes, count, self.arena.describe(address + first), source)
                for collector in tuple(COLLECTORS):
                    collector.copied(copy)

    def load(self, image: bytes) -> Loaded:
        """Place a code object in device memory."""
        code = read(image, most_bytes=self.arena.capacity)  # whoever asks for it has said how much it may take
        return Loaded(Program(code, self.isa, self.arena, self.library, self.compiles, self.observers))

    def launch(self, entry: Entry, grid: Dims, block: Dims, shared_bytes: int, kernarg: bytes) -> None:
        """Run a kernel to its end.

        Raises ClosedError, MemoryFault, KernelTimeout, BarrierDeadlock, UnsupportedInstruction.
        """
        entry.module.hold()
        try:
            self.launch_held(entry, grid, block, shared_bytes, kernarg)
        finally:
            entry.module.let_go()

    def launch_held(self, entry: Entry, grid: Dims, block: Dims, shared_bytes: int, kernarg: bytes) -> None:
        """The same for a module that the caller holds."""
        start = entry.start(self, grid, block, shared_bytes)
        if start is not None:
            self._begin(entry, start, start.plan.argument_block(kernarg))

    def begin(self, entry: Entry, start: Start, block: bytes) -> None:
        """Run a kernel with these arguments, hidden ones included, to its end; print what it prints."""
        module = entry.module
        module.hold()
        try:
            self._begin(entry, start, block)
        finally:
            module.let_go()

    def _begin(self, entry: Entry, start: Start, block: bytes) -> None:
        if self.like is not None:
            entry = entry.module.watched(entry.kernel.name, self.observers)
            again = entry.start(self, *astuple(start.plan.geometry))
            assert again is not None
            start = again
        place = start.plan.printf_place
        if place is None:
            self._run_to_end(entry, start, block)
            return
        with printing(self.arena, entry.module.program.code.formats, block, place) as patched:
            self._run_to_end(entry, start, patched)

    def _run_to_end(self, entry: Entry, start: Start, block: bytes) -> None:
        warn_of_failures()
        log = self._log(entry, start, block) if COLLECTORS else None
        space, heat = self._take_space(len(block)), start.heat
        is_compiled = bool(heat.entries)
        try:
            space.lay(start, block, COMPILED_FUEL if is_compiled else FUEL)
            space.note_in(log)
            if start.expects_zeros:
                Launch(self, entry, start, space).take_turns()
                return
            # A few workgroups here, the others on all threads where that is worth it. The CPU's time would say better
            # what tier 0 costs, but asking for it takes a system call.
            began = perf_counter()
            status = self.run(space.worker.passed)
            if status != at.FINISHED or not (is_compiled or heat.is_cool_after(perf_counter() - began)):
                Launch(self, entry, start, space).go_on(status, began, perf_counter)
        finally:
            try:
                if log is not None:
                    log.tell(self.teller(entry, start))
            finally:
                self._return_space(space, start)

    def _log(self, entry: Entry, start: Start, block: bytes) -> Log:
        """Tell those who collect faults of a launch, and where they are to be noted."""
        for collector in tuple(COLLECTORS):
            collector.launching(self, entry, start, block)
        return Log(start.plan.groups, min((c.sample for c in COLLECTORS if c.sample), default=1))

    def teller(self, entry: Entry, start: Start) -> Teller:
        """What makes words of the faults of a launch."""
        return Teller(self.arena, self.observers, entry.module.program, entry.kernel, start.plan)

    def _take_space(self, nbytes: int) -> Space:
        """One kept from an earlier launch. Where somebody watches it is new, with just the room that is needed, so that
        what lies beyond is outside."""
        if not self.observers and nbytes <= ARGUMENT_BYTES:
            try:
                return self._spaces.pop()
            except IndexError:
                nbytes = ARGUMENT_BYTES
        return Space(self.arena, nbytes, self.take_worker())

    def _return_space(self, space: Space, start: Start) -> None:
        if not self.observers and space.room == ARGUMENT_BYTES:
            self._spaces.append(space)
        else:
            self.arena.free(space.kernarg)
            self.return_worker(space.worker, start)
            with self._recording:
                for records in self.records:
                    records.launched(start)

    def take_worker(self) -> Worker:
        try:
            return self._idle.pop()
        except IndexError:
            return Worker(self.records)

    def return_worker(self, worker: Worker, start: Start) -> None:
        """Take back what a launch needs no more."""
        if self.records:
            with self._recording:
                worker.end(start)
        self._idle.append(worker)


@define(eq=False)
class Launch:
    """One launch under way."""

    machine: Machine
    entry: Entry
    start: Start
    space: Space
    _deadline: float = 0.0

    @property
    def _program(self) -> Program:
        return self.entry.module.program

    @property
    def plan(self) -> Plan:
        return self.start.plan

    def take_turns(self) -> None:
        """Run everything, each workgroup up to its first barrier before one goes on."""
        self._drive(None)
        self._end(None)

    def go_on(self, status: int, began: float, clock: Callable[[], float]) -> None:
        """Run what is left when the worker comes back from the first few workgroups with that status."""
        self._end(self._outcome(self.space.worker, status, began, clock))

    def _end(self, took: float | None) -> None:
        if took is not None:
            self._drive(took)
        if self._has_fault:
            self._raise_fault()

    def _take_worker(self) -> Worker:
        worker = self.machine.take_worker()
        worker.prepare(ctypes.addressof(self.space.record), self.start)
        return worker

    def _dismiss(self, worker: Worker) -> None:
        if worker is not self.space.worker:
            self.machine.return_worker(worker, self.start)

    def _drive(self, took: float | None) -> None:
        """Run what the first workgroups, which took so long, have left; from the start for None."""
        self._deadline = time.monotonic() + self.machine.timeout_s
        crew = deque([self.space.worker])
        helpers: list[Future[None]] = []
        try:
            if took is None:
                self._begin_all(crew)
                self._slices(crew, SLICE_S)
                return
            left = self.plan.groups - self._started
            expected = left * took / FIRST_QUOTA
            self._program.warm(self.entry.kernel, 0.0, ahead=expected)
            if expected > HELPERS_FROM_S and self.space.log is None:
                count = min(self.machine.threads - 1, left)
                for _ in range(count):
                    helper = self.machine.pool.submit(self._help)
                    helpers += [helper] if helper is not None else []
            self._slices(crew, took / FIRST_QUOTA)
        except KernelTimeout as error:
            self._stop()
            causes = (error, *(helper.exception() for helper in helpers))
            raise next((c for c in causes if isinstance(c, BarrierDeadlock)), error) from None
        except BaseException:
            self._stop()
            raise
        finally:
            interrupt: BaseException | None = None
            while helpers:
                try:
                    wait(helpers)
                    break
                except BaseException as error:  # Ctrl-C: they use what the launch gives back when it ends
                    self._stop()
                    interrupt = error
            for worker in crew:
                self._dismiss(worker)
            if interrupt is not None:
                raise interrupt
        for helper in helpers:
            helper.result()

    @property
    def _started(self) -> int:
        """Workgroups that some worker took."""
        return min(ctypes.c_int64.from_buffer(self.space.record, at.LAUNCH_NEXT_GROUP).value, self.plan.groups)

    def _help(self) -> None:
        crew = deque([self._take_worker()])
        try:
            self._slices(crew, SLICE_S)
        except BaseException:
            self._stop()
            raise
        finally:
            for worker in crew:
                self._dismiss(worker)

    def _slices(self, crew: deque[Worker], group_s: float) -> None:
        """Run until nothing is left, in pieces short enough for Ctrl-C and the time limit.

        A workgroup that does not end may wait for others: it gives way to the next, and they take turns from then on.
        """
        turns = 0
        while crew:
            worker = crew[0]
            quota = max(1, int(SLICE_S / max(group_s, 1e-7)))
            took = self._slice(worker, quota)
            if took is None:
                if self._is_stopped and self._is_overdue and not self._has_fault:
                    raise self._overdue(crew)
                if self._is_stopped:
                    return
                self._dismiss(crew.popleft())
                turns = PATIENCE - 1
                continue
            if self._is_overdue:
                raise self._overdue(crew)
            done = quota - worker.quota
            group_s = took / done if done else group_s
            turns = 0 if done else turns + 1
            if turns >= PATIENCE:
                turns = self._give_way(crew)

    def _begin_all(self, crew: deque[Worker]) -> None:
        """Run the workgroups, as many as there is room for, up to their first barrier."""
        while True:
            crew[-1].pause()
            took = self._slice(crew[-1], 1)
            enough = self._started == self.plan.groups or not self._has_room(crew)
            if took is None or enough or self._is_overdue:
                return
            crew.append(self._take_worker())

    def _has_room(self, crew: deque[Worker]) -> bool:
        return len(crew) * self.plan.worker_bytes < MOST_WAITING_BYTES

    def _give_way(self, crew: deque[Worker]) -> int:
        """Put another workgroup first, a new one where one is left: how many turns it has had."""
        if self._started < self.plan.groups and self._has_room(crew):
            crew.appendleft(self._take_worker())
            return 0
        crew.rotate(-1)
        return PATIENCE - 1

    def _slice(self, worker: Worker, quota: int) -> float | None:
        """Run up to `quota` workgroups: the seconds it took, None where nothing is left to do."""
        worker.quota = quota
        began = time.thread_time()
        return self._outcome(worker, self.machine.run(worker.passed), began, time.thread_time)

    def _outcome(self, worker: Worker, status: int, began: float, clock: Callable[[], float]) -> float | None:
        """What a slice comes to that began then and ends in that status, unless code is to be translated first."""
        kernel = self.entry.kernel
        while True:
            if status in (at.FINISHED, at.STOPPED) or self._has_fault:
                self._program.warm(kernel, clock() - began)
                return None
            if status == at.UNTRANSLATED:
                self._translate(worker)
                status = self.machine.run(worker.passed)
                continue
            took = clock() - began
            if worker.quota > 0:
                self._program.warm(
                    kernel, took, next_pc(worker.wave(max(worker.wave_number - 1, 0), self.plan.wave_bytes))
                )
            else:
                self._program.warm(kernel, took)
            return took

    @property
    def _is_overdue(self) -> bool:
        return time.monotonic() > self._deadline

    def _overdue(self, crew: Iterable[Worker]) -> KernelTimeout:
        """Why a launch that took too long does not end, as far as workgroups under way tell."""
        late = f"launch: {self.entry.kernel.name} did not end within {self.machine.timeout_s:g} s"
        groups = [self._by_status(worker) for worker in crew if worker.is_in_group]
        stuck = [g for g in groups if g[at.WAITING] and g[at.READY]]
        if not stuck:
            return KernelTimeout(f"{late}; raise the limit if it is right to take that long")
        waves = max(stuck, key=lambda g: len(g[at.WAITING]))  # others may have begun just now
        if self.space.log is not None:
            self._note_stuck(self.space.log, waves)
        waiting, missing = ([f"{n} at pc {pc:#x}" for n, pc, _ in waves[s]] for s in (at.WAITING, at.READY))
        return BarrierDeadlock(
            f"{late}: in workgroup {waves[at.READY][0][2]} these waves wait at a barrier: {', '.join(waiting)};"
            f" these did not reach it: {', '.join(missing)}; let every wave that does not end reach it,"
            " or raise the limit if it is right to take that long"
        )

    def _note_stuck(self, log: Log, waves: dict[int, list[tuple[int, int, Dims]]]) -> None:
        """Tell of the first wave that does not come to a barrier, and of the first one that waits there."""
        (number, place, group), (waiting, barrier, _) = waves[at.READY][0], waves[at.WAITING][0]
        start = self._program.base + self.entry.kernel.entry_address
        other = (start + barrier - self._program.translation.address) // 4 + 1
        log.add(start + place, other | waiting << PLACE_BITS + LANE_BITS, STUCK, number, group)

    def _by_status(self, worker: Worker) -> dict[int, list[tuple[int, int, Dims]]]:
        """The waves of a worker's workgroup by their status: number, place in the kernel, workgroup."""
        found = defaultdict[int, list[tuple[int, int, Dims]]](list)
        for number in range(self.plan.waves):
            wave = worker.wave(number, self.plan.wave_bytes)
            status = ctypes.c_uint32.from_address(wave + at.WAVE_STATUS).value
            place = self._position(next_pc(wave)) - (BARRIER_BYTES if status == at.WAITING else 0)
            found[status].append((number, place, struct.unpack("<III", ctypes.string_at(wave + at.WAVE_GROUP, 12))))
        return found

    def _position(self, address: int) -> int:
        """A code address as a place in the kernel."""
        return address - self._program.base - self.entry.kernel.entry_address

    def _translate(self, worker: Worker) -> None:
        """Go on at a code address that was not translated yet."""
        wave = worker.wave(worker.wave_number, self.plan.wave_bytes)
        address = ctypes.c_uint64.from_address(wave + at.WAVE_PC).value
        kernel = self.entry.kernel
        operation = self._program.operation(address, kernel)
        ctypes.c_uint64.from_address(wave + at.WAVE_NEXT).value = operation

    @property
    def _has_fault(self) -> bool:
        return bool(self.space.words[at.LAUNCH_FAULT // 4])

    @property
    def _is_stopped(self) -> bool:
        return self._has_fault or bool(self.space.words[at.LAUNCH_STOP // 4])

    def _stop(self) -> None:
        self.space.words[at.LAUNCH_STOP // 4] = 1

    def _raise_fault(self) -> None:
        raise MemoryFault(self.machine.teller(self.entry, self.start).recorded(self.space.record).message())
