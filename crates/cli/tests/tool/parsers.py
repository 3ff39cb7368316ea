"""Reads frames from standard input, each a line `KIND LENGTH` and the content, and answers each with a line: `ok`, or what a
parser of that kind objects to."""

import csv
import html5lib
import io
import json
import sys
import unicodedata
import xml.etree.ElementTree as xml
from prometheus_client import openmetrics, parser
import prometheus_client.openmetrics.parser
import pyarrow.parquet


def refuse(name):
    raise ValueError(f"{name} is no JSON number")


def read_json(content):
    json.loads(content.decode(), parse_constant=refuse)


def read_csv(content):
    rows = list(csv.reader(io.StringIO(content.decode(), newline=""), strict=True))
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise ValueError(f"rows of {sorted(widths)} fields")
    for row in rows[1:]:
        [int(number) for number in row[:3]]


def read_samples(families):
    seen = set()
    for sample in (sample for family in families for sample in family.samples):
        key = (sample.name, tuple(sorted(sample.labels.items())))
        if key in seen:
            raise ValueError(f"{key} twice")
        seen.add(key)


def read_html(content):
    html5lib.HTMLParser(strict=True).parse(content.decode())


PARSERS = {
    "json": read_json,
    "csv": read_csv,
    "xml": xml.fromstring,
    "html": read_html,
    "prometheus": lambda content: read_samples(parser.text_string_to_metric_families(content.decode())),
    "openmetrics": lambda content: read_samples(openmetrics.parser.text_string_to_metric_families(content.decode())),
    "parquet": lambda content: pyarrow.parquet.read_table(io.BytesIO(content)).validate(full=True),
    "text": lambda content: content.decode(),
}
# What turns the direction of the text around it.
TURNS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def look_for_controls(text):
    for at, letter in enumerate(text):
        if letter in TURNS or unicodedata.category(letter) == "Cc" and letter not in "\n\r\t":
            raise ValueError(f"{letter!r} in {text[max(at - 40, 0) : at + 40]!r}")


for line in sys.stdin.buffer:
    kind, length = line.split()
    kind, content = kind.decode(), sys.stdin.buffer.read(int(length))
    try:
        PARSERS[kind](content)
        if kind not in ("json", "parquet"):
            look_for_controls(content.decode())
        print("ok", flush=True)
    except Exception as error:
        print(f"{kind}: {error!r}".replace("\n", " "), flush=True)
