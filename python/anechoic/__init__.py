"""Recordings of operating-system noise as Arrow tables, results as dictionaries, figures in a notebook.

>>> import anechoic
>>> recording = anechoic.open("docs/examples/before")
>>> recording.detours.num_rows
5990
>>> round(recording.result("summary")["total"]["noise"], 4)
0.0381

Tables are `pyarrow.Table`. Polars (`polars.from_arrow`), pandas (`table.to_pandas(types_mapper=pandas.ArrowDtype)`)
and DuckDB (the name of the variable in a query) use their memory without copying it.

A name ends in its unit. Ticks are those of the CPU's counter; `_ns` beside them are nanoseconds since the start of the
run, or a length. docs/format.md describes the columns of each table.
"""

from anechoic._recording import Recording, Recordings, open, open_all
from anechoic._tool import AnechoicError, Figure, Figures, call, figures, result, results, tool

__all__ = [
    "AnechoicError",
    "Figure",
    "Figures",
    "Recording",
    "Recordings",
    "call",
    "figures",
    "open",
    "open_all",
    "result",
    "results",
    "tool",
]
