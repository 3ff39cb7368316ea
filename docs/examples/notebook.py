"""Operating-system noise of several hosts, with DuckDB and with Polars.

A data set has a directory for each host:

    data/host=node1/run.json, data/host=node1/detours/part-00000.parquet, ...

Run it with `python3 notebook.py data`, or cell by cell (`# %%`) in Jupyter or an editor.
"""

# %%
import json
import sys
from pathlib import Path

import duckdb
import polars as pl

data = Path(sys.argv[1] if len(sys.argv) > 1 and Path(sys.argv[1]).is_dir() else "data")

# %% What ran where: one row for each host and CPU, from run.json
rows = []
for file in sorted(data.glob("host=*/run.json")):
    run = json.loads(file.read_text())
    ns_per_tick = 1e12 / run["clock"]["frequency_millihertz"]
    for cpu in run["cpus"]:
        rows.append(
            {
                "host": file.parent.name.removeprefix("host="),
                "cpu": cpu["cpu"],
                "ns_per_tick": ns_per_tick,
                "iteration_ticks": cpu["shortest_gap_ticks"],
                "wall_ticks": cpu["last_ticks"] - cpu["first_ticks"],
            }
        )
cpus = pl.DataFrame(rows)
print(cpus)

# %% Polars: noise, number and lengths of the detours of each CPU
# A gap contains one iteration of the loop, which is no lost time.
detours = (
    pl.scan_parquet(data / "host=*/detours/*.parquet", hive_partitioning=True)
    .select("host", "cpu", "start_ticks", "end_ticks")
    .join(cpus.lazy().with_columns(pl.col("cpu").cast(pl.UInt32)), on=["host", "cpu"])
    .with_columns(lost_ticks=pl.col("end_ticks") - pl.col("start_ticks") - pl.col("iteration_ticks"))
)
noise = (
    detours.group_by("host", "cpu")
    .agg(
        noise=pl.col("lost_ticks").sum() / pl.col("wall_ticks").first(),
        detours=pl.len(),
        p99_us=pl.col("lost_ticks").quantile(0.99) * pl.col("ns_per_tick").first() / 1e3,
        longest_us=pl.col("lost_ticks").max() * pl.col("ns_per_tick").first() / 1e3,
    )
    .sort("host", "cpu")
    .collect()
)
print(noise)

# %% DuckDB: the same noise, in SQL
db = duckdb.connect()
db.register("cpus", cpus.to_arrow())
same = db.sql(
    f"""
    SELECT host, cpu, sum(end_ticks - start_ticks - iteration_ticks) / any_value(wall_ticks) AS noise
    FROM read_parquet('{data}/host=*/detours/*.parquet', hive_partitioning = true)
    JOIN cpus USING (host, cpu)
    GROUP BY ALL ORDER BY ALL
    """
).pl()
print(same)
difference = (same["noise"] - noise["noise"]).abs().max()
assert difference < 1e-12, f"DuckDB and Polars disagree by {difference}"

# %% DuckDB: what took the time on each host
print(
    db.sql(
        f"""
        SELECT host, source, count(DISTINCT (cpu, detour)) AS detours,
               sum(self_ticks * ns_per_tick) / 1e9 AS seconds
        FROM read_parquet('{data}/host=*/activities/*.parquet', hive_partitioning = true)
        JOIN cpus USING (host, cpu)
        GROUP BY ALL ORDER BY seconds DESC LIMIT 12
        """
    ).pl()
)

# %% Polars: detours on both sides of a length, and the time in them
print(
    detours.with_columns(
        length=pl.when(pl.col("lost_ticks") * pl.col("ns_per_tick") > 10_000)
        .then(pl.lit("over 10 us"))
        .otherwise(pl.lit("up to 10 us"))
    )
    .group_by("host", "length")
    .agg(number=pl.len(), ms=(pl.col("lost_ticks") * pl.col("ns_per_tick")).sum() / 1e6)
    .sort("host", "length")
    .collect()
)
