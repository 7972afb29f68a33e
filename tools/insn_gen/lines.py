# SPDX-License-Identifier: MIT
"""What every map has in common: comments, words, and errors with a line."""
from typing import NamedTuple


class Line(NamedTuple):
    number: int
    words: list
    note: str  # mnemonics or whatever else people should read


class MapError(Exception):
    def __init__(self, line, what):
        super().__init__(f"{line.number}: {what}")


def read_map(path):
    """Yields the lines that say something. `#` comments, `;` begins the note."""
    for number, text in enumerate(path.read_text().splitlines(), 1):
        text, _, note = text.partition("#")[0].partition(";")
        if text.split():
            yield Line(number, text.split(), note.strip())
