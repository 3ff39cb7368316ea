"""The columns of each table, for tables without rows, which have no file, and for columns that older recordings lack."""

import pyarrow as pa

_TYPES: dict[str, pa.DataType] = {
    "u16": pa.uint16(), "u32": pa.uint32(), "u64": pa.uint64(),
    "i32": pa.int32(), "text": pa.string(),
}

_TABLES = {
    "detours": "cpu:u32 start_ticks:u64 end_ticks:u64 start_ns:u64 end_ns:u64",
    "paces": "cpu:u32 start_ticks:u64 end_ticks:u64 start_ns:u64 end_ns:u64 work_ticks:u64 iterations:u64",
    "events": "cpu:u32 ticks:u64 event:u16 pid:i32 arg0:u64 arg1:u64 arg2:u64",
    "losses": "what:text cpu:u32 start_ticks:u64 end_ticks:u64 count:u64",
    "marks": "cpu:u32 ticks:u64 ns:u64 thread:i32 label:text",
    "stacks": "cpu:u32 ticks:u64 ns:u64 thread:i32 stack:u32",
    "samples": "series:u32 index:u64 cpu:u32 start_ticks:u64 end_ticks:u64 start_ns:u64 end_ns:u64 count:u64",
    "series": "series:u32 round:u32 method:text variant:text cpu:u32 tid:i32 policy:text fixed:text grain_ticks:u64"
    " asked:u64 parameters:text",
    "counters": "name:text cpu:u32 ticks:u64 value:u64",
    "growth": "name:text start_ticks:u64 end_ticks:u64 end_ns:u64 value:u64",
    "lengths": "cpu:u32 from_ticks:u64 to_ticks:u64 count:u64",
    "names": "kind:text key:u64 ticks:u64 name:text",
    "activities": "cpu:u32 start_ticks:u64 end_ticks:u64 self_ticks:u64 detour:u64 parent:u32 kind:text source:text"
    " name:text function:text victim_state:text sent_by_cpu:u32 sent_by_task:text steal_ns:u64 thread:i32",
    "threads": "thread:u32 tid:i32 name:text priority:i32 cpus:text first_ticks:u64 last_ticks:u64 first_ns:u64"
    " last_ns:u64 executed_ticks:u64 executed_ns:u64 interrupted_ticks:u64 interrupted_ns:u64",
    "delays": "cpu:u32 start_ticks:u64 end_ticks:u64 start_ns:u64 end_ns:u64 thread:u32 kind:text own_ticks:u64"
    " own_ns:u64 holder:i32 holder_name:text holder_thread:u32 held_ticks:u64 held_ns:u64 waker_thread:u32"
    " waker:i32 waker_source:text waker_name:text slept_ticks:u64 priority:i32 other_priority:i32",
    "releases": "cpu:u32 due_ticks:u64 end_ticks:u64 due_ns:u64 end_ns:u64 thread:u32 armed_ticks:u64 slack_ticks:u64"
    " slack_ns:u64 expired_ticks:u64 timer_cpu:u32 woken_ticks:u64 unseen_ticks:u64 previous_ticks:u64 source:text"
    " name:text source_ticks:u64 source_ns:u64",
}

#: The columns of each table as the format has them.
COLUMNS = {
    table: pa.schema([(name, _TYPES[kind]) for name, kind in (column.split(":") for column in columns.split())])
    for table, columns in _TABLES.items()
}

#: The tables that `anechoic attribute` derives from the others.
DERIVED = {"activities", "threads", "delays", "releases"}

#: Columns that are points in time; all others in ticks are lengths.
POINTS = {"ticks", *(f"{n}_ticks" for n in "start end first last due armed expired woken previous".split())}
