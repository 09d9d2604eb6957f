// Teams of consecutive threads that share one row, and how the values they hold become one: by lane exchange inside
// a wave, through LDS between waves. A join must be commutative; its order depends on the block's shape alone, so
// that a launch gives the same bits on every run.
#pragma once

#include "device.hpp"

namespace rk {

constexpr u32 max_block_threads = 1024;
constexpr u32 max_block_waves = max_block_threads / wave_size;

struct Team {
    u32 width;  // threads per team
    u32 rank;   // this thread's place in its team
    u32 index;  // this team's place in the block
    u32 count;  // teams per block
};

RK_DEVICE u32 block_threads() { return block_size_x() * block_size_y() * block_size_z(); }
RK_DEVICE u32 block_thread() {
    return thread_x() + block_size_x() * (thread_y() + block_size_y() * thread_z());
}

// Widths whose teams never share a wave with part of another team. A block of any other shape works with teams of one
// thread: slow, and right.
RK_DEVICE bool is_team_width(u32 width) {
    return width % wave_size == 0 || (width < wave_size && (width & (width - 1)) == 0);
}

RK_DEVICE Team team_of(u32 wanted_width) {
    const u32 width = is_team_width(wanted_width) ? wanted_width : 1;
    const u32 thread = block_thread();
    const u32 index = thread / width;
    return Team{width, thread - index * width, index, block_threads() / width};
}

// One team per line of threads along x: the block's shape decides how many rows a block takes.
RK_DEVICE Team team_along_x() { return team_of(block_size_x()); }

// One team of the whole block, whatever its shape: Candle's softmax is launched with a block of (1, 32, 1).
RK_DEVICE Team team_of_block() { return team_of(block_threads()); }

// The join of all the team's states, in every thread of it. All threads of the block call it together.
template <typename Join, typename State>
RK_DEVICE State team_join(const Team &team, State state) {
    const u32 in_wave = team.width < wave_size ? team.width : wave_size;
#pragma unroll 1
    for (u32 mask = in_wave >> 1; mask > 0; mask >>= 1) {
        state = Join::join(state, shuffle_xor(state, mask));
    }
    if (team.width > wave_size) {
        __shared__ State slots[max_block_waves];
        const u32 waves = team.width / wave_size;
        const u32 first = team.index * waves;
        barrier();  // the slots may still be read from the join before
        if (team.rank % wave_size == 0) {
            slots[first + team.rank / wave_size] = state;
        }
        barrier();
        state = slots[first];
#pragma unroll 1
        for (u32 wave = 1; wave < waves; ++wave) {
            state = Join::join(state, slots[first + wave]);
        }
    }
    return state;
}

}  // namespace rk
