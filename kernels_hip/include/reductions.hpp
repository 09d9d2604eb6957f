// The reductions over a row. Each carries a State: what one element is, what nothing is, how two join (commutatively),
// whether joining a value twice is joining it once, and the output that the row's state stands for. f16 and bf16
// accumulate in f32, f32 and f64 in themselves, integers in a word that wraps. `in_flight` is how many packs a thread
// loads before it joins the first: an AMD wave has a hundred scalar registers for the comparisons between them.
#pragma once

#include "math.hpp"

namespace rk {

template <typename T>
using total = choose<is_float<T>, arith<T>, wrapping<T>>;

// A bool is reduced as the byte it is: as a truth value it would take a pair of scalar registers in every lane's stead.
template <typename T>
using stored = choose<is_bool<T>, u8, T>;

// What values are compared in: a full word for the small integers, so that no join works in parts of registers.
template <typename T>
using compared = choose<is_float<T>, arith<T>, choose<sizeof(T) == 8, T, choose<is_signed_integer<T>, i32, u32>>>;

// A value and where it was found. A NaN beats every number, the earlier of two equals beats the later.
template <typename T>
struct Found {
    T value;
    u64 index;
};

template <bool Largest, typename T>
RK_DEVICE bool is_better(T x, T y) {
    return (Largest ? x > y : x < y) || (is_nan(x) && !is_nan(y));
}

// A bit pattern that is 0 exactly where the value is: -0.0 is zero, NaN is not.
template <typename T>
RK_DEVICE wrapping<T> truth_bits(T x) {
    const bits_of<T> bits = bit_cast<bits_of<T>>(x);
    return is_float<T> ? static_cast<bits_of<T>>(bits << 1) : bits;
}

// exp(x - largest) summed: the state of a logarithm of a sum of exponentials that can't overflow.
template <typename T>
struct ExpSum {
    T largest;
    T sum;
};

template <typename T>
RK_DEVICE T rescale(T sum, T from, T to) {
    return from == to ? sum : sum * exp(from - to);  // equal infinities have no difference
}

template <typename T>
RK_DEVICE ExpSum<T> join_exp_sums(const ExpSum<T> &x, const ExpSum<T> &y) {
    const T largest = maximum(x.largest, y.largest);
    return {largest, rescale(x.sum, x.largest, largest) + rescale(y.sum, y.largest, largest)};
}

// A sum, and what it is of values scaled down, which is a number where the first has overflowed.
template <typename V>
struct TwoSums {
    static constexpr V scale = 0x1p-64;
    static constexpr V largest = is_same<V, f32> ? 0x1.fffffep+127 : 0x1.fffffffffffffp+1023;
    V plain;
    V small;

    RK_DEVICE TwoSums operator+(const TwoSums &other) const { return {plain + other.plain, small + other.small}; }
    RK_DEVICE bool is_plain() const { return fabs(plain) <= largest; }
    // The sum over a number. A little beyond the largest number, where rounding may lead, it is that.
    RK_DEVICE V over(V divisor) const {
        const V mean = small / divisor, most = largest * scale;
        const V bounded = fabs(mean) > most && fabs(mean) < most * V(1.001) ? copysign(most, mean) : mean;
        return is_plain() ? plain / divisor : bounded / scale;
    }
};

namespace reduction {

template <typename T>
struct sum {
    static constexpr bool idempotent = false;
    static constexpr u32 in_flight = 4;
    using State = total<T>;
    using Out = T;
    RK_DEVICE static State identity() { return 0; }
    RK_DEVICE static State element(T x, u64) { return static_cast<State>(widen(x)); }
    RK_DEVICE static State join(const State &x, const State &y) { return x + y; }
    RK_DEVICE static Out result(const State &state, u64) { return narrow<T>(static_cast<arith<T>>(state)); }
};

template <typename T>
struct prod : sum<T> {
    using State = total<T>;
    RK_DEVICE static State identity() { return 1; }
    RK_DEVICE static State join(const State &x, const State &y) { return x * y; }
};

// The same of values scaled down.
template <typename T>
struct small_sum : sum<T> {
    RK_DEVICE static total<T> element(T x, u64) { return widen(x) * TwoSums<total<T>>::scale; }
};

// Threads join sums, and sums of values scaled down where the first are none.
template <typename T>
struct mean {
    static constexpr bool idempotent = false;
    static constexpr u32 in_flight = 1;  // choosing between states would spill them
    using Share = sum<T>;
    using SmallShare = small_sum<T>;
    using State = TwoSums<total<T>>;
    using Out = T;
    RK_DEVICE static State identity() { return {0, 0}; }
    RK_DEVICE static State join(const State &x, const State &y) { return x + y; }
    RK_DEVICE static T result(const State &state, u64 count) {
        return narrow<T>(state.over(static_cast<total<T>>(count)));
    }
};

template <bool Largest, typename T>
RK_DEVICE T further(T x, T y) {
    if constexpr (has_keeping_nan && is_same<T, f32>) {
        return keeping_nan<Largest>(x, y);
    } else {
        return Largest ? maximum(x, y) : minimum(x, y);
    }
}

template <typename T, typename Short, bool Largest>
struct pairs_of {
    using Two = Short __attribute__((ext_vector_type(2)));
    template <u32 Width>
    RK_DEVICE static f32 pack(const Pack<T, Width> &pack, u64) {
        const auto words = bit_cast<Pack<u32, Width / 2>>(pack);
        Two two = bit_cast<Two>(words.lane[0]);
#pragma unroll
        for (u32 j = 1; j < Width / 2; ++j) {
            two = keeping_nan<Largest>(two, bit_cast<Two>(words.lane[j]));
        }
        const auto last = bit_cast<Pack<T, 2>>(two);
        return further<Largest>(widen(last.lane[0]), widen(last.lane[1]));
    }
};

template <typename T, bool Largest, bool = has_keeping_nan>
struct by_words {};
template <bool Largest>
struct by_words<f16, Largest, true> : pairs_of<f16, f16, Largest> {};
template <bool Largest>
struct by_words<bf16, Largest, true> : pairs_of<bf16, __bf16, Largest> {};

template <typename T, bool Largest>
struct extreme : by_words<T, Largest> {
    static constexpr bool idempotent = true;
    static constexpr u32 in_flight = 4;
    using State = compared<T>;
    using Out = T;
    RK_DEVICE static State identity() { return Largest ? lowest<State>() : highest<State>(); }
    RK_DEVICE static State element(T x, u64) { return static_cast<State>(widen(x)); }
    RK_DEVICE static State join(const State &x, const State &y) { return further<Largest>(x, y); }
    RK_DEVICE static Out result(const State &state, u64) { return narrow<T>(static_cast<arith<T>>(state)); }
};

template <typename T>
using max = extreme<T, true>;
template <typename T>
using min = extreme<T, false>;

template <typename T, bool Largest>
struct arg {
    static constexpr bool idempotent = true;
    static constexpr u32 in_flight = 2;
    using Value = compared<T>;
    using State = Found<Value>;
    using Out = u32;
    RK_DEVICE static State identity() { return {Largest ? lowest<Value>() : highest<Value>(), ~0ul}; }
    RK_DEVICE static State element(T x, u64 index) { return {static_cast<Value>(widen(x)), index}; }
    RK_DEVICE static State join(const State &x, const State &y) {
        const bool first = is_better<Largest>(x.value, y.value) ||
                           (!is_better<Largest>(y.value, x.value) && x.index < y.index);
        return {first ? x.value : y.value, first ? x.index : y.index};  // choosing between structs would spill them
    }
    template <u32 Width>
    RK_DEVICE static State pack(const Pack<T, Width> &pack, u64 index) {
        Value best = static_cast<Value>(widen(pack.lane[0]));
        u32 place = 0;
#pragma unroll
        for (u32 j = 1; j < Width; ++j) {
            const Value x = static_cast<Value>(widen(pack.lane[j]));
            const bool better = is_better<Largest>(x, best);
            best = better ? x : best;
            place = better ? j : place;
        }
        return {best, index + place};
    }
    RK_DEVICE static Out result(const State &state, u64) { return static_cast<u32>(state.index); }
};

template <typename T>
using argmax = arg<T, true>;
template <typename T>
using argmin = arg<T, false>;

// The same with indices of 64 bits, for rows of 2^32 elements and more.
template <typename T, bool Largest>
struct wide_arg : arg<T, Largest> {
    using Out = i64;
    RK_DEVICE static Out result(const typename arg<T, Largest>::State &state, u64) { return static_cast<i64>(state.index); }
};
template <typename T>
using wide_argmax = wide_arg<T, true>;
template <typename T>
using wide_argmin = wide_arg<T, false>;

template <typename T>
struct any {
    static constexpr bool idempotent = true;
    static constexpr u32 in_flight = 4;
    using State = wrapping<T>;
    using Out = bool;
    RK_DEVICE static State identity() { return 0; }
    RK_DEVICE static State element(T x, u64) { return truth_bits(x); }
    RK_DEVICE static State join(const State &x, const State &y) { return x | y; }
    RK_DEVICE static Out result(const State &state, u64) { return state != 0; }
};

template <typename T>
struct all : any<T> {
    using State = wrapping<T>;
    RK_DEVICE static State identity() { return highest<State>(); }
    RK_DEVICE static State join(const State &x, const State &y) { return x < y ? x : y; }
};

template <typename T>
struct logsumexp {
    static constexpr bool idempotent = false;
    static constexpr u32 in_flight = 1;
    using State = ExpSum<arith<T>>;
    using Out = T;
    RK_DEVICE static State identity() { return {lowest<arith<T>>(), 0}; }
    RK_DEVICE static State element(T x, u64) { return {widen(x), 1}; }
    RK_DEVICE static State join(const State &x, const State &y) { return join_exp_sums(x, y); }
    // One exponential per element: the largest of the pack is known first.
    template <u32 Width>
    RK_DEVICE static State pack(const Pack<T, Width> &pack, u64) {
        arith<T> largest = widen(pack.lane[0]);
#pragma unroll
        for (u32 j = 1; j < Width; ++j) {
            largest = maximum(largest, widen(pack.lane[j]));
        }
        arith<T> sum = 0;
#pragma unroll
        for (u32 j = 0; j < Width; ++j) {
            sum += rescale<arith<T>>(1, widen(pack.lane[j]), largest);
        }
        return {largest, sum};
    }
    RK_DEVICE static Out result(const State &state, u64) { return narrow<T>(state.largest + log(state.sum)); }
};

}  // namespace reduction

template <typename Op, typename T, u32 Width, typename = void>
constexpr bool has_pack = false;
template <typename Op, typename T, u32 Width>
constexpr bool has_pack<Op, T, Width, decltype(static_cast<void>(&Op::template pack<Width>))> = true;

// One pack's elements as one state: in the operation's own way, or as a tree, whose rounding errors grow with its depth.
template <typename Op, typename T, u32 Width>
RK_DEVICE typename Op::State pack_state(const Pack<T, Width> &pack, u64 index) {
    if constexpr (has_pack<Op, T, Width>) {
        return Op::pack(pack, index);
    } else if constexpr (Width == 1) {
        return Op::element(pack.lane[0], index);
    } else {
        const auto halves = bit_cast<Pack<Pack<T, Width / 2>, 2>>(pack);
        return Op::join(pack_state<Op, T, Width / 2>(halves.lane[0], index),
                        pack_state<Op, T, Width / 2>(halves.lane[1], index + Width / 2));
    }
}

}  // namespace rk
