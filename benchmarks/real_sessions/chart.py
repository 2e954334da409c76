"""
The bars of README: keys saved by reader and speed of machine, with the interval of each, of what `expected` played.

    python -m benchmarks.real_sessions.chart docs/images/keys-saved.svg
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.real_sessions import expected
from benchmarks.real_sessions.intervals import Interval

WIDTH, ROW, GAP, TOP, LEFT, RIGHT = 640, 22, 14, 8, 170, 150  # pixels
STYLE = "text{font:12px sans-serif;fill:#333}.reader{font-weight:bold}"
COLOR = "#1f77b4"
DARK = "#333"
READERS = {
    "people": "read as people do",
    "quick": "read in 0.4 s",
    "glance": "seen at a glance",
}

Bars = Sequence[tuple[int, Interval]]  # by tokens a second


def draw(readers: Mapping[str, Bars]) -> str:
    """Return the bars as SVG, a group for each reader; a line is the interval."""
    most = max(share.high for bars in readers.values() for _, share in bars)
    scale = (WIDTH - LEFT - RIGHT) / most
    parts = list[str]()
    y = TOP
    for reader, bars in readers.items():
        parts.append(f'<text class="reader" x="8" y="{y + 15}">{READERS[reader]}</text>')
        for per_s, share in bars:
            y += ROW
            parts += _bar(y, f"{per_s} tokens a second", share, scale)
        y += ROW + GAP
    size = f'width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>'
    return "\n".join([head, '<rect width="100%" height="100%" fill="#fff"/>', *parts, "</svg>\n"])


def _bar(y: int, label: str, share: Interval, scale: float) -> list[str]:
    low, middle, high = (LEFT + round(max(0.0, value) * scale, 1) for value in share)
    text = f"{share.middle:.0%} ({share.low:.0%} to {share.high:.0%})"
    return [
        f'<text x="{LEFT - 8}" y="{y + 15}" text-anchor="end">{label}</text>',
        f'<rect x="{LEFT}" y="{y + 2}" width="{middle - LEFT:.1f}" height="{ROW - 4}" fill="{COLOR}"/>',
        f'<path d="M{low} {y + 11}H{high}" stroke="{DARK}" stroke-width="2"/>',
        f'<text x="{high + 6:.1f}" y="{y + 15}">{text}</text>',
    ]


def main() -> None:
    """Draw, write."""
    _, figures = expected.figures("held-out")
    readers = {
        reader: [(per_s, figures[reader, per_s].saved) for per_s in expected.SPEEDS]
        for reader in READERS
    }
    Path(sys.argv[1]).write_text(draw(readers), "utf-8")


if __name__ == "__main__":
    main()
