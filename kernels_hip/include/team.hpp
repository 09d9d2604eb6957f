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
    u32 turn;   // which of two places in LDS the next join takes
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

// One team per line of threads along x: the block's shape decides how many rows a block takes.
RK_DEVICE Team team_along_x() {
    return is_team_width(block_size_x())
               ? Team{block_size_x(), thread_x(), thread_y() + block_size_y() * thread_z(),
                      block_size_y() * block_size_z(), 0}
               : Team{1, 0, block_thread(), block_threads(), 0};
}

// One team of the whole block, whatever its shape: Candle's softmax is launched with a block of (1, 32, 1).
RK_DEVICE Team team_of_block() {
    return is_team_width(block_threads()) ? Team{block_threads(), block_thread(), 0, 1, 0}
                                          : Team{1, 0, block_thread(), block_threads(), 0};
}

// The team's threads that share this thread's wave.
RK_DEVICE u32 lanes_of(const Team &team) { return team.width < wave_size ? team.width : wave_size; }

// The join over aligned groups of `lanes` lanes, a power of two, in each of them.
template <typename Join, typename State>
RK_DEVICE State lanes_join(State state, u32 lanes) {
#pragma unroll 1
    for (u32 mask = lanes >> 1; mask > 0; mask >>= 1) {
        state = Join::join(state, shuffle_xor(state, mask));
    }
    return state;
}

// The team's wave n gives its state to lane n of every wave of the team, and to lane n of every further max_block_waves
// lanes; where there is no such wave they get `none`. All threads of the block call it together. The next call writes to
// the other place, and its barrier is also the one after these reads.
template <typename State>
RK_DEVICE State exchange_waves(Team &team, State state, State none) {
    __shared__ State slots[2][max_block_waves];
    const u32 waves = team.width / wave_size;
    State *own = slots[team.turn] + team.index * waves;
    team.turn ^= 1;
    if (team.rank % wave_size == 0) {
        own[team.rank / wave_size] = state;
    }
    barrier();
    const u32 wave = lane() % max_block_waves;
    return wave < waves ? own[wave] : none;
}

// The join of all the team's states, in every thread of it. All threads of the block call it together.
template <typename Join, typename State>
RK_DEVICE State team_join(Team &team, State state) {
    state = lanes_join<Join>(state, lanes_of(team));
    if (team.width > wave_size) {
        state = lanes_join<Join>(exchange_waves(team, state, Join::identity()), max_block_waves);
    }
    return state;
}

}  // namespace rk
