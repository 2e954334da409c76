"""Precision against coverage into one SVG: a line per history, a dot where the default stands. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

SIZE, LEFT, TOP, RIGHT, BOTTOM = 420, 46, 16, 150, 40  # pixels
LOW = 0.4  # precision where the axis begins
WIDE = 0.6  # coverage where the other one ends
COLORS = (
    "#1f77b4", "#ff7f0e", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#17becf", "#bcbd22", "#7f7f7f",
    "#000080", "#006400",
)  # fmt: skip
ALL = "#d62728"
STYLE = "text{font:11px sans-serif;fill:#333}path{fill:none;stroke-width:1.3}.grid{stroke:#ddd}"

Points = Sequence[tuple[float, float]]  # (coverage, precision), the last one is the default


def curve(histories: Mapping[str, Points], together: str) -> str:
    """Return the plot as a text; the line of *together* is the thick one."""
    width, height = SIZE + RIGHT, SIZE + BOTTOM - 80
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>']
    parts.append('<rect width="100%" height="100%" fill="#fff"/>')
    for share in (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        y = _y(share)
        parts.append(f'<line class="grid" x1="{_x(0)}" x2="{_x(WIDE)}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{LEFT - 24}" y="{y + 4}">{share:.1f}</text>')
    for share in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6):
        x = _x(share)
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{_y(LOW)}" y2="{_y(1)}"/>')
        parts.append(f'<text x="{x - 8}" y="{_y(LOW) + 16}">{share:.1f}</text>')
    parts.append(f'<text x="{_x(WIDE / 2) - 30}" y="{_y(LOW) + 32}">coverage</text>')
    parts.append(f'<text x="4" y="{TOP - 4}">precision</text>')
    for n, (name, points) in enumerate(histories.items()):
        color = ALL if name == together else COLORS[n % len(COLORS)]
        *line, default = points
        path = "L".join(f"{_x(x)},{_y(y)}" for x, y in line)
        stroke = ' style="stroke-width:3"' if name == together else ""
        parts.append(f'<path d="M{path}" stroke="{color}"{stroke}/>')
        parts.append(f'<circle cx="{_x(default[0])}" cy="{_y(default[1])}" r="4" fill="{color}"/>')
        y = TOP + 10 + 18 * n
        parts.append(f'<rect x="{SIZE + 16}" y="{y - 6}" width="14" height="4" fill="{color}"/>')
        parts.append(f'<text x="{SIZE + 36}" y="{y}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _x(coverage: float) -> float:
    return round(LEFT + min(coverage, WIDE) / WIDE * (SIZE - LEFT), 1)


def _y(precision: float) -> float:
    share = (max(precision, LOW) - LOW) / (1 - LOW)
    return round(TOP + (1 - share) * (SIZE - TOP - 80), 1)
