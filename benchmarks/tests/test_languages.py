"""Where the pauses of the benchmark of languages are."""

from __future__ import annotations

from pathlib import Path

from benchmarks.languages import EVERY, places

SCRIPT = "#!/bin/sh\n\nset -e\n\nif true; then\n    echo the rest of the line\n\n    exit 0\nfi\n"


def test_pauses(tmp_path: Path) -> None:
    """Behind so many keys, or a line break and the next line's indentation; every other one is at the end."""
    file = tmp_path / "a.sh"
    file.write_text(SCRIPT)
    found = [*places(file, 5)]
    assert {place.language for place in found} == {"shellscript"}
    ends = [(place.line, place.column) for place in found]
    assert ends == [(5, EVERY), (5, 2 * EVERY), (7, 4), (8, 0)]
    assert [place.truth for place in found] == [
        SCRIPT[SCRIPT.index(word) :] for word in (" rest", " line", "exit", "fi\n")
    ]
    at_the_end, inside = found[:2]
    assert at_the_end.text + at_the_end.truth == SCRIPT
    assert inside.text == SCRIPT[: -len(inside.truth)] + "\n"
