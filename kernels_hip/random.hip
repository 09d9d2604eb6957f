// random: uniform numbers, normal numbers and integers. A thread draws the four 64-bit words of one counter and writes
// what they make: four elements of 64 bits or integers, eight of the shorter floats.
#include "include/device.hpp"
#include "include/index.hpp"
#include "include/math.hpp"
#include "include/philox.hpp"

namespace rk {

// How many elements the words of a counter make, and the bits of each: of f64 all of a word, else its lower and upper half.
template <typename T>
constexpr u32 random_lanes = sizeof(T) == 8 ? 4 : 8;
template <typename T>
using random_bits = choose<sizeof(T) == 8, u64, u32>;

template <typename T>
RK_DEVICE random_bits<T> bits_of_lane(const u64 (&word)[4], u32 lane) {
    if constexpr (sizeof(T) == 8) {
        return word[lane];
    } else {
        return static_cast<u32>(word[lane / 2] >> (lane % 2 * 32));
    }
}

// How many bits of a uniform number count: as many as any number below 1 has, so that none rounds to 1.
template <typename T>
constexpr u32 uniform_digits = sizeof(T) == 8 ? 53 : sizeof(T) == 4 ? 24 : is_same<T, f16> ? 11 : 8;

template <typename T>
RK_DEVICE arith<T> uniform_number(random_bits<T> bits) {
    constexpr u32 digits = uniform_digits<T>;
    constexpr arith<T> unit = arith<T>(1) / (u64(1) << digits);
    return static_cast<arith<T>>(bits >> (8 * sizeof(bits) - digits)) * unit;
}

// Two normal numbers of two uniform ones (Box and Muller): the square root of an exponential number, in any direction.
template <typename F>
struct NormalPair {
    F first, second;

    template <typename Bits>
    RK_DEVICE NormalPair(Bits distance, Bits direction) {
        constexpr u32 bits = 8 * sizeof(Bits);
        constexpr F unit = F(1) / (F(2) * (Bits(1) << (bits - 1)));
        const F radius = sqrt(F(-2) * log((static_cast<F>(distance) + F(1)) * unit));
        const Bits quarters = (direction + (Bits(1) << (bits - 3))) >> (bits - 2);
        using Signed = choose<sizeof(Bits) == 8, i64, i32>;
        const F x = static_cast<F>(static_cast<Signed>(direction - (quarters << (bits - 2)))) * (unit * F(6.283185307179586));
        constexpr u32 terms = sizeof(F) == 8 ? 8 : 5;
        F sine = 1, cosine = 1;
#pragma unroll
        for (u32 k = terms; k > 0; --k) {
            sine = F(1) - x * x * sine * (F(1) / (2 * k * (2 * k + 1)));
            cosine = F(1) - x * x * cosine * (F(1) / ((2 * k - 1) * 2 * k));
        }
        sine *= x;
        const F along = (quarters & 1) != 0 ? -sine : cosine, across = (quarters & 1) != 0 ? cosine : sine;
        first = radius * ((quarters & 2) != 0 ? -along : along);
        second = radius * ((quarters & 2) != 0 ? -across : across);
    }
};

// The elements of each counter from `first` on, made by make(words, elements).
template <typename T, u32 Lanes, typename Make>
RK_DEVICE void draw(u64 numel, PhiloxKey key, u64 first, T *out, Make make) {
    const u64 units = (numel + Lanes - 1) / Lanes;
#pragma unroll 1
    for (u64 unit = global_thread(); unit < units; unit += global_threads()) {
        u64 word[4];
        philox(first + unit, key, word);
        Pack<T, Lanes> made;
        make(word, made.lane);
        if ((unit + 1) * Lanes <= numel && is_aligned(out, sizeof(made))) {
            reinterpret_cast<Pack<T, Lanes> *>(out)[unit] = made;
        } else {
#pragma unroll
            for (u32 i = 0; i < Lanes; ++i) {
                if (unit * Lanes + i < numel) {
                    out[unit * Lanes + i] = made.lane[i];
                }
            }
        }
    }
}

template <typename T>
RK_DEVICE void random_uniform(u64 numel, PhiloxKey key, u64 first, f64 scale, f64 offset, T *out) {
    const auto factor = static_cast<arith<T>>(scale), summand = static_cast<arith<T>>(offset);
    draw<T, random_lanes<T>>(numel, key, first, out, [=](const u64(&word)[4], T *made) {
#pragma unroll
        for (u32 i = 0; i < random_lanes<T>; ++i) {
            made[i] = narrow<T>(uniform_number<T>(bits_of_lane<T>(word, i)) * factor + summand);
        }
    });
}

template <typename T>
RK_DEVICE void random_normal(u64 numel, PhiloxKey key, u64 first, f64 scale, f64 offset, T *out) {
    const auto factor = static_cast<arith<T>>(scale), summand = static_cast<arith<T>>(offset);
    draw<T, random_lanes<T>>(numel, key, first, out, [=](const u64(&word)[4], T *made) {
#pragma unroll
        for (u32 i = 0; i < random_lanes<T>; i += 2) {
            const NormalPair<arith<T>> pair(bits_of_lane<T>(word, i), bits_of_lane<T>(word, i + 1));
            made[i] = narrow<T>(pair.first * factor + summand);
            made[i + 1] = narrow<T>(pair.second * factor + summand);
        }
    });
}

// low + floor(word·count / 2⁶⁴); a count of 0 stands for 2⁶⁴.
template <typename T>
RK_DEVICE void random_integers(u64 numel, PhiloxKey key, u64 first, u64 low, u64 count, T *out) {
    draw<T, 4>(numel, key, first, out, [=](const u64(&word)[4], T *made) {
#pragma unroll
        for (u32 i = 0; i < 4; ++i) {
            made[i] = static_cast<T>(low + (count == 0 ? word[i] : high_product(word[i], count)));
        }
    });
}

#define RANDOM_FLOATS(NAME, T)                                                                                  \
    RK_KERNEL random_##NAME##_##T(u64 numel, u64 key0, u64 key1, u64 first, f64 scale, f64 offset, T *out) {    \
        random_##NAME<T>(numel, {key0, key1}, first, scale, offset, out);                                       \
    }

#define RANDOM_INTEGERS(T)                                                                                      \
    RK_KERNEL random_integers_##T(u64 numel, u64 key0, u64 key1, u64 first, u64 low, u64 count, T *out) {       \
        random_integers<T>(numel, {key0, key1}, first, low, count, out);                                        \
    }

// Inside the namespace, so that a dtype's short name is its type.
#include "instances/random.inc"

}  // namespace rk
