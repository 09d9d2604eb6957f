// Threads, waves, memory and instructions of the hardware. AMD's and NVIDIA's devices differ here and in math.hpp
// alone: other headers ask the facts below, and call functions that are defined for each in device_amd.hpp and
// device_nvidia.hpp. Some are there for one of them only, and called where a fact says so.
#pragma once

#include "types.hpp"

// A kernel for blocks of up to `threads`, which may then spend more registers (AMDGPU) or must spend fewer (NVPTX) than
// by default. HIP's compiler ignores the attribute that CUDA's takes.
// `blocks` of them are to fit a multiprocessor side by side, which only NVPTX needs to be told.
#if defined(__NVPTX__)
#define RK_BLOCKS_KERNEL(threads, blocks) extern "C" __global__ __attribute__((launch_bounds(threads, blocks))) void
#define RK_BLOCK_KERNEL(threads) extern "C" __global__ __attribute__((launch_bounds(threads))) void
#define RK_KERNEL RK_BLOCK_KERNEL(1024)
#else
#define RK_BLOCKS_KERNEL(threads, blocks) RK_BLOCK_KERNEL(threads)
#define RK_BLOCK_KERNEL(threads) extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, threads))) void
#define RK_KERNEL extern "C" __global__ void
#endif

namespace rk {

#if defined(__GFX9__)
constexpr u32 wave_size = 64;
#else
constexpr u32 wave_size = 32;
#endif

#if defined(__NVPTX__)
constexpr bool is_nvidia = true;  // for the facts below
#else
constexpr bool is_nvidia = false;
#endif

// Whether memory reaches LDS while a wave does something else: begin_copy and what belongs to it.
constexpr bool copies_beside_work = is_nvidia;

// Whether bytes are multiplied by matrix instructions for few columns: multiply_bytes.
constexpr bool has_byte_matrix = is_nvidia;

// Whether one instruction finds the larger number and keeps NaN, of two short floats at once too: keeping_nan.
constexpr bool has_keeping_nan = is_nvidia;

// Whether a load may begin at any byte; where none may, there is funnel_shift.
constexpr bool has_unaligned_loads = !is_nvidia;

// Whether the waves of a compute unit cover each other's latencies, so that one has few LDS reads in flight.
constexpr bool waves_cover_latency = !is_nvidia;

// How much of LDS a block that keeps operands there may take, as a multiple of what lets three blocks share 64 KiB.
constexpr u32 staging_factor = is_nvidia ? 2 : 1;

// 16 bytes in registers, arrays of them too. Of structs, NVPTX moves halves, and keeps arrays in local memory.
using FourWords = u32 __attribute__((ext_vector_type(4)));

__device__ u32 thread_x();
__device__ u32 thread_y();
__device__ u32 thread_z();
__device__ u32 block_x();
__device__ u32 block_y();
__device__ u32 block_z();
__device__ u32 block_size_x();
__device__ u32 block_size_y();
__device__ u32 block_size_z();
__device__ u32 grid_x();
__device__ u32 grid_y();
__device__ u32 grid_z();
__device__ u32 lane();

// All memory written by the block's threads before is seen by all of them after.
__device__ void barrier();

// Orders memory accesses among the wave's own lanes, which otherwise the compiler may move.
__device__ void wave_sync();

// Orders this thread's accesses before with those after as seen by the whole device.
__device__ void device_fence();

template <typename T>
__device__ T atomic_add(T *p, T value);
template <typename T>
__device__ T atomic_min(T *p, T value);

__device__ u32 shuffle_word(u32 value, u32 source_lane);

// The value of the first active lane, known to be the same in the whole wave.
__device__ u32 uniform(u32 value);

// Bit i tells whether lane i is active and has the condition.
__device__ u64 ballot(bool condition);

// The same number, from here on in vector registers: AMD GPUs have a hundred scalar ones, and what all lanes share
// would crowd them.
__device__ u32 per_lane(u32 value);

// The same bits, of which the compiler forgets what it has computed from them.
__device__ u32 forgotten(u32 value);

// The same number, of which the compiler knows nothing before this place: what is worked out from it stays in a rare
// branch, instead of occupying registers through the loop around it.
__device__ u32 apart(u32 value);

// The same for numbers that all lanes share, and that loops turn on.
__device__ u64 afresh(u64 value);

// The compiler moves no load from above to below: what is loaded above is in flight together.
RK_DEVICE void loads_begin_above() { asm volatile("" ::: "memory"); }

// 1/x within an ulp, for x and 1/x that are normal.
__device__ f32 rough_reciprocal(f32 x);

// 1/x and the reciprocal of x's root to 20 bits, for numbers that are normal.
__device__ f64 rough_reciprocal(f64 x);
__device__ f64 rough_reciprocal_root(f64 x);

// x / y for numbers that are far from subnormals and overflow.
__device__ f64 divide_normal(f64 x, f64 y);

// 2^x within an ulp or two.
__device__ f32 rough_exp2(f32 x);

// The same by one instruction; 0 where the result would be subnormal.
__device__ f32 exp2_or_zero(f32 x);

// The larger or the smaller number, NaN if one is; of the elements of vectors.
template <bool Largest, typename V>
__device__ V keeping_nan(V x, V y);

// c plus the products of the four signed bytes of a and b; wraps.
__device__ i32 dot4(i32 a, i32 b, i32 c);

// Byte i of the result is the byte of high:low (low's are 0 to 3, high's 4 to 7) that byte i of the selector names.
__device__ u32 byte_permute(u32 high, u32 low, u32 selector);

// The word that begins at bit `bits` % 32 of high:low.
__device__ u32 funnel_shift(u32 high, u32 low, u32 bits);

// Sums of 16 rows of 16 or 32 bytes times eight columns of as many, beginning with `start`. Of the rows, a lane holds
// the four bytes from 4 (lane % 4) on of rows lane / 4 and 8 + lane / 4, then those 16 bytes further; of the columns
// those of column lane / 4. Its sums are of the same two rows, each with columns 2 (lane % 4) and the one after.
__device__ void multiply_bytes(const u32 (&rows)[2], const u32 (&columns)[1], i32 start, i32 (&sums)[4]);
__device__ void multiply_bytes(const u32 (&rows)[4], const u32 (&columns)[2], i32 start, i32 (&sums)[4]);

// Begins to copy 16 bytes, which the wave's other lanes may read after `await_copies` and `wave_sync`; or `bytes` bytes
// of them, and zeros.
__device__ void begin_copy(u8 *lds, const u8 *from);
__device__ void begin_copy_of(u32 bytes, u8 *lds, const u8 *from);
__device__ void end_group_of_copies();
// Waits for this lane's copies except those of the last GROUPS groups.
template <u32 GROUPS>
__device__ void await_copies();

}  // namespace rk

// The host half of an ordinary hipcc compilation only parses the kernels.
#if defined(__AMDGCN__)
#include "device_amd.hpp"
#elif defined(__NVPTX__)
#include "device_nvidia.hpp"
#endif

namespace rk {

// Position in, and width of, a one-dimensional grid.
RK_DEVICE u64 global_thread() { return static_cast<u64>(block_x()) * block_size_x() + thread_x(); }
RK_DEVICE u64 global_threads() { return static_cast<u64>(grid_x()) * block_size_x(); }

RK_DEVICE u64 per_lane(u64 value) {
    const u64 high = per_lane(static_cast<u32>(value >> 32));
    return high << 32 | per_lane(static_cast<u32>(value));
}

// The value that `source_lane` of the same wave holds; that lane must be active.
template <typename T>
RK_DEVICE T shuffle(T value, u32 source_lane) {
    if constexpr (sizeof(T) < sizeof(u32)) {
        return bit_cast<T>(static_cast<bits_of<T>>(shuffle_word(bit_cast<bits_of<T>>(value), source_lane)));
    } else {
        struct Words {
            u32 word[sizeof(T) / sizeof(u32)];
        } words = bit_cast<Words>(value);
#pragma unroll
        for (u32 &word : words.word) {
            word = shuffle_word(word, source_lane);
        }
        return bit_cast<T>(words);
    }
}

template <typename T>
RK_DEVICE T shuffle_xor(T value, u32 mask) {
    return shuffle(value, lane() ^ mask);
}

}  // namespace rk
