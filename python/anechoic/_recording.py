"""A recording as Arrow tables."""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from anechoic import _tool
from anechoic._columns import COLUMNS, DERIVED, POINTS
from anechoic._tool import AnechoicError, Figures

#: The newest version of the format that this package reads.
FORMAT_VERSION = 2


class _Tables:
    """The tables by name."""

    def table(self, name: str) -> pa.Table:
        """Return a table by its name in docs/format.md; without rows, but with its columns, if nothing is in it."""
        raise NotImplementedError

    @property
    def cpus(self) -> pa.Table:
        """The measured CPUs: the loop's thread, class, first and last reading, wall time, shortest gap."""
        return self.table("cpus")

    @property
    def detours(self) -> pa.Table:
        """Gaps of the loops: start and end, number among its CPU's (`detour`), and the time that was lost in it.

        `lost_ticks` is the gap less the loop's own iteration or step, and null where no loop ran.
        """
        return self.table("detours")

    @property
    def paces(self) -> pa.Table:
        """How fast the loops went: `work_ticks` / `iterations` is the mean iteration of a time, without detours."""
        return self.table("paces")

    @property
    def activities(self) -> pa.Table:
        """What the kernel did inside the detours; `self_ns` is the time of the row alone."""
        return self.table("activities")

    @property
    def joined(self) -> pa.Table:
        """Activities, each with its detour's start, end and lost time (`detour_start_ns`, `detour_lost_ns`, …).

        In a series whose gaps were not watched, the detour is the sample in which the activity fell.
        """
        return self.table("joined")

    @property
    def samples(self) -> pa.Table:
        """Repetitions of a method (FWQ, FTQ, wake-ups, …)."""
        return self.table("samples")

    @property
    def series(self) -> pa.Table:
        """Sets of samples: work kernel, CPU, parameters."""
        return self.table("series")

    @property
    def counters(self) -> pa.Table:
        """Readings of the kernel's counters; the name ends in the unit of the value, if it is a time."""
        return self.table("counters")

    @property
    def events(self) -> pa.Table:
        """Kernel events, with the numbers that docs/format.md lists."""
        return self.table("events")

    @property
    def losses(self) -> pa.Table:
        """Intervals in which something was not recorded. Look at it before you draw conclusions."""
        return self.table("losses")


class Recording(_Tables, os.PathLike[str]):
    """A recording on disk. `anechoic.open` opens one."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not (self.path / "run.json").is_file():
            if any(self.path.glob("*/run.json")):
                raise AnechoicError(f"{self.path} is a directory of recordings; call anechoic.open_all")
            raise AnechoicError(f"{self.path} has no run.json; name a directory that anechoic wrote")
        if self.run["format_version"] > FORMAT_VERSION:
            raise AnechoicError(f"{self.path} is in a newer format; install a newer anechoic")

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        cpus = len(self.run["cpus"])
        return f"<{self.run['method']} on {cpus} CPU{'s' * (cpus != 1)}, {self.run['start_utc']}: {self.path}>"

    @property
    def name(self) -> str:
        """The directory's name, without `host=`."""
        return self.path.resolve().name.removeprefix("host=")

    @cached_property
    def run(self) -> dict[str, Any]:
        """`run.json`: what ran where, with which clock, and what could not be had."""
        try:
            run: dict[str, Any] = json.loads((self.path / "run.json").read_text("utf-8"))
        except ValueError as error:
            raise AnechoicError(f"{self.path / 'run.json'} is damaged; restore it from a copy") from error
        return run

    @property
    def ns_per_tick(self) -> float:
        """Nanoseconds in a tick of the counter."""
        clock = self.run["clock"]
        return 1e12 / float(clock.get("frequency_millihertz") or clock["frequency_mhz"])

    def files(self, name: str) -> list[Path]:
        """Return the complete Parquet files of a table."""
        if name not in COLUMNS:
            made = ["cpus", "joined"]
            raise AnechoicError(f"no table {name!r}; there are: {', '.join(sorted([*COLUMNS, *made]))}")
        if name in DERIVED and not (self.path / "attribution.json").is_file():
            raise AnechoicError(f"{self.path} has no {name} yet; run `anechoic attribute {self.path}`")
        return sorted((self.path / name).glob("part-*.parquet"))

    def scan(self, name: str) -> ds.Dataset:
        """Return a table as it is on disk, to be read in parts: for recordings that are larger than memory."""
        return ds.dataset([str(file) for file in self.files(name)], schema=None if self.files(name) else COLUMNS[name])

    def table(self, name: str) -> pa.Table:
        made: dict[str, Callable[[], pa.Table]] = {"cpus": self._cpus, "detours": self._detours, "joined": self._joined}
        return self._with_ns(made[name]() if name in made else self._read(name))

    def result(self, *command: str) -> dict[str, Any]:
        """Return a result of this recording: `summary`, `sources`, `longest`, `predict phases`, with its options.

        >>> open("docs/examples/before").result("sources")["sources"]["rows"][0]["name"]
        'telemetryd'
        """
        return _tool.result(*command, self)

    def figures(self) -> Figures:
        """Return the figures of the report by name: `timeline`, `lengths-survival`, `scale`, …"""
        return _tool.figures("report", self)

    def _read(self, name: str) -> pa.Table:
        try:
            parts = [pq.read_table(file, partitioning=None) for file in self.files(name)]
        except (pa.ArrowException, OSError) as error:
            raise AnechoicError(f"{self.path / name}: {error}; restore it from a copy") from error
        return pa.concat_tables([*parts, COLUMNS[name].empty_table()], promote_options="default")

    def _with_ns(self, table: pa.Table) -> pa.Table:
        """Add nanoseconds to each column in ticks that has none."""
        start = pa.scalar(self.run["start_ticks"], pa.uint64())
        for name in table.column_names:
            in_ns = name.removesuffix("ticks") + "ns"
            if not name.endswith("ticks") or in_ns in table.column_names:
                continue
            ticks = table[name]
            if name.removeprefix("detour_") in POINTS:
                since = pc.subtract(pc.max_element_wise(ticks, start, skip_nulls=False), start)
                ns = pc.multiply(since.cast(pa.float64(), safe=False), self.ns_per_tick)
                ns = pc.floor(pc.add(ns, 0.5)).cast(pa.uint64())
            else:
                ns = pc.multiply(ticks.cast(pa.float64(), safe=False), self.ns_per_tick)
            table = table.append_column(in_ns, ns)
        return table

    def _cpus(self) -> pa.Table:
        u32, u64, i32, text = pa.uint32(), pa.uint64(), pa.int32(), pa.string()
        ticks = {name: u64 for name in ("first_ticks", "last_ticks", "shortest_gap_ticks", "wall_ticks")}
        columns: dict[str, pa.DataType] = {"cpu": u32, "tid": i32, "class": text, **ticks}
        rows = [cpu | {"wall_ticks": max(cpu["last_ticks"] - cpu["first_ticks"], 0)} for cpu in self.run["cpus"]]
        return pa.Table.from_pylist(rows, pa.schema(columns))

    def _detours(self) -> pa.Table:
        detours = self._read("detours")
        loops = self._loops()
        return pa.concat_tables(self._of_cpu(detours, cpu, loops.get(cpu, [])) for cpu in _distinct(detours) or [0])

    def _of_cpu(self, detours: pa.Table, cpu: int, loops: list[tuple[int, int, int]]) -> pa.Table:
        """The detours of a CPU, with their numbers and what was lost in each, as `Stint` in the command has it."""
        mine = _rows(detours, cpu)
        start, end = mine["start_ticks"], mine["end_ticks"]
        own: Any = pa.scalar(None, pa.uint64())
        for first, last, ticks in loops:
            inside = pc.if_else(pc.less(start, _u64(last)), _u64(ticks), pa.scalar(None, pa.uint64()))
            own = pc.if_else(pc.less(_u64(first), end), inside, own)
        gap = pc.subtract(end, start)
        lost = pc.if_else(pc.greater(gap, own), pc.subtract(gap, pc.min_element_wise(gap, own)), _u64(0))
        numbers = pc.subtract(pc.cumulative_sum(pa.repeat(_u64(1), len(mine))), _u64(1))
        return mine.append_column("detour", numbers).append_column("lost_ticks", lost)

    def _loops(self) -> dict[int, list[tuple[int, int, int]]]:
        """For each CPU the first and last tick of its loops, in time order, and what each took of every gap itself."""
        run = self.run
        loops: dict[int, list[tuple[int, int, int]]] = {}
        if run["method"] in ("detours", "program"):
            for cpu in run["cpus"]:
                known = 1 <= cpu["shortest_gap_ticks"] <= run["threshold_ticks"]
                own = cpu["shortest_gap_ticks"] if known else run["clock"]["read_min_ticks"]
                loops[cpu["cpu"]] = [(0, 2**64 - 1, 0 if run.get("program") else own)]
            return loops
        outcomes = {outcome["series"]: outcome for outcome in run.get("outcomes") or self._cut_off()}
        for row in self._read("series").to_pylist():
            parameters = json.loads(row["parameters"]) if row.get("parameters") else row
            outcome = outcomes.get(row["series"])
            if outcome and row["cpu"] is not None and parameters["copies"] <= 1:
                step = outcome.get("step_ticks") or parameters.get("step_ticks") or 0
                loops.setdefault(row["cpu"], []).append((outcome["first_ticks"], outcome["last_ticks"], step))
        return {cpu: sorted(of_cpu) for cpu, of_cpu in loops.items()}

    def _cut_off(self) -> list[dict[str, Any]]:
        """What a run that was killed has of its series: the times of their samples."""
        ends = self._read("samples").group_by("series").aggregate([("start_ticks", "min"), ("end_ticks", "max")])
        return ends.rename_columns({"start_ticks_min": "first_ticks", "end_ticks_max": "last_ticks"}).to_pylist()

    def _joined(self) -> pa.Table:
        activities, detours, samples = self._read("activities"), self._detours(), self._read("samples")
        samples = samples.append_column("lost_ticks", pa.nulls(len(samples), pa.uint64()))
        parts = []
        for cpu in _distinct(activities) or [0]:
            mine = _rows(activities, cpu)
            within = _rows(detours, cpu) or _rows(samples, cpu).sort_by("start_ticks")
            for name in ("start_ticks", "end_ticks", "lost_ticks"):
                mine = mine.append_column(f"detour_{name}", within[name].take(mine["detour"]))
            parts.append(mine)
        return pa.concat_tables(parts)


class Recordings(_Tables):
    """Recordings of several hosts or runs; each table has a column `recording` with the name of its recording."""

    def __init__(self, recordings: Iterable[Recording]) -> None:
        self.recordings = list(recordings)

    def __iter__(self) -> Iterator[Recording]:
        return iter(self.recordings)

    def __len__(self) -> int:
        return len(self.recordings)

    def table(self, name: str) -> pa.Table:
        tables = []
        for recording in self.recordings:
            table = recording.table(name)
            names = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), len(table)), [recording.name])
            tables.append(table.append_column("recording", names))
        return pa.concat_tables(tables, promote_options="default").unify_dictionaries()


def open(path: str | os.PathLike[str]) -> Recording:
    """Open a recording, a directory that `anechoic run`, `record`, `measure` or `import` wrote."""
    return Recording(path)


def open_all(path: str | os.PathLike[str]) -> Recordings:
    """Open all recordings in a directory, for example `data/host=node1`, `data/host=node2`."""
    found = sorted(file.parent for file in Path(path).glob("*/run.json"))
    if not found:
        raise AnechoicError(f"no recordings in {path}; name the directory that contains them")
    return Recordings(map(Recording, found))


def _u64(number: int) -> Any:
    return pa.scalar(number, pa.uint64())


def _distinct(table: pa.Table) -> list[int]:
    return sorted(cpu for cpu in pc.unique(table["cpu"]).to_pylist() if cpu is not None)


def _rows(table: pa.Table, cpu: int) -> pa.Table:
    """The rows of a CPU, which are in the order of time."""
    return table.filter(pc.equal(table["cpu"], pa.scalar(cpu, pa.uint32())))
