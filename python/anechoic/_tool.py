"""Calls the command, whose results are JSON and SVG."""

import html
import json
import os
import re
import shutil
import subprocess
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

#: Higher exit codes are errors; these are success, warning, limit exceeded, no verdict.
LAST_RESULT = 3


class AnechoicError(Exception):
    """What failed, and after a semicolon what to do; `exit_code` is that of the command, if it was called."""

    def __init__(self, message: str, exit_code: int | None = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def tool() -> Path:
    """Return the command: `$ANECHOIC`, or what was installed with this package, or the first on `$PATH`."""
    if named := os.environ.get("ANECHOIC"):
        return Path(named)
    try:
        for file in metadata.files("anechoic") or []:
            if file.parts[-2:] == ("bin", "anechoic"):
                return Path(str(file.locate())).resolve()
    except metadata.PackageNotFoundError:
        pass  # imported from its source
    if found := shutil.which("anechoic"):
        return Path(found)
    raise AnechoicError("no command `anechoic`; install the wheel, or set ANECHOIC to the path of the command")


def call(*arguments: str | os.PathLike[str]) -> str:
    """Run the command with these arguments and return what it prints.

    >>> call("--version").split()[0]
    'anechoic'
    """
    command = tool()
    try:
        done = subprocess.run([command, *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        raise AnechoicError(f"{command} does not start: {error.strerror}; set ANECHOIC to the command") from error
    if not 0 <= done.returncode <= LAST_RESULT:
        message = done.stderr.strip().removeprefix("anechoic: ") or f"`{command}` ended with {done.returncode}"
        raise AnechoicError(message, done.returncode)
    return done.stdout


def results(*arguments: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return the results of a command that has `--json`, one for each recording. `schema/` describes them.

    >>> [summary["run"]["host"] for summary in results("summary", "docs/examples/before", "docs/examples/after")]
    ['vm', 'vm']
    """
    text = call(*arguments, "--json").lstrip()
    decoder, documents = json.JSONDecoder(), []
    while text:
        document, end = decoder.raw_decode(text)
        documents.append(document)
        text = text[end:].lstrip()
    return documents


def result(*arguments: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the only result of a command that has `--json`, such as `compare`, `gate` or `predict phases`.

    >>> result("gate", "docs/examples/before", "--max-noise", "1%")["outcome"]
    'fail'
    """
    documents = results(*arguments)
    if len(documents) != 1:
        raise AnechoicError(f"{len(documents)} results instead of one; call anechoic.results")
    return documents[0]


class Figure:
    """A figure as `report --figures` writes it. Notebooks show it."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    @property
    def caption(self) -> str:
        """What the figure shows."""
        found = re.search("<desc>(.*?)</desc>", self.svg, re.DOTALL)
        return html.unescape(found[1]) if found else ""

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Figure({self.caption!r})"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the figure as an SVG file."""
        Path(path).write_text(self.svg, encoding="utf-8")


class Figures(dict[str, Figure]):
    """Figures by name. Notebooks show them one below the other, with their captions."""

    def __missing__(self, name: str) -> Figure:
        raise AnechoicError(f"no figure {name!r}; there are: {', '.join(self)}")

    def _repr_html_(self) -> str:
        drawn = (f"<figure>{f.svg}<figcaption>{html.escape(f.caption)}</figcaption></figure>" for f in self.values())
        return "\n".join(re.sub(r"<\?xml.*?\?>", "", figure) for figure in drawn)


def figures(*arguments: str | os.PathLike[str]) -> Figures:
    """Return the figures of a command that has `--figures`: `report`, `compare`, `history`, `rank`, `predict …`.

    >>> list(figures("predict", "phases", "docs/examples/before"))
    ['scale']
    """
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place) / "figures"
        call(*arguments, "--figures", directory)
        files = sorted(directory.glob("*.svg"))
        return Figures((re.sub(r"^\d+-", "", file.stem), Figure(file.read_text("utf-8"))) for file in files)
