"""What loads that transpose do with the elements that they have loaded."""

from __future__ import annotations

from rocmkern.emulator.ir import Value, Writer


def transposed(w: Writer, rows: list[Value], bits: int, group: int) -> list[Value]:
    """The elements of each `group` of lanes are a matrix, row after row, of `group` columns: each lane gets one.

    `rows` holds a register of all lanes each; elements lie in them one after the other.
    """
    lanes, each = rows[0].lanes, 32 * len(rows) // bits
    zero = rows[0].like(0)
    whole, found = w.concatenate([*rows, zero] if len(rows) % 2 else rows), [zero] * len(rows)
    columns = [lane % group for lane in range(lanes)]
    for element in range(each):
        sources = [lane - c + element * (group // each) + c // each for lane, c in enumerate(columns)]
        places = [c % each * bits for c in columns]
        low = w.shuffle(whole, None, [p // 32 * lanes + s for p, s in zip(places, sources, strict=True)])
        following = [min(p // 32 + 1, len(rows) - 1) * lanes + s for p, s in zip(places, sources, strict=True)]
        wide = w.combine(low, w.shuffle(whole, None, following))
        value = wide.lshr(w.vector("i64", [p % 32 for p in places])).trunc("i32") & ((1 << bits) - 1)
        register, shift = divmod(element * bits, 32)
        found[register] = found[register] | value.shl(shift)
        if shift + bits > 32:
            found[register + 1] = found[register + 1] | value.lshr(32 - shift)
    return found
