// What a matrix product's launch covers besides tiles: batches of matrices, and parts of a long inner axis, whose results a
// second pass adds in their order.
#pragma once

#include "device.hpp"
#include "index.hpp"

namespace rk {

template <typename T>
RK_DEVICE T *per_lane(T *pointer) {
    return reinterpret_cast<T *>(per_lane(reinterpret_cast<u64>(pointer)));
}

RK_DEVICE u64 apart(u64 value) {
    const u64 high = apart(static_cast<u32>(value >> 32));
    return high << 32 | apart(static_cast<u32>(value));
}
template <typename T>
RK_DEVICE T *apart(T *pointer) {
    return reinterpret_cast<T *>(apart(reinterpret_cast<u64>(pointer)));
}

RK_DEVICE u64 uniform64(u64 value) {
    const u64 high = uniform(static_cast<u32>(value >> 32));
    return high << 32 | uniform(static_cast<u32>(value));
}

struct Strides {
    u64 batch;
    u64 row;
    u64 column;

    RK_DEVICE Strides anew() const { return {batch, afresh(row), afresh(column)}; }
};

struct BatchOffsets {
    u64 left;
    u64 right;
};

// The batch axes: one of the operands' own batch strides, or with `info` several (dims, lhs strides, rhs strides).
struct Batch {
    u64 count;
    u64 num_dims;
    const u64 *info;

    RK_DEVICE BatchOffsets offsets(u64 matrix, const Strides &left, const Strides &right) const {
        if (!info) {
            return {matrix * left.batch, matrix * right.batch};
        }
        BatchOffsets found = {};
        u64 rest = matrix;
#pragma unroll 1
        for (const u64 *axis = info + num_dims; axis-- != info;) {
            const u64 quotient = divide(rest, axis[0]);
            const u64 position = rest - quotient * axis[0];
            found.left += position * axis[num_dims];
            found.right += position * axis[2 * num_dims];
            rest = quotient;
        }
        return found;
    }
};

// A matrix of the batch, and the `depth` elements of k from `first` on.
struct Share {
    u64 matrix;
    u64 first;
    u64 depth;
};

// An inner axis of more than `part` is split; each part gives a whole batch of results, one after another.
struct Extents {
    u64 m;
    u64 n;
    u64 k;
    u64 part;

    RK_DEVICE Extents anew() const { return {afresh(m), afresh(n), afresh(k), per_lane(part)}; }
    RK_DEVICE u64 parts() const { return k > part ? divide(k - 1, part) + 1 : 1; }
    RK_DEVICE Share share(u64 number, const Batch &batch) const {
        if (k <= part) {
            return {number, 0, k};
        }
        const u64 which = divide(number, batch.count);
        const u64 first = which * part;
        return {number - which * batch.count, first, k - first < part ? k - first : part};
    }
};

// dst = the sum of `parts` batches of m × n results.
template <typename Out, typename Finish, typename Acc>
RK_DEVICE void add_parts(u64 m, u64 n, u64 batch, u64 parts, const Finish &finish, const Acc *src, Out *dst) {
    const u64 count = batch * m * n;
#pragma unroll 1
    for (u64 i = global_thread(); i < count; i += global_threads()) {
        Acc sum = src[i];
#pragma unroll 4
        for (u64 part = 1; part < parts; ++part) {
            sum += src[part * count + i];
        }
        const u64 line = divide(i, n);
        dst[i] = finish(sum, line - divide(line, m) * m, i - line * n);
    }
}

}  // namespace rk
