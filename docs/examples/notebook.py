"""Operating-system noise of several hosts, with DuckDB and with Polars.

A data set has a directory for each host:

    data/host=node1/run.json, data/host=node1/detours/part-00000.parquet, ...

Run it with `python3 notebook.py data`, or cell by cell (`# %%`) in Jupyter or an editor.
"""

# %%
import sys
from pathlib import Path

import anechoic
import duckdb
import polars as pl

hosts = anechoic.open_all(sys.argv[1] if len(sys.argv) > 1 and Path(sys.argv[1]).is_dir() else "data")
detours = hosts.detours
activities = hosts.activities
cpus = hosts.cpus

# %% Polars: noise, number and lengths of the detours of each CPU
noise = (
    pl.from_arrow(detours)
    .join(pl.from_arrow(cpus), on=["recording", "cpu"])
    .group_by("recording", "cpu")
    .agg(
        noise=pl.col("lost_ticks").sum() / pl.col("wall_ticks").first(),
        detours=pl.len(),
        p99_us=pl.col("lost_ns").quantile(0.99) / 1e3,
        longest_us=pl.col("lost_ns").max() / 1e3,
    )
    .sort("recording", "cpu")
)
print(noise)

# %% DuckDB: the same noise, in SQL
same = duckdb.sql(
    """
    SELECT recording::text AS recording, cpu, sum(lost_ticks) / any_value(wall_ticks) AS noise
    FROM detours JOIN cpus USING (recording, cpu)
    GROUP BY ALL ORDER BY ALL
    """
).pl()
print(same)
difference = (same["noise"] - noise["noise"]).abs().max()
assert difference < 1e-12, f"DuckDB and Polars disagree by {difference}"

# %% DuckDB: what took the time on each host
print(
    duckdb.sql(
        """
        SELECT recording, source, count(DISTINCT (cpu, detour)) AS detours, sum(self_ns) / 1e9 AS seconds
        FROM activities GROUP BY ALL ORDER BY seconds DESC LIMIT 12
        """
    ).pl()
)

# %% Polars: detours on both sides of a length, and the time in them
length = pl.when(pl.col("lost_ns") > 10_000).then(pl.lit("over 10 us")).otherwise(pl.lit("up to 10 us"))
print(
    pl.from_arrow(detours)
    .group_by("recording", length=length)
    .agg(number=pl.len(), ms=pl.col("lost_ns").sum() / 1e6)
    .sort("recording", "length")
)

# %% The figures of the first host's report: Jupyter shows what a cell ends with
next(iter(hosts)).figures()
