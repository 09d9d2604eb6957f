"""The native scheduler: takes workgroups of a launch and runs their waves, barrier by barrier.

`run(worker) -> status`.
"""

from __future__ import annotations

from typing import Final

from rocmkern.emulator import layout as at
from rocmkern.emulator.ir import Writer
from rocmkern.emulator.native import Code
from rocmkern.emulator.observers.seam import Observers


def _ir(text: str, **more: str) -> str:
    """Fill in `{NAME}` with the layout's constants, and what more there is."""
    return text.format_map({k: v for k, v in vars(at).items() if isinstance(v, int)} | more)


_BEGIN_GROUP: Final = """
define internal void @{symbol}_begin_group(ptr %worker, ptr %launch, i64 %group) {{
entry:
  %pgx = getelementptr i8, ptr %launch, i64 {LAUNCH_GRID}
  %gx32 = load i32, ptr %pgx
  %pgy = getelementptr i8, ptr %pgx, i64 4
  %gy32 = load i32, ptr %pgy
  %gx = zext i32 %gx32 to i64
  %gy = zext i32 %gy32 to i64
  %x64 = urem i64 %group, %gx
  %r = udiv i64 %group, %gx
  %y64 = urem i64 %r, %gy
  %z64 = udiv i64 %r, %gy
  %x = trunc i64 %x64 to i32
  %y = trunc i64 %y64 to i32
  %z = trunc i64 %z64 to i32
  %pn = getelementptr i8, ptr %launch, i64 {LAUNCH_WAVES}
  %n = load i32, ptr %pn
  %pe = getelementptr i8, ptr %launch, i64 {LAUNCH_ENTRY}
  %entry_op = load ptr, ptr %pe
  %ps = getelementptr i8, ptr %launch, i64 {LAUNCH_SCALARS}
  %scalars = load ptr, ptr %ps
  %pi = getelementptr i8, ptr %launch, i64 {LAUNCH_IDS}
  %ids = load ptr, ptr %pi
  %pib = getelementptr i8, ptr %launch, i64 {LAUNCH_ID_BYTES}
  %id_bytes = load i64, ptr %pib
  %pm = getelementptr i8, ptr %launch, i64 {LAUNCH_MASKS}
  %masks = load ptr, ptr %pm
  %pslots = getelementptr i8, ptr %launch, i64 {LAUNCH_GROUP_SLOTS}
  %sx32 = load i32, ptr %pslots
  %psy = getelementptr i8, ptr %pslots, i64 4
  %sy32 = load i32, ptr %psy
  %psz = getelementptr i8, ptr %pslots, i64 8
  %sz32 = load i32, ptr %psz
  %psw = getelementptr i8, ptr %launch, i64 {LAUNCH_WAVE_SLOT}
  %sw32 = load i32, ptr %psw
  %plds = getelementptr i8, ptr %launch, i64 {LAUNCH_LDS_SIZE}
  %lds_size = load i64, ptr %plds
  %psc = getelementptr i8, ptr %launch, i64 {LAUNCH_SCRATCH_SIZE}
  %scratch_size = load i64, ptr %psc
  %pst = getelementptr i8, ptr %launch, i64 {LAUNCH_WAVE_STRIDE}
  %stride = load i64, ptr %pst
  %pmode = getelementptr i8, ptr %launch, i64 {LAUNCH_WAVE_MODE}
  %float_mode = load i32, ptr %pmode
  %pfuel = getelementptr i8, ptr %launch, i64 {LAUNCH_FUEL}
  %fuel = load i64, ptr %pfuel
  %pw = getelementptr i8, ptr %worker, i64 {WORKER_WAVES}
  %waves = load ptr, ptr %pw
  %pwl = getelementptr i8, ptr %worker, i64 {WORKER_LDS}
  %lds = load ptr, ptr %pwl
  %pws = getelementptr i8, ptr %worker, i64 {WORKER_SCRATCH}
  %scratch = load ptr, ptr %pws
  br label %wave
wave:
  %i = phi i32 [0, %entry], [%i1, %wave]
  %i64 = zext i32 %i to i64
  %off = mul i64 %i64, %stride
  %w = getelementptr i8, ptr %waves, i64 %off
  call void @llvm.memcpy.p0.p0.i64(ptr align 64 %w, ptr align 8 %scalars, i64 {SCC}, i1 false)
  %pscc = getelementptr i8, ptr %w, i64 {SCC}
  store i64 0, ptr %pscc
  %exec = getelementptr i8, ptr %w, i64 504
  %pmask = getelementptr i64, ptr %masks, i64 %i64
  %mask = load i64, ptr %pmask
  store i64 %mask, ptr %exec
  %px = getelementptr i8, ptr %w, i32 %sx32
  store i32 %x, ptr %px
  %py = getelementptr i8, ptr %w, i32 %sy32
  %packed_ids = icmp eq i32 %sy32, %sz32
  %z_high = shl i32 %z, 16
  %yz = or i32 %y, %z_high
  store i32 %y, ptr %py
  %pz = getelementptr i8, ptr %w, i32 %sz32
  %last_id = select i1 %packed_ids, i32 %yz, i32 %z
  store i32 %last_id, ptr %pz
  %pwn = getelementptr i8, ptr %w, i32 %sw32
  %old_ttmp8 = load i32, ptr %pwn
  %number = shl i32 %i, 25
  %ttmp8 = or i32 %old_ttmp8, %number
  store i32 %ttmp8, ptr %pwn
  %a = getelementptr i8, ptr %w, i64 {WAVE_NEXT}
  store ptr %entry_op, ptr %a
  %b = getelementptr i8, ptr %w, i64 {WAVE_FUEL}
  store i64 %fuel, ptr %b
  %c = getelementptr i8, ptr %w, i64 {WAVE_LAUNCH}
  store ptr %launch, ptr %c
  %d = getelementptr i8, ptr %w, i64 {WAVE_LDS}
  store ptr %lds, ptr %d
  %e = getelementptr i8, ptr %w, i64 {WAVE_LDS_SIZE}
  store i64 %lds_size, ptr %e
{pass_on}  %sg = getelementptr i8, ptr %w, i64 {WAVE_SIGNALS}
  store i64 0, ptr %sg
  %la = getelementptr i8, ptr %w, i64 {WAVE_LANDING}
  store i64 0, ptr %la
  %wm = getelementptr i8, ptr %w, i64 {WAVE_MODE}
  store i32 %float_mode, ptr %wm
  %f = getelementptr i8, ptr %w, i64 {WAVE_SCRATCH}
  %so = mul i64 %scratch_size, %i64
  %so64 = mul i64 %so, 64
  %sp = getelementptr i8, ptr %scratch, i64 %so64
  store ptr %sp, ptr %f
  %g = getelementptr i8, ptr %w, i64 {WAVE_SCRATCH_SIZE}
  store i64 %scratch_size, ptr %g
  %h = getelementptr i8, ptr %w, i64 {WAVE_STATUS}
  store i32 {READY}, ptr %h
  %j = getelementptr i8, ptr %w, i64 {WAVE_NUMBER}
  store i32 %i, ptr %j
  %k = getelementptr i8, ptr %w, i64 {WAVE_GROUP}
  store i32 %x, ptr %k
  %l = getelementptr i8, ptr %k, i64 4
  store i32 %y, ptr %l
  %m = getelementptr i8, ptr %k, i64 8
  store i32 %z, ptr %m
  %v = getelementptr i8, ptr %w, i64 {WAVE_VECTORS}
  %ido = mul i64 %id_bytes, %i64
  %id = getelementptr i8, ptr %ids, i64 %ido
  call void @llvm.memcpy.p0.p0.i64(ptr align 64 %v, ptr align 4 %id, i64 %id_bytes, i1 false)
  %i1 = add i32 %i, 1
  %more = icmp ult i32 %i1, %n
  br i1 %more, label %wave, label %done
done:
  %o = getelementptr i8, ptr %worker, i64 {WORKER_WAVE}
  store i32 0, ptr %o
  %p = getelementptr i8, ptr %worker, i64 {WORKER_LIVE}
  store i32 %n, ptr %p
  %q = getelementptr i8, ptr %worker, i64 {WORKER_WAITING}
  store i32 0, ptr %q
{tell}  ret void
}}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""

_RUN: Final = """
define internal i32 @{symbol}_waves(ptr %worker) "no-jump-tables"="true" {{
entry:
  %launch = load ptr, ptr %worker
  %pstop = getelementptr i8, ptr %launch, i64 {LAUNCH_STOP}
  %pactive = getelementptr i8, ptr %worker, i64 {WORKER_ACTIVE}
  %pwave = getelementptr i8, ptr %worker, i64 {WORKER_WAVE}
  %plive = getelementptr i8, ptr %worker, i64 {WORKER_LIVE}
  %pwaiting = getelementptr i8, ptr %worker, i64 {WORKER_WAITING}
  %pdone = getelementptr i8, ptr %worker, i64 {WORKER_GROUPS_DONE}
  %pquota = getelementptr i8, ptr %worker, i64 {WORKER_QUOTA}
  %pw = getelementptr i8, ptr %worker, i64 {WORKER_WAVES}
  %waves = load ptr, ptr %pw
  %pn = getelementptr i8, ptr %launch, i64 {LAUNCH_WAVES}
  %n = load i32, ptr %pn
  %pst = getelementptr i8, ptr %launch, i64 {LAUNCH_WAVE_STRIDE}
  %stride = load i64, ptr %pst
  %pgroups = getelementptr i8, ptr %launch, i64 {LAUNCH_GROUPS}
  %groups = load i64, ptr %pgroups
  %pfuel = getelementptr i8, ptr %launch, i64 {LAUNCH_FUEL}
  %fuel = load i64, ptr %pfuel
  %active0 = load i32, ptr %pactive
  %is_active = icmp ne i32 %active0, 0
  br i1 %is_active, label %schedule, label %take
take:
  %stop0 = load atomic i32, ptr %pstop monotonic, align 4
  %stopped0 = icmp ne i32 %stop0, 0
  br i1 %stopped0, label %halt, label %fetch
fetch:
  %group = atomicrmw add ptr %launch, i64 1 seq_cst
  %over = icmp uge i64 %group, %groups
  br i1 %over, label %finished, label %begin
begin:
  call void @{symbol}_begin_group(ptr %worker, ptr %launch, i64 %group)
  store i32 1, ptr %pactive
  br label %schedule
schedule:
  %i = load i32, ptr %pwave
  %pass_over = icmp uge i32 %i, %n
  br i1 %pass_over, label %end_pass, label %consider
consider:
  %i64 = zext i32 %i to i64
  %off = mul i64 %i64, %stride
  %w = getelementptr i8, ptr %waves, i64 %off
  %pstatus = getelementptr i8, ptr %w, i64 {WAVE_STATUS}
  %status = load i32, ptr %pstatus
  %ready = icmp eq i32 %status, {READY}
  br i1 %ready, label %go, label %next
go:
  %pnext = getelementptr i8, ptr %w, i64 {WAVE_NEXT}
  %op = load ptr, ptr %pnext
  %handler = load ptr, ptr %op
  %result = call i32 %handler(ptr %w, ptr %op)
  switch i32 %result, label %untranslated [
    i32 {END}, label %ended
    i32 {BARRIER}, label %waits
    i32 {YIELD}, label %yielded
    i32 {MEET}, label %next
  ]
ended:
  store i32 {DONE}, ptr %pstatus
  %live0 = load i32, ptr %plive
  %live1 = sub i32 %live0, 1
  store i32 %live1, ptr %plive
  br label %next
waits:
  store i32 {WAITING}, ptr %pstatus
  %waiting0 = load i32, ptr %pwaiting
  %waiting1 = add i32 %waiting0, 1
  store i32 %waiting1, ptr %pwaiting
  br label %next
yielded:
  %pwf = getelementptr i8, ptr %w, i64 {WAVE_FUEL}
  store i64 %fuel, ptr %pwf
  %i2 = add i32 %i, 1
  store i32 %i2, ptr %pwave
  %stop1 = load atomic i32, ptr %pstop monotonic, align 4
  %stopped1 = icmp ne i32 %stop1, 0
  br i1 %stopped1, label %halt, label %slice
next:
  %i1 = add i32 %i, 1
  store i32 %i1, ptr %pwave
  br label %schedule
end_pass:
  store i32 0, ptr %pwave
  %live = load i32, ptr %plive
  %none = icmp eq i32 %live, 0
  br i1 %none, label %group_done, label %check_barrier
check_barrier:
  %waiting = load i32, ptr %pwaiting
  %all = icmp eq i32 %waiting, %live
  br i1 %all, label %release, label %schedule
release:
  store i32 0, ptr %pwaiting
  %psignals = getelementptr i8, ptr %waves, i64 {WAVE_SIGNALS}
  store i64 0, ptr %psignals
  br label %wake
wake:
  %j = phi i32 [0, %release], [%j1, %wake_next]
  %j64 = zext i32 %j to i64
  %joff = mul i64 %j64, %stride
  %wj = getelementptr i8, ptr %waves, i64 %joff
  %pj = getelementptr i8, ptr %wj, i64 {WAVE_STATUS}
  %sj = load i32, ptr %pj
  %is_waiting = icmp eq i32 %sj, {WAITING}
  br i1 %is_waiting, label %wake_one, label %wake_next
wake_one:
  store i32 {READY}, ptr %pj
  br label %wake_next
wake_next:
  %j1 = add i32 %j, 1
  %more = icmp ult i32 %j1, %n
  br i1 %more, label %wake, label %released
released:
  %ppause = getelementptr i8, ptr %worker, i64 {WORKER_PAUSE}
  %pause = load i64, ptr %ppause
  store i64 0, ptr %ppause
  %pauses = icmp ne i64 %pause, 0
  br i1 %pauses, label %slice, label %schedule
group_done:
  store i32 0, ptr %pactive
  %d0 = load i64, ptr %pdone
  %d1 = add i64 %d0, 1
  store i64 %d1, ptr %pdone
  %quota0 = load i64, ptr %pquota
  %quota1 = sub i64 %quota0, 1
  store i64 %quota1, ptr %pquota
  %spent = icmp sle i64 %quota1, 0
  br i1 %spent, label %slice, label %take
finished:
  ret i32 {FINISHED}
slice:
  ret i32 {SLICE}
halt:
  ret i32 {STOPPED}
untranslated:
  ret i32 {UNTRANSLATED}
}}
"""

# Other libraries may have told this thread to flush denormals: kernels get the mode that their descriptor asks for.
_WITH_FLOAT_MODE: Final = """
define i32 @{symbol}(ptr %worker) {{
  %saved = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %saved)
  %launch = load ptr, ptr %worker
  %mode = getelementptr i8, ptr %launch, i64 {LAUNCH_FLOAT_MODE}
  call void @llvm.x86.sse.ldmxcsr(ptr %mode)
  %result = call i32 @{symbol}_waves(ptr %worker)
  call void @llvm.x86.sse.ldmxcsr(ptr %saved)
  ret i32 %result
}}
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
"""
# Where a machine has observers: each wave knows their structures, and a group that begins is theirs first.
_PASS_ON: Final = """
  %po = getelementptr i8, ptr %worker, i64 {WORKER_OBSERVERS}
  %structures = load ptr, ptr %po
  %wo = getelementptr i8, ptr %w, i64 {WAVE_OBSERVERS}
  store ptr %structures, ptr %wo
"""
_TELL: Final = "  call void @{symbol}_tell_of_group(ptr %waves)\n"


def run_symbol(observers: Observers) -> str:
    """Of the scheduler on a machine with these observers."""
    return f"run{observers.suffix}"


def run(observers: Observers) -> Code:
    """The scheduler. What only it calls has names of its own too: functions are kept by their names."""
    symbol = run_symbol(observers)
    end = _ir(_RUN + _WITH_FLOAT_MODE, symbol=symbol)
    if not observers:
        return Code(symbol, _ir(_BEGIN_GROUP, symbol=symbol, pass_on="", tell="") + end, {})
    w = Writer()
    observers.group(w)
    w.line("ret void")
    body = "\n".join([*w.prologue, *w.lines])
    told = f"define internal void @{symbol}_tell_of_group(ptr %w) #0 {{\n{body}\n}}\n"
    begin = _ir(_BEGIN_GROUP, symbol=symbol, pass_on=_ir(_PASS_ON), tell=_ir(_TELL, symbol=symbol))
    return Code(symbol, told + begin + end, w.declarations)
