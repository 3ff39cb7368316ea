"""The package against what the command and DuckDB compute, with the recordings in docs/examples and fixtures."""

import contextlib
import doctest
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import unittest.mock
from pathlib import Path
from xml.etree import ElementTree

import anechoic
import duckdb
import jsonschema
import pandas
import polars
import pyarrow as pa
import pyarrow.compute as pc
from anechoic import _columns, _recording, _tool

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs/examples"
LOOPS = ["before", "after", "ftq", "bsp"]


def command(*arguments):
    done = subprocess.run([anechoic.tool(), *arguments], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def address(array):
    return array.buffers()[1].address


class Numbers(unittest.TestCase):
    def test_noise_and_lengths_are_those_of_the_summary(self):
        for name in ["before", "after"]:
            recording = anechoic.open(EXAMPLES / name)
            total = command("summary", recording, "--json")["total"]
            (wall,) = recording.cpus["wall_ticks"].to_pylist()
            self.assertEqual(pc.sum(recording.detours["lost_ticks"]).as_py() / wall, total["noise"])
            self.assertEqual(recording.detours.num_rows, total["detours"])
            lengths = recording.detours["lost_ns"]
            self.assertAlmostEqual(pc.max(lengths).as_py(), total["lengths"]["max_ns"], delta=1)
            self.assertAlmostEqual(pc.mean(lengths).as_py(), total["lengths"]["mean_ns"], delta=1e-3)

    def test_time_by_source_is_that_of_sources(self):
        recording = anechoic.open(EXAMPLES / "before")
        rows = command("sources", recording, "--all", "--json")["sources"]["rows"]
        took = recording.activities.group_by("source").aggregate([("self_ns", "sum")])
        took = dict(zip(took["source"].to_pylist(), took["self_ns_sum"].to_pylist()))
        ticks = [row for row in rows if row["source"] == "timer-tick"]
        self.assertEqual(len(ticks), 1)
        self.assertAlmostEqual(took["timer-tick"] / sum(took.values()), ticks[0]["share"], places=9)

    def test_activities_of_a_detour_add_up_to_what_it_lost(self):
        for name in LOOPS:
            joined = anechoic.open(EXAMPLES / name).joined
            self.assertGreater(joined.num_rows, 0)
            sums = joined.group_by(["cpu", "detour"]).aggregate([("self_ticks", "sum"), ("detour_lost_ticks", "max")])
            self.assertEqual(sums["self_ticks_sum"].to_pylist(), sums["detour_lost_ticks_max"].to_pylist(), name)

    def test_detours_join_as_duckdb_joins_them(self):
        for name in LOOPS:
            path = EXAMPLES / name
            joined = anechoic.open(path).joined
            ours = joined.select(["cpu", "start_ticks", "detour", "detour_start_ticks", "detour_end_ticks"])
            theirs = duckdb.sql(
                f"""SELECT cpu, a.start_ticks, detour, d.start_ticks, d.end_ticks FROM '{path}/activities/*.parquet' a JOIN
                (SELECT *, row_number() OVER (PARTITION BY cpu ORDER BY start_ticks) - 1 AS detour
                FROM '{path}/detours/*.parquet') d USING (cpu, detour) ORDER BY ALL"""
            )
            keys = [(column, "ascending") for column in ours.column_names]
            self.assertEqual([tuple(row.values()) for row in ours.sort_by(keys).to_pylist()], theirs.fetchall(), name)

    def test_nanoseconds_are_those_that_the_command_wrote(self):
        recording = anechoic.open(EXAMPLES / "ftq")
        for name in ["detours", "samples"]:
            written = recording.table(name)
            computed = recording._with_ns(written.drop_columns(["start_ns", "end_ns"]))
            for column in ["start_ns", "end_ns"]:
                self.assertEqual(computed[column].to_pylist(), written[column].to_pylist())

    def test_where_no_loop_ran_nothing_is_known_to_be_lost(self):
        with tempfile.TemporaryDirectory() as place:
            copy = Path(shutil.copytree(EXAMPLES / "ftq", Path(place) / "ftq"))
            known = anechoic.open(copy).detours["lost_ticks"]
            run = json.loads((copy / "run.json").read_text())
            (outcome,) = run.pop("outcomes")
            (copy / "run.json").write_text(json.dumps(run))
            self.assertEqual(anechoic.open(copy).detours["lost_ticks"].to_pylist(), known.to_pylist(), "was killed")
            half = (outcome["first_ticks"] + outcome["last_ticks"]) // 2
            run["outcomes"] = [outcome | {"last_ticks": half}]
            (copy / "run.json").write_text(json.dumps(run))
            detours = anechoic.open(copy).detours
            later = pc.sum(pc.greater_equal(detours["start_ticks"], half)).as_py()
            self.assertGreater(later, 0)
            self.assertEqual(detours["lost_ticks"].null_count, later)

    def test_recordings_of_hosts_are_one_table(self):
        with tempfile.TemporaryDirectory() as place:
            for name in ["before", "after"]:
                (Path(place) / f"host={name}").symlink_to(EXAMPLES / name)
            all_of_them = anechoic.open_all(place)
            hosts = [recording.name for recording in all_of_them]
            self.assertEqual((hosts, len(all_of_them)), (["after", "before"], 2))
            rows = duckdb.from_arrow(all_of_them.detours).query("d", "SELECT recording, count(*) FROM d GROUP BY 1 ORDER BY 1")
            alone = [anechoic.open(EXAMPLES / name).detours.num_rows for name in hosts]
            self.assertEqual(rows.fetchall(), list(zip(hosts, alone)))


class Tables(unittest.TestCase):
    def test_columns_are_those_of_the_format(self):
        text = (ROOT / "docs/format.md").read_text("utf-8").split("## Tables", 1)[1].split("## Event numbers")[0]
        sections = dict(re.findall(r"### (\w+)\n(.*?)(?=\n### |\Z)", text, re.DOTALL))
        self.assertEqual(set(sections), set(_columns.COLUMNS))
        for table, section in sections.items():
            section = section.split("The names in `parameters`")[0]
            documented = []
            for names, kind in re.findall(r"^\| (`.*?`) \| (\w+)\??", section, re.MULTILINE):
                documented += [(name, kind.replace("text", "string")) for name in re.findall(r"`(\w+)`", names)]
            self.assertEqual(documented, [(f.name, str(f.type)) for f in _columns.COLUMNS[table]], table)

    def test_others_use_the_memory_without_copying_it(self):
        ticks = anechoic.open(EXAMPLES / "before").detours.combine_chunks()["start_ticks"].chunk(0)
        columns = pa.table({"start_ticks": ticks})
        self.assertEqual(address(polars.from_arrow(columns)["start_ticks"].to_arrow()), address(ticks))
        frame = columns.to_pandas(types_mapper=pandas.ArrowDtype)
        self.assertEqual(address(pa.chunked_array(frame["start_ticks"].array.__arrow_array__()).chunk(0)), address(ticks))
        self.assertEqual(duckdb.sql("SELECT sum(start_ticks) FROM columns").fetchall(), [(pc.sum(ticks).as_py(),)])

    def test_tables_without_rows_have_their_columns(self):
        recording = anechoic.open(EXAMPLES / "before")
        self.assertFalse((EXAMPLES / "before/losses").exists())
        self.assertEqual(recording.losses.num_rows, 0)
        self.assertIn("start_ns", recording.losses.column_names)
        self.assertEqual(recording.scan("losses").count_rows(), 0)
        for table in [*_columns.COLUMNS, "cpus", "joined"]:
            self.assertIsInstance(recording.table(table), pa.Table, table)

    def test_every_released_format_is_read(self):
        for version in [1, 2]:
            recording = anechoic.open(ROOT / f"fixtures/format-{version}")
            self.assertEqual((recording.detours.num_rows, recording.samples.num_rows), (42, 20))
            self.assertEqual(recording.activities["thread"].null_count, recording.activities.num_rows)

    def test_a_table_that_is_larger_than_memory_is_read_in_parts(self):
        events = anechoic.open(EXAMPLES / "before").scan("events")
        rows = sum(batch.num_rows for batch in events.to_batches(columns=["ticks"], batch_size=1000))
        self.assertEqual(rows, 12904)


class Results(unittest.TestCase):
    def test_results_follow_their_schemas(self):
        before, after = EXAMPLES / "before", EXAMPLES / "after"
        cases = {
            "summary": anechoic.open(before).result("summary"),
            "sources": anechoic.open(before).result("sources", "--all"),
            "longest": anechoic.open(before).result("longest"),
            "compare": anechoic.result("compare", before, after),
            "gate": anechoic.result("gate", before, "--max-noise", "1%"),
        }
        for name, result in cases.items():
            jsonschema.validate(result, json.loads((ROOT / f"schema/{name}.schema.json").read_text()))
        self.assertEqual(len(anechoic.results("summary", before, after)), 2)

    def test_figures_are_those_of_the_report(self):
        recording = anechoic.open(EXAMPLES / "before")
        with tempfile.TemporaryDirectory() as place:
            subprocess.run([anechoic.tool(), "report", recording, "--figures", f"{place}/f"], check=True, capture_output=True)
            files = sorted(Path(place, "f").glob("*.svg"))
            figures = recording.figures()
            self.assertEqual([f"{i:02}-{name}" for i, name in enumerate(figures, 1)], [file.stem for file in files])
            self.assertEqual([figure._repr_svg_() for figure in figures.values()], [file.read_text() for file in files])
            figures["scale"].save(f"{place}/scale.svg")
            self.assertTrue(ElementTree.parse(f"{place}/scale.svg").getroot().tag.endswith("svg"))
        self.assertTrue(figures["scale"].caption.startswith("Predicted slowdown"))
        self.assertEqual(len(ElementTree.fromstring(f"<all>{figures._repr_html_()}</all>")), len(figures))


class Documents(unittest.TestCase):
    def test_the_page_about_notebooks_runs(self):
        text = (ROOT / "docs/howto/notebooks.md").read_text("utf-8")
        fences = re.findall("```python\n(.*?)```", text, re.DOTALL)
        self.assertGreater(len(fences), 1)
        with tempfile.TemporaryFile("w") as printed, contextlib.redirect_stdout(printed), contextlib.chdir(EXAMPLES):
            exec("\n".join(fences), names := {})
        self.assertEqual(names["summary"]["total"]["detours"], names["detours"].num_rows)


class Errors(unittest.TestCase):
    def test_errors_say_what_to_do(self):
        with tempfile.TemporaryDirectory() as place:
            copies = {name: Path(shutil.copytree(EXAMPLES / "before", Path(place, name))) for name in ["new", "killed", "bad"]}
            run = json.loads((copies["new"] / "run.json").read_text())
            (copies["new"] / "run.json").write_text(json.dumps(run | {"format_version": 3}))
            (copies["killed"] / "attribution.json").unlink()
            (copies["bad"] / "detours/part-00000.parquet").write_bytes(b"PAR1")
            (Path(place) / "torn").mkdir()
            (Path(place) / "torn/run.json").write_text("{")
            cases = [
                (lambda: anechoic.open("nothing"), "name a directory"),
                (lambda: anechoic.open(EXAMPLES), "call anechoic.open_all"),
                (lambda: anechoic.open_all("nothing"), "name the directory"),
                (lambda: anechoic.open(copies["new"]), "install a newer"),
                (lambda: anechoic.open(Path(place, "torn")), "restore it"),
                (lambda: anechoic.open(copies["killed"]).joined, "run `anechoic attribute"),
                (lambda: anechoic.open(copies["bad"]).detours, "restore it"),
                (lambda: anechoic.open(EXAMPLES / "before").table("detuors"), "there are: activities"),
                (lambda: anechoic.open(EXAMPLES / "before").figures()["lengths"], "there are: timeline"),
                (lambda: anechoic.result("summary", EXAMPLES), "call anechoic.results"),
            ]
            for call, remedy in cases:
                with self.assertRaisesRegex(anechoic.AnechoicError, f"(?s);.*{remedy}"):
                    call()
            self.assertEqual(anechoic.open(copies["killed"]).detours.num_rows, 5990)

    def test_errors_of_the_command_have_its_code(self):
        with self.assertRaises(anechoic.AnechoicError) as raised:
            anechoic.result("summary", "nothing")
        self.assertEqual((str(raised.exception), raised.exception.exit_code),
                         ("nothing does not exist; name a directory that anechoic wrote", 66))

    def test_a_command_that_does_not_start_is_named(self):
        with unittest.mock.patch.dict("os.environ", {"ANECHOIC": "/nothing"}):
            with self.assertRaisesRegex(anechoic.AnechoicError, "/nothing does not start.*; set ANECHOIC"):
                anechoic.call("--version")


def load_tests(_loader, tests, _pattern):
    os.chdir(ROOT)
    for module in [anechoic, _tool, _recording]:
        tests.addTests(doctest.DocTestSuite(module))
    return tests


if __name__ == "__main__":
    unittest.main()
