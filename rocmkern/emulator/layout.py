"""Where things lie in the structures that generated code shares with Python. Offsets and sizes are in bytes."""

from __future__ import annotations

from typing import Final

from rocmkern.emulator.isa.model import EXEC, M0, VCC

# A wave: the scalar file of 128 dwords, then these, then vector registers, one row of `wave_size` dwords each.
SCC: Final = 512
WAVE_NEXT: Final = 520  # the operation to go on with
WAVE_FUEL: Final = 528  # branches left in this time slice
WAVE_LAUNCH: Final = 536
WAVE_LDS: Final = 544
WAVE_LDS_SIZE: Final = 552
WAVE_SCRATCH: Final = 560
WAVE_SCRATCH_SIZE: Final = 568  # of one lane
WAVE_STATUS: Final = 576
WAVE_NUMBER: Final = 580  # within its workgroup
WAVE_GROUP: Final = 584  # three dwords
WAVE_PC: Final = 600  # where to translate next, with status NEEDS_CODE
WAVE_OBSERVERS: Final = 608  # pointers to the structures of those that watch
WAVE_LANDING: Final = 616  # loads to LDS that are under way
WAVE_SIGNALS: Final = 624  # of a workgroup's first wave: waves that have signalled the barrier
WAVE_MODE: Final = 632  # i32, as s_getreg reads it
SINK: Final = 640  # where unwanted scalar results go, of as many dwords as one instruction has
SINK_BYTES: Final = 64
WAVE_TEMP: Final = 1024  # two rows for moved lanes
WAVE_VECTORS: Final = 2048
VECTORS: Final = 256  # rows before the accumulation registers

# Behind the last wave, for each one: a queue of loads to LDS. Six bits count what is under way.
LANDINGS: Final = 64
LANDING_MASK: Final = 0
LANDING_FIRST: Final = 8  # where the first lane's data goes in LDS
LANDING_OPERATION: Final = 16
LANDING_DWORDS: Final = 24  # of a lane
LANDING_DATA: Final = 64
LANDING_BYTES: Final = LANDING_DATA + 64 * 16
LANDING_QUEUE_BYTES: Final = LANDINGS * LANDING_BYTES

SCALARS: Final = {"vcc": 4 * VCC, "m0": 4 * M0, "exec": 4 * EXEC, "scc": SCC}

# An operation of tier 0.
OP_HANDLER: Final = 0
OP_TARGET: Final = 8  # operation that a branch goes to
OP_PC: Final = 16
OP_FIELDS: Final = 24  # as many as the instruction has, of 8 bytes
OP_COUNT: Final = OP_FIELDS  # of a "count" operation: how often a block began, and how often with lanes off
OP_PARTIAL: Final = OP_FIELDS + 8
COUNT_BYTES: Final = OP_FIELDS + 16  # of the whole operation

# What a handler returns to the scheduler.
END, BARRIER, YIELD, NEEDS_CODE, MEET = range(5)
READY, WAITING, DONE = range(3)  # WAVE_STATUS

# What `run` returns.
FINISHED, SLICE, STOPPED, UNTRANSLATED = range(4)

# A launch, shared by its workers.
LAUNCH_NEXT_GROUP: Final = 0
LAUNCH_GROUPS: Final = 8
LAUNCH_GRID: Final = 16  # three dwords
LAUNCH_WAVES: Final = 32  # per workgroup
LAUNCH_ENTRY: Final = 40
LAUNCH_SCALARS: Final = 48  # pointer to the initial scalar file
LAUNCH_IDS: Final = 56  # pointer to the initial rows of v0… of each wave
LAUNCH_ID_BYTES: Final = 64  # per wave
LAUNCH_MASKS: Final = 72  # pointer to the initial EXEC of each wave
LAUNCH_GROUP_SLOTS: Final = 80  # three dwords: where in a wave the workgroup ids go; y and z alike: y | z << 16
LAUNCH_WAVE_SLOT: Final = 92  # where the wave's number goes, shifted to bit 25 (ttmp8)
LAUNCH_LDS_SIZE: Final = 96
LAUNCH_SCRATCH_SIZE: Final = 104
LAUNCH_WAVE_STRIDE: Final = 112
LAUNCH_ARENA: Final = 120  # first and last address
LAUNCH_ARENA_END: Final = 128
LAUNCH_MAP: Final = 136  # pointer per dword of code to its operation, or null
LAUNCH_CODE: Final = 144
LAUNCH_CODE_SIZE: Final = 152
LAUNCH_STOP: Final = 160
LAUNCH_FAULT: Final = 164  # 0 none, 1 being written
FAULT_PC: Final = 168
FAULT_ADDRESS: Final = 176
FAULT_SIZE: Final = 184
FAULT_LANE: Final = 188
FAULT_GROUP: Final = 192
FAULT_WAVE: Final = 204
FAULT_KIND: Final = 208
LAUNCH_FUEL: Final = 216
LAUNCH_FLOAT_MODE: Final = 224  # MXCSR while kernels run
LAUNCH_WAVE_MODE: Final = 228  # MODE when a wave starts
LAUNCH_LOG: Final = 232  # where faults are noted, see `faults.py`; null: the first one ends the launch
LAUNCH_SIZE: Final = 256

# A worker: one thread's place in a launch.
WORKER_LAUNCH: Final = 0
WORKER_ACTIVE: Final = 8  # a workgroup is under way
WORKER_WAVE: Final = 12
WORKER_LIVE: Final = 16  # waves that have not ended
WORKER_WAITING: Final = 20  # waves at the barrier
WORKER_WAVES: Final = 24
WORKER_LDS: Final = 32
WORKER_SCRATCH: Final = 40
WORKER_GROUPS_DONE: Final = 48
WORKER_QUOTA: Final = 56  # workgroups until `run` returns
WORKER_OBSERVERS: Final = 64  # pointers to the structures of those that watch, else null
WORKER_PAUSE: Final = 72  # `run` returns at the workgroup's next barrier
WORKER_SIZE: Final = 80

# Flat addresses with these high words mean LDS and scratch.
SHARED_APERTURE: Final = 0x00010000
PRIVATE_APERTURE: Final = 0x00020000

CHUNK: Final = 16  # lanes that tier 0 works on at a time
