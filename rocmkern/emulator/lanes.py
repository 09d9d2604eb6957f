"""Movement of lanes by DPP: which lane each lane reads, and which lanes are written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from attrs import frozen

from rocmkern.emulator.ir import Value
from rocmkern.emulator.isa.model import Dpp
from rocmkern.emulator.registers import Place, Registers

ROW = 16


def source_lane(ctrl: int, lane: int, wave_size: int) -> int:
    """The lane that `lane` reads under a DPP16 control; -1 where there is none."""
    row, i = lane // ROW * ROW, lane % ROW
    kind, n = ctrl & 0x1F0, ctrl & 0xF
    if ctrl < 0x100:  # quad_perm
        return lane // 4 * 4 + (ctrl >> 2 * (lane % 4) & 3)
    if kind == 0x100:  # row_shl
        return row + i + n if i + n < ROW else -1
    if kind == 0x110:  # row_shr
        return row + i - n if i >= n else -1
    if kind == 0x120:  # row_ror
        return row + (i - n) % ROW
    if kind == 0x150:  # row_share (gfx10), row_newbcast (gfx90a)
        return row + n
    if kind == 0x160:  # row_xmask
        return row + (i ^ n)
    fixed = {
        0x130: lane + 1 if lane + 1 < wave_size else -1,  # wave_shl:1
        0x134: (lane + 1) % wave_size,  # wave_rol:1
        0x138: lane - 1,  # wave_shr:1
        0x13C: (lane - 1) % wave_size,  # wave_ror:1
        0x140: row + ROW - 1 - i,  # row_mirror
        0x141: row + (i ^ 7),  # row_half_mirror
        0x142: row - 1,  # row_bcast:15
        0x143: 31 if lane >= 32 else -1,  # row_bcast:31
    }
    return fixed[ctrl]


@frozen
class Movement:
    """A resolved DPP."""

    order: tuple[int, ...]  # lane → source lane or -1
    enabled: int  # lanes by row_mask and bank_mask
    bound_ctrl: bool
    fetch_inactive: bool

    @staticmethod
    def of(dpp: Dpp, wave_size: int) -> Movement:
        lanes = range(wave_size)
        if dpp.lanes:
            order = tuple(lane // 8 * 8 + dpp.lanes[lane % 8] for lane in lanes)
            return Movement(order, (1 << wave_size) - 1, True, dpp.fi)
        order = tuple(source_lane(dpp.ctrl, lane, wave_size) for lane in lanes)
        enabled = sum(1 << i for i in lanes if dpp.row_mask >> i // ROW & 1 and dpp.bank_mask >> i % ROW // 4 & 1)
        return Movement(order, enabled, dpp.bound_ctrl, dpp.fi)

    @property
    def in_range(self) -> int:
        return sum(1 << i for i, source in enumerate(self.order) if source >= 0)

    @property
    def row_order(self) -> tuple[int, ...] | None:
        """The movement within a row of 16, where every row moves alike."""
        first = self.order[:ROW]
        for i, source in enumerate(self.order):
            start = i // ROW * ROW
            within = source - start if source >= 0 else -1
            if within != first[i % ROW] or (source >= 0 and not 0 <= within < ROW):
                return None
        return first

    def _readable(self, regs: Registers) -> Value:
        """Lanes with an active source, as i64."""
        w = regs.writer
        mask = regs.exec_mask()
        if self.fetch_inactive or mask is None:
            return w.constant("i64", signed(self.in_range))
        lanes = defaultdict[int, int](int)  # by how far the source is
        for lane, source in enumerate(self.order):
            if source >= 0:
                lanes[source - lane] |= 1 << lane
        result = w.constant("i64", 0)
        for distance, which in lanes.items():
            moved = mask.lshr(distance) if distance > 0 else mask.shl(-distance)
            result = result | moved & signed(which)
        return result

    def narrow(self, regs: Registers, exec_mask: Value | None) -> Value:
        """The lanes to write."""
        enabled = regs.writer.constant("i64", signed(self.enabled))
        mask = enabled if exec_mask is None else exec_mask & enabled
        return mask if self.bound_ctrl else mask & self._readable(regs)

    def fetcher(self, regs: Registers, place: Place, register: int) -> Callable[[Value], Value]:
        """The moved register by chunk; lanes without a source read 0."""
        w, row = regs.writer, self.row_order
        readable = self._readable(regs) if self.bound_ctrl else None
        moved = None if row is not None and regs.lanes == ROW else regs.permuted(place, list(self.order), register)

        def fetch(chunk: Value) -> Value:
            if moved is not None:
                value = regs.vector(moved, 0, chunk)
            else:
                assert row is not None
                value = w.shuffle(regs.vector(place, register, chunk), None, [max(s, 0) for s in row])
            if readable is None:
                return value
            return regs.lanes_of(readable, chunk).select(value, 0)

        return fetch


def signed(bits: int) -> int:
    """An i64 constant's number as LLVM prints it."""
    return bits - (1 << 64) if bits >> 63 else bits
