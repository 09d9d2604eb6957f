// indexing: select, gather, add, scatter and scatter_add by index tensors; checked indices; positions of non-zeros.
// An index equal to its type's maximum is Candle's padding mark, and an index outside the axis is treated alike: it
// reads as zero and is not written, so that no index leads outside the memory. What takes a status reports it.
#include "include/any_ids.hpp"
#include "include/device.hpp"
#include "include/index.hpp"
#include "include/math.hpp"
#include "include/running_sum.hpp"
#include "include/scatter_tiles.hpp"

namespace rk {

// A negative index is a huge unsigned number.
template <typename I>
RK_DEVICE bool is_inside(I id, u64 size) {
    return id != highest<I>() && static_cast<u64>(static_cast<i64>(id)) < size;
}

// Index tensor of one axis in any layout; a null info means contiguous.
template <typename I>
struct Ids {
    const I *data;
    u64 count = 0;
    u64 num_dims = 0;
    const u64 *info = nullptr;

    RK_DEVICE I at(u64 j) const {
        const bool direct = info == nullptr || (num_dims == 1 && info[1] == 1);
        return data[direct ? j : strided_offset(j, count, num_dims, info, info + num_dims)];
    }
    // Not below `bound` where the index leads nowhere.
    RK_DEVICE u64 place(u64 j, u64 bound) const {
        const I id = at(j);
        return is_inside(id, bound) ? static_cast<u64>(static_cast<i64>(id)) : bound;
    }

    // The same of contiguous indices in steps, so that loads of several are in flight, each as narrow as it is.
    using Id = I;
    static constexpr Id nowhere = highest<I>();
    RK_DEVICE Id read(u64 j) const { return data[j]; }
    RK_DEVICE Id checked(Id id, u64, u64) const { return id; }
    RK_DEVICE static bool leads(Id id, u64 bound) { return is_inside(id, bound); }
};

// Where an index of any type leads, counted from the end where it is negative. One outside is told of, unless the status
// is null: such indices are another kernel's.
struct ReportedIds {
    AnyIds ids;
    u64 count;
    u64 num_dims;
    const u64 *info;
    IdStatus *status;

    RK_DEVICE ReportedIds(const u8 *data, i32 type, u64 *status_, u64 count_, u64 num_dims_, const u64 *info_)
        : ids{data, type}, count(count_), num_dims(num_dims_), info(info_),
          status(reinterpret_cast<IdStatus *>(status_)) {}
    RK_DEVICE u64 offset(u64 j) const {
        return info == nullptr ? j : strided_offset(j, count, num_dims, info, info + num_dims);
    }
    RK_DEVICE u64 place_of(i64 id, u64 j, u64 bound) const {
        const u64 found = ids.place_of(id, bound);
        if (found >= bound && status != nullptr) {
            report(status, j, [this](u64 i) { return ids.at(offset(i)); });
        }
        return found;
    }
    RK_DEVICE u64 place(u64 j, u64 bound) const { return place_of(ids.at(offset(j)), j, bound); }
};

// The same of contiguous i64 in steps.
struct ReportedSteps {
    const i64 *data;
    IdStatus *status;

    RK_DEVICE ReportedSteps(const i64 *data_, u64 *status_)
        : data(data_), status(reinterpret_cast<IdStatus *>(status_)) {}

    using Id = u64;
    static constexpr Id nowhere = no_position;
    RK_DEVICE Id read(u64 j) const { return static_cast<u64>(data[j]); }
    RK_DEVICE Id checked(Id id, u64 j, u64 bound) const {
        const u64 found = id + (static_cast<i64>(id) < 0 ? bound : 0);
        if (found >= bound && status != nullptr) {
            report(status, j, [this](u64 i) { return data[i]; });
        }
        return found;
    }
    RK_DEVICE static bool leads(Id id, u64 bound) { return id < bound; }
};

// Rows of `right` elements seen as 16-byte vectors where they divide into such.
template <typename Bits>
struct Rows {
    u64 right;
    u64 width;

    RK_DEVICE Rows(u64 right_, const Bits *inp, const Bits *out) {
        constexpr u64 lanes = vector_bytes / sizeof(Bits);
        const bool packs = right_ % lanes == 0 && is_aligned(inp, vector_bytes) && is_aligned(out, vector_bytes);
        width = packs ? lanes : 1;
        right = packs ? right_ / lanes : right_;
    }

    RK_DEVICE void copy(const Bits *inp, u64 source, bool valid, Bits *out, u64 target) const {
        if (width == 1) {
            out[target] = valid ? inp[source] : Bits(0);
            return;
        }
        FourWords moved = {};
        if (valid) {
            moved = reinterpret_cast<const FourWords *>(inp)[source];
        }
        reinterpret_cast<FourWords *>(out)[target] = moved;
    }
};

constexpr u32 moves_in_flight = 4;

// One row by a line of threads along x: a copy, or zeros.
template <typename Unit>
RK_DEVICE void move_row(const Unit *from, bool valid, Unit *to, u64 units) {
    const u32 line = block_size_x();
    if (!valid) {
        for (u64 r = thread_x(); r < units; r += line) {
            to[r] = Unit{};
        }
        return;
    }
#pragma unroll 1
    for (u64 r = thread_x(); r < units; r += moves_in_flight * line) {
        Unit moved[moves_in_flight];
#pragma unroll
        for (u32 m = 0; m < moves_in_flight; ++m) {
            moved[m] = from[r + m * line < units ? r + m * line : r];
        }
        loads_begin_above();
#pragma unroll
        for (u32 m = 0; m < moves_in_flight; ++m) {
            if (r + m * line < units) {
                to[r + m * line] = moved[m];
            }
        }
    }
}

// out[l, j, r] = inp[l, ids[j], r] by lines of threads, each a row at a time.
template <typename Unit, typename Indices>
RK_DEVICE void select_rows(u64 units, const Indices &ids, const Unit *inp, Unit *out, u64 left, u64 src_dim, u64 right) {
    const bool small = units <= 0xffffffffu;
    const u64 step = static_cast<u64>(grid_x()) * block_size_y();
#pragma unroll 1
    for (u64 row = static_cast<u64>(block_x()) * block_size_y() + thread_y(); row * right < units; row += step) {
        const u64 l = left == 1 ? 0 : divide(row, ids.count, small);
        const u64 place = ids.place(row - l * ids.count, src_dim);
        move_row(inp + (l * src_dim + place) * right, place < src_dim, out + row * right, right);
    }
}

// The same by one thread an access, for rows shorter than a line of threads.
template <typename Indices, typename Bits>
RK_DEVICE void select_units(u64 units, const Indices &ids, const Rows<Bits> &rows, const Bits *inp, Bits *out,
                            u64 src_dim) {
    const bool small = units <= 0xffffffffu;
#pragma unroll 1
    for (u64 unit = global_thread(); unit < units; unit += global_threads()) {
        const u64 row = divide(unit, rows.right, small);
        const u64 r = unit - row * rows.right;
        const u64 l = divide(row, ids.count, small);
        const u64 place = ids.place(row - l * ids.count, src_dim);
        rows.copy(inp, (l * src_dim + place) * rows.right + r, place < src_dim, out, unit);
    }
}

template <typename Indices, typename Bits>
RK_DEVICE void index_select(u64 numel, const Indices &ids, const Bits *inp, Bits *out, u64 left, u64 src_dim,
                            u64 right) {
    const Rows<Bits> rows(right, inp, out);
    const u64 units = rows.width == 1 ? numel : numel / (vector_bytes / sizeof(Bits));
    if (block_size_y() == 1 && rows.right < block_size_x()) {
        select_units(units, ids, rows, inp, out, src_dim);
    } else if (rows.width == 1) {
        select_rows(units, ids, inp, out, left, src_dim, right);
    } else {
        select_rows(units, ids, reinterpret_cast<const FourWords *>(inp), reinterpret_cast<FourWords *>(out), left,
                    src_dim, rows.right);
    }
}

// out[l, j, r] = inp[l, ids[l, j, r], r]
template <typename I, typename Bits>
RK_DEVICE void gather(u64 numel, const I *ids, const Bits *inp, Bits *out, u64 src_dim, u64 ids_dim, u64 right) {
    const bool small = numel <= 0xffffffffu;
#pragma unroll 1
    for (u64 i = global_thread(); i < numel; i += global_threads()) {
        const u64 row = divide(i, right, small);
        const u64 l = divide(row, ids_dim, small);
        const I id = ids[i];
        const u64 source = (l * src_dim + static_cast<u64>(static_cast<i64>(id))) * right + (i - row * right);
        out[i] = is_inside(id, src_dim) ? inp[source] : Bits(0);
    }
}

// The same for any layout and for ids smaller than inp off the axis: the ids' info is followed by inp's strides, with 0
// for the axis, whose own stride comes apart. read(offset) is an index; a thread has that of Moves elements in flight.
template <u32 Moves, typename Bits, typename Read>
RK_DEVICE void gather_strided(const ReportedIds &ids, const Bits *inp, Bits *out, u64 src_dim, u64 src_stride, Read read) {
    const u64 numel = ids.count, step = global_threads();
#pragma unroll 1
    for (u64 i = global_thread(); i < numel; i += Moves * step) {
        u64 source[Moves];
        i64 id[Moves];
        Bits value[Moves];
#pragma unroll
        for (u32 m = 0; m < Moves; ++m) {
            const u64 j = i + m * step < numel ? i + m * step : i;
            const auto offsets = strided_offsets<2>(j, numel, ids.num_dims, ids.info, ids.info + ids.num_dims);
            id[m] = read(offsets.of[0]);
            source[m] = offsets.of[1];
        }
#pragma unroll
        for (u32 m = 0; m < Moves; ++m) {
            const u64 place = ids.place_of(id[m], i + m * step < numel ? i + m * step : i, src_dim);
            value[m] = place < src_dim ? inp[source[m] + place * src_stride] : Bits(0);
        }
#pragma unroll
        for (u32 m = 0; m < Moves; ++m) {
            if (i + m * step < numel) {
                out[i + m * step] = value[m];
            }
        }
    }
}

template <typename Bits>
RK_DEVICE void gather_strided(const ReportedIds &ids, const Bits *inp, Bits *out, u64 src_dim, u64 src_stride) {
    const auto each_in_flight = [&](const auto *data) {
        gather_strided<moves_in_flight>(ids, inp, out, src_dim, src_stride,
                                        [=](u64 offset) { return static_cast<i64>(data[offset]); });
    };
    if (ids.ids.type == -8) {
        each_in_flight(reinterpret_cast<const i64 *>(ids.ids.data));
    } else if (ids.ids.type == -4) {
        each_in_flight(reinterpret_cast<const i32 *>(ids.ids.data));
    } else {
        gather_strided<1>(ids, inp, out, src_dim, src_stride, [&](u64 offset) { return ids.ids.at(offset); });
    }
}

template <typename T>
struct Set {
    static constexpr bool reads = false;
    RK_DEVICE static T join(T, T value) { return value; }
};

template <typename T>
struct Add {
    static constexpr bool reads = true;
    RK_DEVICE static T join(T old, T value) { return narrow<T>(add(widen(old), widen(value))); }
};

template <>
struct Add<bool> {
    static constexpr bool reads = true;
    RK_DEVICE static bool join(bool old, bool value) { return old || value; }
};

constexpr u32 writes_in_flight = 4;

// out[l, ids[…], r] = join(out[l, ids[…], r], inp[l, j, r]) for j = 0, 1, …: one thread walks all j of its (l, r), so
// the order of joins is fixed, the last write wins, and there is no race. Ids are per j or per element. A few j are
// loaded at once; of those that meet in one place, a later one takes its old value from the one before.
template <bool PerElement, template <typename> typename Join, typename Indices, typename T>
RK_DEVICE void scatter(const Indices &ids, const T *inp, T *out, u64 left, u64 src_dim, u64 dst_dim, u64 right) {
    const u64 columns = left * right;
    const bool small = columns <= 0xffffffffu;
#pragma unroll 1
    for (u64 column = global_thread(); column < columns; column += global_threads()) {
        const u64 l = divide(column, right, small);
        const u64 r = column - l * right;
        const u64 source = l * src_dim * right + r;
        T *target = out + l * dst_dim * right + r;
#pragma unroll 1
        for (u64 j = 0; j < src_dim; j += writes_in_flight) {
            typename Indices::Id id[writes_in_flight];
            T value[writes_in_flight];
            u64 at[writes_in_flight];
#pragma unroll
            for (u32 w = 0; w < writes_in_flight; ++w) {
                const u64 element = j + w < src_dim ? source + (j + w) * right : source;
                at[w] = PerElement ? element : j + w;
                id[w] = j + w < src_dim ? ids.read(at[w]) : Indices::nowhere;
                value[w] = inp[element];
            }
#pragma unroll
            for (u32 w = 0; w < writes_in_flight; ++w) {
                if (j + w < src_dim) {
                    id[w] = ids.checked(id[w], at[w], dst_dim);
                }
            }
            T old[writes_in_flight] = {};
            if constexpr (Join<T>::reads) {
#pragma unroll
                for (u32 w = 0; w < writes_in_flight; ++w) {
                    if (Indices::leads(id[w], dst_dim)) {
                        old[w] = target[static_cast<u64>(static_cast<i64>(id[w])) * right];
                    }
                }
            }
#pragma unroll
            for (u32 w = 0; w < writes_in_flight; ++w) {
#pragma unroll
                for (u32 before = 0; before < w; ++before) {
                    old[w] = id[before] == id[w] ? value[before] : old[w];
                }
                value[w] = Join<T>::join(old[w], value[w]);
                if (Indices::leads(id[w], dst_dim)) {
                    target[static_cast<u64>(static_cast<i64>(id[w])) * right] = value[w];
                }
            }
        }
    }
}

// The same sum of rows, a row of out at a time: `order` sorts the ids stably, and the first of equal ones adds all their
// rows in the order of j. Short floats are rounded once at the end.
template <typename T, u32 Width>
RK_DEVICE void add_sorted_rows(const i64 *order, const i64 *ids, u64 count, const Pack<T, Width> *inp,
                               Pack<T, Width> *out, u64 left, u64 dst_dim, u64 right) {
    const u64 units = left * count * right;
    const bool small = units <= 0xffffffffu;
#pragma unroll 1
    for (u64 unit = global_thread(); unit < units; unit += global_threads()) {
        const u64 row = divide(unit, right, small);
        const u64 r = unit - row * right;
        const u64 l = divide(row, count, small);
        u64 p = row - l * count;
        const i64 id = ids[order[p]];
        if (!is_inside(id, dst_dim) || (p > 0 && ids[order[p - 1]] == id)) {
            continue;
        }
        Pack<T, Width> *target = out + (l * dst_dim + static_cast<u64>(id)) * right + r;
        const Pack<T, Width> old = *target;
        arith<T> sum[Width];
#pragma unroll
        for (u32 w = 0; w < Width; ++w) {
            sum[w] = widen(old.lane[w]);
        }
        do {
            const Pack<T, Width> more = inp[(l * count + order[p]) * right + r];
#pragma unroll
            for (u32 w = 0; w < Width; ++w) {
                sum[w] = Add<arith<T>>::join(sum[w], widen(more.lane[w]));
            }
            ++p;
        } while (p < count && ids[order[p]] == id);
        Pack<T, Width> result;
#pragma unroll
        for (u32 w = 0; w < Width; ++w) {
            result.lane[w] = narrow<T>(sum[w]);
        }
        *target = result;
    }
}

template <typename T>
RK_DEVICE void index_add_sorted(const i64 *order, const i64 *ids, u64 count, const T *inp, T *out, u64 left,
                                u64 dst_dim, u64 right) {
    constexpr u32 width = vector_bytes / sizeof(T) < 4 ? vector_bytes / sizeof(T) : 4;
    if (right % width == 0 && is_aligned(inp, width * sizeof(T)) && is_aligned(out, width * sizeof(T))) {
        add_sorted_rows<T, width>(order, ids, count, reinterpret_cast<const Pack<T, width> *>(inp),
                                  reinterpret_cast<Pack<T, width> *>(out), left, dst_dim, right / width);
    } else {
        add_sorted_rows<T, 1>(order, ids, count, reinterpret_cast<const Pack<T, 1> *>(inp),
                              reinterpret_cast<Pack<T, 1> *>(out), left, dst_dim, right);
    }
}

template <typename I>
RK_DEVICE i64 wrapped(I id, u64 bound) {
    const i64 wide = static_cast<i64>(id);
    return wide < 0 && is_signed_integer<I> ? wide + static_cast<i64>(bound) : wide;
}

// out[i] = ids[i] as i64, counted from the end where negative; one outside [-bound, bound) becomes the padding mark.
template <typename I>
RK_DEVICE void check_ids(u64 numel, u64 num_dims, const u64 *info, const I *ids, i64 *out, u64 bound,
                         IdStatus *status) {
    const Ids<I> source = {ids, numel, num_dims, info};
    u64 first = no_position;
#pragma unroll 1
    for (u64 i = global_thread(); i < numel; i += global_threads()) {
        const i64 id = wrapped(source.at(i), bound);
        const bool inside = static_cast<u64>(id) < bound;
        out[i] = inside ? id : highest<i64>();
        first = inside || first < i ? first : i;
    }
    if (first != no_position) {
        report(status, first, [&](u64 i) { return static_cast<i64>(source.at(i)); });
    }
}

template <typename T>
RK_DEVICE bool is_non_zero(T x) {
    return widen(x) != static_cast<arith<T>>(0);
}

// counts[t] = non-zeros among x[t·tile …]
template <typename T>
RK_DEVICE void count_non_zeros(u64 numel, u64 tile, const T *x, u64 *counts) {
    constexpr u32 width = vector_bytes / sizeof(T);
    using Vector = Pack<T, width>;
    __shared__ u32 scratch[max_waves];
    const bool packs = tile % width == 0 && is_aligned(x, vector_bytes);
    for (u64 t = block_x(); t * tile < numel; t += grid_x()) {
        const u64 begin = t * tile;
        const u64 size = begin + tile < numel ? tile : numel - begin;
        const u64 whole = packs ? size / width : 0;
        u32 count = 0;
#pragma unroll 4
        for (u64 p = thread_x(); p < whole; p += block_size_x()) {
            const Vector pack = reinterpret_cast<const Vector *>(x + begin)[p];
#pragma unroll
            for (u32 j = 0; j < width; ++j) {
                count += is_non_zero(pack.lane[j]) ? 1u : 0u;
            }
        }
        for (u64 i = whole * width + thread_x(); i < size; i += block_size_x()) {
            count += is_non_zero(x[begin + i]) ? 1u : 0u;
        }
        const u32 total = block_reduce<Sum<u32>>(count, scratch);
        if (thread_x() == 0) {
            counts[t] = total;
        }
    }
}

// Each count becomes the sum of those before it; counts[n] the sum of all. One block.
RK_DEVICE void scan_counts(u64 n, u64 *counts) {
    __shared__ u64 scratch[max_waves];
    u64 before = 0;
    for (u64 base = 0; base < n; base += block_size_x()) {
        const u64 i = base + thread_x();
        const Running<u64> sum = block_running_sum(i < n ? counts[i] : u64(0), scratch);
        if (i < n) {
            counts[i] = before + sum.before;
        }
        before += sum.total;
    }
    if (thread_x() == 0) {
        counts[n] = before;
    }
}

// out[starts[t] …] = the positions of the non-zeros of tile t, in ascending order
template <typename T>
RK_DEVICE void write_non_zeros(u64 numel, u64 tile, const T *x, const u64 *starts, i64 *out) {
    __shared__ u32 scratch[max_waves];
    for (u64 t = block_x(); t * tile < numel; t += grid_x()) {
        const u64 end = (t + 1) * tile < numel ? (t + 1) * tile : numel;
        u64 start = starts[t];
        for (u64 base = t * tile; base < end; base += block_size_x()) {
            const u64 i = base + thread_x();
            const bool found = i < end && is_non_zero(x[i]);
            const Running<u32> sum = block_running_sum(found ? 1u : 0u, scratch);
            if (found) {
                out[start + sum.before] = static_cast<i64>(i);
            }
            start += sum.total;
        }
    }
}

// coordinates[d, i] = the d-th coordinate of linear position flat[i] in an array of shape `dims`
RK_DEVICE void unravel(u64 numel, u64 num_dims, const u64 *dims, const i64 *flat, i64 *coordinates) {
    for (u64 i = global_thread(); i < numel; i += global_threads()) {
        u64 rest = static_cast<u64>(flat[i]);
        for (u64 d = num_dims; d-- > 0;) {
            const u64 quotient = divide(rest, dims[d]);
            coordinates[d * numel + i] = static_cast<i64>(rest - quotient * dims[d]);
            rest = quotient;
        }
    }
}

#define INDEX_SELECT(I, T, Bits)                                                                                 \
    RK_KERNEL is_##I##_##T(u64 numel, u64 num_dims, const u64 *__restrict__ info, const I *ids, const Bits *inp, \
                           Bits *out, u64 left, u64 src_dim, u64 ids_dim, u64 right) {                           \
        index_select(numel, Ids<I>{ids, ids_dim, num_dims, info}, inp, out, left, src_dim, right);               \
    }
#define SELECT(Bits)                                                                                             \
    RK_KERNEL select_##Bits(u64 numel, u64 num_dims, const u64 *__restrict__ info, i32 id_type, const u8 *ids,   \
                            const Bits *inp, Bits *out, u64 left, u64 src_dim, u64 ids_dim, u64 right,           \
                            u64 *status) {                                                                       \
        const ReportedIds at(ids, id_type, status, ids_dim, num_dims, info);                                     \
        index_select(numel, at, inp, out, left, src_dim, right);                                                 \
    }
#define GATHER(I, T, Bits)                                                                                       \
    RK_KERNEL gather_##I##_##T(u64 numel, const I *ids, const Bits *inp, Bits *out, u64, u64 src_dim,            \
                               u64 ids_dim, u64 right) {                                                         \
        gather<I, Bits>(numel, ids, inp, out, src_dim, ids_dim, right);                                          \
    }
#define GATHER_STRIDED(Bits)                                                                                     \
    RK_KERNEL gather_strided_##Bits(u64 numel, u64 num_dims, const u64 *__restrict__ info, i32 id_type,          \
                                    const u8 *ids, const Bits *inp, Bits *out, u64 src_dim, u64 src_stride,      \
                                    u64 *status) {                                                               \
        const ReportedIds at(ids, id_type, status, numel, num_dims, info);                                       \
        gather_strided(at, inp, out, src_dim, src_stride);                                                       \
    }
#define INDEX_COPY(Bits)                                                                                         \
    RK_KERNEL index_copy_##Bits(const i64 *ids, u64 ids_dim, const Bits *inp, Bits *out, u64 left,               \
                                u64, u64 dst_dim, u64 right, u64 *status) {                                      \
        scatter<false, Set>(ReportedSteps(ids, status), inp, out, left, ids_dim, dst_dim, right);                \
    }
#define INDEX_ADD(I, T)                                                                                          \
    RK_KERNEL ia_##I##_##T(const I *ids, u64 ids_dim, const T *inp, T *out, u64 left, u64, u64 dst_dim,          \
                           u64 right) {                                                                          \
        scatter<false, Add>(Ids<I>{ids}, inp, out, left, ids_dim, dst_dim, right);                               \
    }
#define INDEX_ADD_SORTED(T)                                                                                      \
    RK_KERNEL ia_sorted_##T(const i64 *order, const i64 *ids, u64 ids_dim, const T *inp, T *out, u64 left,       \
                            u64 dst_dim, u64 right) {                                                            \
        index_add_sorted<T>(order, ids, ids_dim, inp, out, left, dst_dim, right);                                \
    }
#define SCATTER(I, T, Bits)                                                                                      \
    RK_KERNEL s_##I##_##T(const I *ids, const Bits *inp, Bits *out, u64 left, u64 src_dim, u64 dst_dim,          \
                          u64 right) {                                                                           \
        scatter<true, Set>(Ids<I>{ids}, inp, out, left, src_dim, dst_dim, right);                                \
    }
#define SCATTER_ADD(I, T)                                                                                        \
    RK_KERNEL sa_##I##_##T(const I *ids, const T *inp, T *out, u64 left, u64 src_dim, u64 dst_dim, u64 right) {  \
        scatter<true, Add>(Ids<I>{ids}, inp, out, left, src_dim, dst_dim, right);                                \
    }
#define REPORTING_SCATTER(Bits)                                                                                  \
    RK_KERNEL scatter_##Bits(const i64 *ids, const Bits *inp, Bits *out, u64 left, u64 src_dim,                  \
                             u64 dst_dim, u64 right, u64 *status) {                                              \
        scatter<true, Set>(ReportedSteps(ids, status), inp, out, left, src_dim, dst_dim, right);                 \
    }
#define REPORTING_SCATTER_ADD(T)                                                                                 \
    RK_KERNEL scatter_add_##T(const i64 *ids, const T *inp, T *out, u64 left, u64 src_dim,                       \
                              u64 dst_dim, u64 right, u64 *status) {                                             \
        scatter<true, Add>(ReportedSteps(ids, status), inp, out, left, src_dim, dst_dim, right);                 \
    }
#define SCATTER_TILES(Bits)                                                                                      \
    RK_BLOCKS_KERNEL(256, 4) scatter_tiles_##Bits(u32 columns, const i64 *ids, const Bits *inp,                  \
                                                  const Bits *base, Bits *out, u64 left, u64 src_dim,            \
                                                  u64 dst_dim, u64 right, u64 *status) {                         \
        scatter_tiles<Set>(columns, ReportedSteps(ids, status), inp, base, out, left, src_dim, dst_dim, right);  \
    }
#define SCATTER_ADD_TILES(T)                                                                                     \
    RK_BLOCKS_KERNEL(256, 4) scatter_add_tiles_##T(u32 columns, const i64 *ids, const T *inp, const T *base,     \
                                                   T *out, u64 left, u64 src_dim, u64 dst_dim, u64 right,        \
                                                   u64 *status) {                                                \
        scatter_tiles<Add>(columns, ReportedSteps(ids, status), inp, base, out, left, src_dim, dst_dim, right);  \
    }
#define CHECK_IDS(I)                                                                                             \
    RK_KERNEL check_ids_##I(u64 numel, u64 num_dims, const u64 *__restrict__ info, const I *ids, i64 *out,       \
                            u64 bound, u64 *status) {                                                            \
        check_ids<I>(numel, num_dims, info, ids, out, bound, reinterpret_cast<IdStatus *>(status));              \
    }
#define COUNT_NON_ZEROS(T)                                                                                       \
    RK_KERNEL nonzero_count_##T(u64 numel, u64 tile, const T *x, u64 *counts) {                                  \
        count_non_zeros<T>(numel, tile, x, counts);                                                              \
    }
#define SCAN_COUNTS(name) \
    RK_KERNEL name(u64 n, u64 *counts) { scan_counts(n, counts); }
#define WRITE_NON_ZEROS(T)                                                                                       \
    RK_KERNEL nonzero_write_##T(u64 numel, u64 tile, const T *x, const u64 *starts, i64 *out) {                  \
        write_non_zeros<T>(numel, tile, x, starts, out);                                                         \
    }
#define UNRAVEL(name)                                                                                            \
    RK_KERNEL name(u64 numel, u64 num_dims, const u64 *__restrict__ dims, const i64 *flat, i64 *coordinates) {   \
        unravel(numel, num_dims, dims, flat, coordinates);                                                       \
    }

#include "instances/indexing.inc"

}  // namespace rk
