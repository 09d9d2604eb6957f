"""A loaded code object: its bytes in device memory, its translation, and what of it is compiled."""

from __future__ import annotations

import atexit
import os
import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from functools import partial
from hashlib import blake2b

from attrs import astuple, define, field

from rocmkern.codeobject import CodeObject, Kernel
from rocmkern.emulator.arena import Arena
from rocmkern.emulator.flow import Flow
from rocmkern.emulator.isa.model import Inst
from rocmkern.emulator.launch import Descriptor
from rocmkern.emulator.lds_loads import awaits_loads
from rocmkern.emulator.library import Library
from rocmkern.emulator.mode import DENORMALS, HALF_OVERFLOW, IEEE, ROUNDING, SINGLES, FloatMode, Translated, usual
from rocmkern.emulator.observers.seam import NOBODY, Observers
from rocmkern.emulator.placing import Image
from rocmkern.emulator.scan import FLOAT_ADDS, Words, sets_mode
from rocmkern.emulator.snapshot import Kept
from rocmkern.emulator.threads import Threads
from rocmkern.emulator.tier1 import Hot, UnitBuilder, Version
from rocmkern.emulator.translation import Translation
from rocmkern.errors import CodeObjectError, UnsupportedInstruction

AFTER_BYTES = 256  # behind a kernel, of what names it
PRELOADING_BYTES = 256  # ahead of code that finds arguments in scalar registers


@define(eq=False)
class Heat:
    """What is known of a kernel's code: how much time tier 0 spent on it, where compiled units begin."""

    targets: list[int] | None = None  # of branches
    first: int = 0  # address of the first operation, once it was looked up whether earlier runs compiled the kernel
    seconds: float = 0.0
    price: float = 0.0  # what compiling was last reckoned to take
    failed: bool = False
    entries: frozenset[int] = frozenset()
    versions: frozenset[Version] = frozenset()  # of blocks that are compiled
    unseen: float = 0.0  # seconds since it was looked up what ran outside them
    outside: int = 0  # instructions that had run there
    loops: set[int] = field(factory=set)
    units: dict[int, str] = field(factory=dict)  # their symbols
    is_looked_up: bool = False
    kept: Kept | None = None  # until it is restored
    is_noted: bool = False  # to be kept

    def is_cool_after(self, seconds: float) -> bool:
        """Whether compiling does not pay yet after so long in tier 0, which is counted if so."""
        spent = self.seconds + seconds
        if spent >= HOT_S and spent >= self.price:
            return False
        self.seconds = spent
        return True


HOT_S = 0.1  # seconds in tier 0 before which compiling never pays; a kernel then runs 2 to 4 times as fast
HOT_S_PER_INSTRUCTION = 2e-3  # in each version of a block that ran: about what compiling it takes
LOOK_S = 0.05  # between two looks for what runs outside compiled code
S_PER_INSTRUCTION = 2e-8  # of a wave, in tier 0
MOST_WAITING = 2  # jobs: an interpreter that ends waits for them; who finds no place asks again later
_waiting = set[tuple[int, str]]()
COMPILER = Threads(1, "rocmkern-compiler")
os.register_at_fork(after_in_child=_waiting.clear)
_failures = deque[str]()  # of the background that nobody was told of yet


def warn_of_failures() -> None:
    """Issue what failed in the background as warnings of the thread that calls."""
    while _failures:
        warnings.warn(_failures.popleft(), RuntimeWarning, stacklevel=2)


def settle() -> None:
    """Wait until nothing compiles in the background."""
    last = COMPILER.submit(lambda: None)
    if last is not None:
        last.result()


atexit.register(warn_of_failures)

MOST_NOTED = 128  # kernels for later processes; who runs more of them tests them, each once
_noted = list[Callable[[], None]]()


def keep_notes() -> None:
    """Keep what was found out of kernels' instructions."""
    while _noted:
        _noted.pop(0)()


atexit.register(keep_notes)


@define(eq=False, slots=False)
class Program:
    """A module. Its code is translated as execution reaches it, and what is hot is compiled."""

    code: CodeObject
    isa: str
    arena: Arena
    library: Library
    compiles: bool = True  # what is hot
    observers: Observers = NOBODY
    like: Program | None = None  # of the same module, which has it in memory
    base: int = field(init=False)  # what is added to the file's addresses
    translation: Translation = field(init=False)
    _image: Image = field(init=False)
    _heat: dict[str, Heat] = field(factory=lambda: defaultdict(Heat))
    _expecting: dict[str, bool] = field(factory=dict)  # kernel → whether it expects zeros
    _modes: dict[str, FloatMode] = field(factory=dict)
    _translations: dict[Translated, Translation] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        image = self._image = Image(self.code, self.arena) if self.like is None else self.like._image
        self.base = image.base
        self.translation = Translation(
            image.text, image.text_address, self.isa, self.code.target, self.library, self.observers
        )
        self._translations[Translated.USUALLY] = self.translation

    def close(self) -> None:
        """Free the module's memory. Again does nothing."""
        self._image.close()

    def require_entry(self, kernel: Kernel) -> None:
        """Raises CodeObjectError unless the kernel has a descriptor that leads to an instruction."""
        if not kernel.descriptor:
            raise CodeObjectError(
                f"kernel: {kernel.name} has no descriptor {kernel.symbol} in the file's content; build the file anew"
            )
        start, (first, end), size = self._place(kernel), self.extent(kernel), len(self.translation.text)
        if start < 0 or start % 4 or first >= end:
            raise CodeObjectError(
                f"kernel: {kernel.name} begins at byte {first} of {size} bytes of instructions; build the file anew"
            )

    def extent(self, kernel: Kernel) -> tuple[int, int]:
        """Where a kernel's code begins and ends in the text; with the text where its symbol has no size.

        Before the beginning may lie what loads arguments, or traps, where a GPU does not preload them.
        """
        start, end = self._place(kernel), len(self.translation.text)
        _, size = self.code.symbols.get(kernel.name, (0, 0))
        _, preloaded = Descriptor.of(kernel).preloaded
        return start + PRELOADING_BYTES * (preloaded > 0), min(start + size // 4 * 4, end) if size >= 4 else end

    def _place(self, kernel: Kernel) -> int:
        """Where a kernel's symbol lies in the text."""
        return self.base + kernel.entry_address - self.translation.address

    def mode(self, kernel: Kernel) -> FloatMode:
        """The floating-point mode of a kernel."""
        found = self._modes.get(kernel.name)
        if found is None:
            self._look_up(kernel)
            found = self._modes.get(kernel.name) or self._mode(kernel, Descriptor.of(kernel).mode(self.isa))
            self._modes[kernel.name] = found
        return found

    def _mode(self, kernel: Kernel, initial: int) -> FloatMode:
        words, is_own = self._words(kernel)
        if words.may_change_mode(initial) and (
            not is_own or any(sets_mode(i, initial) for i in self._instructions(kernel))
        ):
            return FloatMode(initial, Translated.BY_MODE)
        if initial & (ROUNDING | DENORMALS | 1 << HALF_OVERFLOW) == DENORMALS ^ SINGLES:
            doubles = words.may_use_doubles()
            doubles = doubles and (not is_own or any("f64" in i.name for i in self._instructions(kernel)))
            if not doubles:
                has_omod = self.isa == "gfx12" or not initial >> IEEE & 1
                return FloatMode(initial, Translated.WITH_OMOD if has_omod else Translated.USUALLY, flushes=True)
        return FloatMode(initial, Translated.USUALLY if initial == usual(self.isa) else Translated.BY_MODE)

    def _words(self, kernel: Kernel) -> tuple[Words, bool]:
        """All words that a kernel may run, and whether its own branches lead to all it runs of them."""
        start, end = self.extent(kernel)
        text = self.translation.text
        words = Words(self.isa, text, start, end)
        is_own = not (words.calls() or words.jumps())
        if is_own and self._is_within(kernel):
            return words, True
        return Words(self.isa, text, 0, len(text)), is_own

    def _is_within(self, kernel: Kernel) -> bool:
        """Whether no branch seems to leave the kernel."""
        start, end = self.extent(kernel)
        return all(start <= pc < end for pc in self._branch_targets(kernel))

    def _branch_targets(self, kernel: Kernel) -> list[int]:
        heat = self._heat[kernel.name]
        if heat.targets is None:
            heat.targets = Words(self.isa, self.translation.text, *self.extent(kernel)).branch_targets()
        return heat.targets

    def _instructions(self, kernel: Kernel) -> Iterable[Inst]:
        """All that the kernel's branches lead to; those of a pair one by one."""
        for _, inst in self.translation.reachable(self.extent(kernel)[0], kernel.wave_size).values():
            yield from inst.parts or (inst,)

    def translation_of(self, kernel: Kernel) -> Translation:
        """The translation that a kernel runs in."""
        translated, one = self.mode(kernel).translated, self.translation
        found = self._translations.get(translated)
        if found is None:
            made = Translation(one.text, one.address, one.isa, one.target, one.library, one.observers, translated)
            found = self._translations.setdefault(translated, made)  # another thread's, where it was quicker
        return found

    def entry(self, kernel: Kernel, wave_size: int) -> int:
        """Address of the first operation of a kernel."""
        heat = self._heat[kernel.name]
        warn_of_failures()
        if heat.first:
            return heat.first
        if not self._restore(kernel):
            start, _ = self.extent(kernel)
            self.translation_of(kernel).mark((start, *self._branch_targets(kernel)))
        heat.first = self.operation(self.translation.address + self.extent(kernel)[0], kernel)
        return heat.first

    def _look_up(self, kernel: Kernel) -> None:
        """See what an earlier process kept of a kernel. The functions that it consists of are callable then."""
        heat = self._heat[kernel.name]
        if heat.is_looked_up or self.observers:
            return
        heat.is_looked_up = True
        self.library.load_scheduler()
        content = self.library.native.recall(self._key(kernel))
        if content is not None:
            kept = heat.kept = Kept.unpacked(content)
            self._expecting[kernel.name] = kept.expects_zeros
            self._modes[kernel.name] = kept.mode(Descriptor.of(kernel).mode(self.isa))

    def _restore(self, kernel: Kernel) -> bool:
        """Take over what an earlier process translated and compiled; whether there was something."""
        native, heat, text = self.library.native, self._heat[kernel.name], self.translation_of(kernel)
        kept, heat.kept = heat.kept, None
        if kept is None or not text.restore(kept.snapshot, kernel.wave_size):
            return False
        heat.units = kept.units
        addresses = {pc: native.address(symbol) or 0 for pc, symbol in kept.units.items()}
        if self.compiles and all(addresses.values()):
            text.install(addresses)
            heat.entries, heat.versions = frozenset(addresses), frozenset((pc, full) for pc, full in kept.versions)
        return True

    def _keep(self, kernel: Kernel) -> None:
        """Keep what is translated and compiled of a kernel for later processes."""
        heat, mode = self._heat[kernel.name], self.mode(kernel)
        units = heat.units
        snapshot = self.translation_of(kernel).snapshot(*self.extent(kernel), kernel.wave_size)
        versions = tuple(sorted(heat.versions))
        kept = Kept(snapshot, units, versions, self.expects_zeros(kernel), mode.translated.value, mode.flushes)
        self.library.native.keep(self._key(kernel), [*snapshot.handlers, *units.values()], astuple(kept))

    def _note(self, kernel: Kernel) -> None:
        """See to it that what is translated of a kernel is kept as the process ends."""
        heat = self._heat[kernel.name]
        if not (heat.is_noted or self.observers) and len(_noted) < MOST_NOTED:
            heat.is_noted = True
            _noted.append(partial(self._keep, kernel))

    def _key(self, kernel: Kernel) -> str:
        """Names the kernel's code across processes: what lies elsewhere in the module counts where it may go there."""
        start, end = self.extent(kernel)
        words, _ = self._words(kernel)
        state = blake2b(self.translation.text[words.start : words.end + AFTER_BYTES], digest_size=12)
        initial = Descriptor.of(kernel).mode(self.isa)
        state.update(f"{self.isa} {start} {end} {kernel.wave_size} {initial}".encode())
        return f"kernel_{state.hexdigest()}"

    def operation(self, address: int, kernel: Kernel) -> int:
        """The operation at a code address, translated now where it was not."""
        text = self.translation_of(kernel)
        pc = address - text.address
        if not text.holds(pc):
            raise UnsupportedInstruction(f"launch: {kernel.name} jumps to {address:#x}, which is no code of its module")
        if not text.is_written(pc):
            self._note(kernel)
        return text.operation(pc, kernel.wave_size, kernel.name)

    def flow(self, kernel: Kernel, extra: Iterable[int] = ()) -> Flow:
        """The control flow of a kernel, whether it is translated or not."""
        start, _ = self.extent(kernel)
        text = self.translation_of(kernel)
        code = text.reachable(start, kernel.wave_size)
        landings = frozenset(
            pc for pc, (row, inst) in code.items() if row.unit == "end" or awaits_loads(inst, self.isa)
        )
        return Flow(code, start, frozenset(extra), landings if text.loads_to_lds else frozenset())

    def expects_zeros(self, kernel: Kernel) -> bool:
        """Whether code of the kernel adds floats to memory and has barriers.

        Kernels that split a sum among workgroups may clear what they add to themselves and trust that all have done
        so before the first adds, since the hardware has room for all of them.
        """
        found = self._expecting.get(kernel.name)
        if found is None:
            found = self._expecting[kernel.name] = self._expects_zeros(kernel)
        return found

    def _expects_zeros(self, kernel: Kernel) -> bool:
        start, end = self.extent(kernel)
        words = Words(self.isa, self.translation.text, start, end)
        if words.calls():
            words = Words(self.isa, self.translation.text, 0, len(self.translation.text))
            return words.has_barrier() and words.adds_floats()
        if not (words.has_barrier() and words.adds_floats()):
            return False
        code = self.translation.reachable(start, kernel.wave_size).values()
        adds = any(inst.name.startswith(FLOAT_ADDS) and not inst.dst for _, inst in code)
        return adds and any(row.unit == "barrier" for row, _ in code)

    # Compiled units.

    def withdraw(self) -> None:
        """Take all compiled units out of use: what runs next runs in tier 0."""
        for text in list(self._translations.values()):
            text.withdraw()
        for heat in self._heat.values():
            heat.entries = frozenset()

    def heat(self, kernel: Kernel) -> Heat:
        return self._heat[kernel.name]

    def warm(self, kernel: Kernel, seconds: float, address: int | None = None, ahead: float = 0.0) -> None:
        """Tier 0 spent so long on a kernel: once that is what compiling costs, compile it in the background.

        `ahead`: how long it is going to spend. `address`: a loop that a wave ran out of fuel in, where a compiled unit
        should be able to take over.
        """
        heat = self._heat[kernel.name]
        loop = None if address is None else address - self.translation.address
        if not self.compiles:
            return
        if heat.entries and (loop is None or loop in heat.entries):
            seconds, ahead = self._outside(kernel, seconds), 0.0
            if not seconds:
                return
        heat.seconds += seconds
        spent = heat.seconds + ahead
        job = id(self), kernel.name
        if spent < max(heat.price, HOT_S) or job in _waiting or heat.failed or len(_waiting) >= MOST_WAITING:
            return
        heat.price = HOT_S_PER_INSTRUCTION * self.hot_instructions(kernel)
        if spent >= heat.price:
            heat.seconds = 0.0
            extra = {loop} if loop is not None else set[int]()
            _waiting.add(job)
            if COMPILER.submit(self._compile_in_background, kernel, extra) is None:
                heat.failed = True

    def _outside(self, kernel: Kernel, seconds: float) -> float:
        """How much of the time that a compiled kernel took went to blocks that were not worth compiling before: other
        launches, those of an earlier process for one, take other paths. 0 until enough time went by to look again.
        """
        heat = self._heat[kernel.name]
        heat.unseen += seconds
        if heat.unseen < LOOK_S:
            return 0.0
        ran = self.translation_of(kernel).ran_outside(*self.extent(kernel), heat.versions)
        took, newly = heat.unseen, ran - heat.outside
        heat.unseen, heat.outside = 0.0, ran
        return min(took, S_PER_INSTRUCTION * newly)

    def hot_instructions(self, kernel: Kernel) -> int:
        """How many instructions of the kernel ran, those of blocks that ran with and without all lanes twice."""
        return self.translation_of(kernel).hot_instructions(*self.extent(kernel))

    def _compile_in_background(self, kernel: Kernel, extra: set[int]) -> None:
        try:
            self.compile(kernel, extra)
            if not self.observers:
                self._keep(kernel)  # at once: it took seconds
        except Exception as error:
            self._heat[kernel.name].failed = True
            _failures.append(
                f"compile: {kernel.name} for {self.code.target} stays in the emulator's slow tier:"
                f" {type(error).__name__}: {error}; please report this"
            )
        finally:
            _waiting.discard((id(self), kernel.name))

    def compile(self, kernel: Kernel, extra: Iterable[int] = ()) -> None:
        """Put compiled units in the place of what tier 0 ran of a kernel so far; `extra` places where one begins."""
        heat, text = self._heat[kernel.name], self.translation_of(kernel)
        flow = self.flow(kernel, {*extra, *heat.loops})
        hot = Hot(Hot.of(flow, text.counts).versions | heat.versions)
        leaders = {pc for pc in flow.code if text.is_counted(pc)}
        builders = [
            UnitBuilder(flow, e, hot, self.isa, kernel.wave_size, leaders, self.observers)
            for e in flow.entries
            if {(e, True), (e, False)} & hot.versions
        ]
        text.install(self.library.units(builders))
        heat.loops |= set(extra)
        heat.entries, heat.versions, heat.outside = frozenset(flow.entries), hot.versions, 0
        start, end = self.extent(kernel)
        is_kept = all(start <= pc < end for pc in flow.code)  # units need all operations that they consist of
        heat.units = {b.entry: b.symbol for b in builders} if is_kept else {}
        self._note(kernel)
