// Cooperative groups: blocks, tiles, coalesced lanes, and whole grids of cooperative launches.
#pragma once

#include <hip/hip_runtime.h>

// How many blocks of the present round have come to the grid's barrier, and how many rounds are over.
static __device__ unsigned __rk_grid_arrivals = 0;
static __device__ unsigned __rk_grid_rounds = 0;

namespace cooperative_groups {

class grid_group {
public:
    __device__ static bool is_valid() { return true; }
    __device__ static unsigned long long num_blocks() {
        return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
    }
    __device__ static unsigned long long block_rank() {
        return (static_cast<unsigned long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    }
    __device__ static unsigned long long num_threads() { return num_blocks() * blockDim.x * blockDim.y * blockDim.z; }
    __device__ static unsigned long long size() { return num_threads(); }
    __device__ static dim3 group_dim() { return gridDim; }
    __device__ static unsigned long long thread_rank() {
        const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
        return block_rank() * threads + (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    }

    // The last block to come begins the next round, for which the others wait. All blocks must be resident.
    __device__ void sync() const {
        __syncthreads();
        if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
            const unsigned round = __hip_atomic_load(&__rk_grid_rounds, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
            __threadfence();
            if (atomicAdd(&__rk_grid_arrivals, 1u) == num_blocks() - 1) {
                atomicExch(&__rk_grid_arrivals, 0u);
                __threadfence();
                atomicAdd(&__rk_grid_rounds, 1u);
            } else {
                while (__hip_atomic_load(&__rk_grid_rounds, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == round) {
                    __builtin_amdgcn_s_sleep(1);
                }
            }
            __threadfence();
        }
        __syncthreads();
    }
};

class thread_block {
public:
    __device__ static unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
    __device__ static unsigned size() { return num_threads(); }
    __device__ static unsigned thread_rank() {
        return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    }
    __device__ static dim3 group_index() { return blockIdx; }
    __device__ static dim3 thread_index() { return threadIdx; }
    __device__ static dim3 group_dim() { return blockDim; }
    __device__ static dim3 dim_threads() { return blockDim; }
    __device__ static bool is_valid() { return true; }
    __device__ static void sync() { __syncthreads(); }
};

// Lanes side by side in a wave, as many as a power of two.
template <unsigned Size, typename Parent = void>
class thread_block_tile {
    static_assert(Size && Size <= static_cast<unsigned>(warpSize) && (Size & (Size - 1)) == 0,
                  "a tile has a power of two of threads, no more than a wave");

    __device__ static unsigned long long mine(unsigned long long votes) {
        constexpr unsigned long long all = Size == 64 ? ~0ull : (1ull << (Size & 63)) - 1;
        return votes >> (__lane_id() & ~(Size - 1)) & all;
    }

public:
    __device__ thread_block_tile() {}
    template <typename Other>
    __device__ thread_block_tile(const thread_block_tile<Size, Other> &) {}
    __device__ static constexpr unsigned num_threads() { return Size; }
    __device__ static constexpr unsigned size() { return Size; }
    __device__ static unsigned thread_rank() { return thread_block::thread_rank() % Size; }
    __device__ static unsigned meta_group_rank() { return thread_block::thread_rank() / Size; }
    __device__ static unsigned meta_group_size() { return (thread_block::num_threads() + Size - 1) / Size; }
    __device__ static bool is_valid() { return true; }
    __device__ static void sync() { __syncwarp(); }
    template <typename T>
    __device__ T shfl(T value, int source) const {
        return __shfl(value, source, Size);
    }
    template <typename T>
    __device__ T shfl_up(T value, unsigned delta) const {
        return __shfl_up(value, delta, Size);
    }
    template <typename T>
    __device__ T shfl_down(T value, unsigned delta) const {
        return __shfl_down(value, delta, Size);
    }
    template <typename T>
    __device__ T shfl_xor(T value, int mask) const {
        return __shfl_xor(value, mask, Size);
    }
    __device__ unsigned long long ballot(int predicate) const { return mine(__ballot(predicate)); }
    __device__ int any(int predicate) const { return ballot(predicate) != 0; }
    __device__ int all(int predicate) const { return ballot(!predicate) == 0; }
    template <typename T>
    __device__ unsigned long long match_any(T value) const {
        return mine(__match_any(value));
    }
};

// The lanes that are active where it is made.
class coalesced_group {
    unsigned long long lanes;

public:
    __device__ explicit coalesced_group(unsigned long long lanes) : lanes(lanes) {}
    __device__ unsigned long long mask() const { return lanes; }
    __device__ unsigned num_threads() const { return __popcll(lanes); }
    __device__ unsigned size() const { return num_threads(); }
    __device__ unsigned thread_rank() const { return __popcll(lanes & ((1ull << __lane_id()) - 1)); }
    __device__ static bool is_valid() { return true; }
    __device__ static void sync() { __syncwarp(); }
    template <typename T>
    __device__ T shfl(T value, int rank) const {
        unsigned long long rest = lanes;
        for (int i = 0; i < rank; ++i) {
            rest &= rest - 1;
        }
        return __shfl(value, __builtin_ctzll(rest));
    }
    template <typename T>
    __device__ T shfl_down(T value, unsigned delta) const {
        const unsigned source = thread_rank() + delta;
        return shfl(value, source < size() ? source : thread_rank());
    }
    template <typename T>
    __device__ T shfl_up(T value, unsigned delta) const {
        const unsigned rank = thread_rank();
        return shfl(value, rank < delta ? rank : rank - delta);
    }
    __device__ unsigned long long ballot(int predicate) const {
        unsigned long long votes = __ballot(predicate) & lanes, packed = 0;
        unsigned rank = 0;
        for (unsigned long long rest = lanes; rest; rest &= rest - 1, ++rank) {
            packed |= (votes >> __builtin_ctzll(rest) & 1) << rank;
        }
        return packed;
    }
    __device__ int any(int predicate) const { return ballot(predicate) != 0; }
    __device__ int all(int predicate) const { return ballot(!predicate) == 0; }
};

// Any of the groups above but a grid, for functions that take whichever comes: a block, lanes side by side, or a mask.
class thread_group {
    unsigned width;  // 0 for a block, and for a mask
    unsigned long long lanes;

public:
    __device__ thread_group(const thread_block &) : width(0), lanes(0) {}
    template <unsigned Size, typename Parent>
    __device__ thread_group(const thread_block_tile<Size, Parent> &) : width(Size), lanes(0) {}
    __device__ thread_group(const coalesced_group &group) : width(0), lanes(group.mask()) {}
    __device__ explicit thread_group(unsigned width) : width(width), lanes(0) {}
    __device__ unsigned size() const {
        return width ? width : lanes ? coalesced_group(lanes).size() : thread_block::size();
    }
    __device__ unsigned num_threads() const { return size(); }
    __device__ unsigned thread_rank() const {
        const unsigned rank = lanes ? coalesced_group(lanes).thread_rank() : thread_block::thread_rank();
        return width ? rank % width : rank;
    }
    __device__ static bool is_valid() { return true; }
    __device__ void sync() const {
        if (width || lanes) {
            __syncwarp();
        } else {
            __syncthreads();
        }
    }
};

__RK_DEVICE grid_group this_grid() { return {}; }
__RK_DEVICE thread_block this_thread_block() { return {}; }
__RK_DEVICE coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }
template <unsigned Size, typename Parent>
__RK_DEVICE thread_block_tile<Size, Parent> tiled_partition(const Parent &) {
    return {};
}
__RK_DEVICE thread_group tiled_partition(const thread_group &, unsigned size) { return thread_group(size); }
template <typename Group>
__RK_DEVICE void sync(const Group &group) {
    group.sync();
}

template <typename T>
struct plus {
    __device__ T operator()(T a, T b) const { return a + b; }
};
template <typename T>
struct less {
    __device__ T operator()(T a, T b) const { return b < a ? b : a; }
};
template <typename T>
struct greater {
    __device__ T operator()(T a, T b) const { return a < b ? b : a; }
};

// Every thread of the tile gets the result.
template <unsigned Size, typename Parent, typename T, typename F>
__RK_DEVICE T reduce(const thread_block_tile<Size, Parent> &tile, T value, F f) {
    for (unsigned step = Size / 2; step; step /= 2) {
        value = f(value, tile.shfl_xor(value, static_cast<int>(step)));
    }
    return value;
}

}  // namespace cooperative_groups
