"""Points into one SVG: a panel per name, in it a line and a dot per series. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

WIDTH, HEIGHT, PER_LINE = 300, 220, 4  # of a panel, in pixels; panels in a line
LEFT, TOP, RIGHT, BOTTOM = 44, 30, 12, 40  # margins of a panel
LEGEND, ENTRY = 18, 150  # height of a line of it, width of an entry
COLORS = (
    "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22",
    "#17becf", "#ff7f0e", "#aec7e8", "#333",
)  # fmt: skip
STYLE = "text{font:11px sans-serif;fill:#333}path{fill:none;stroke-width:1.8}.grid{stroke:#ddd}"

Point = tuple[float, float]


class Series(NamedTuple):
    """A line through *points*; *dot* stands out."""

    points: Sequence[Point] = ()
    dot: Point | None = None


class Axis(NamedTuple):
    """Its *ticks* by label, the first and the last at its ends; logarithmic or not."""

    name: str
    ticks: Mapping[str, float]
    is_log: bool = False

    def share(self, value: float) -> float:
        """Return how far along the axis a value is, at most at one of the ends."""
        first, *_, last = self.ticks.values()
        value = min(max(value, first), last)
        if self.is_log:
            return math.log(value / first) / math.log(last / first)
        return (value - first) / (last - first)


def plot(panels: Mapping[str, Mapping[str, Series]], x: Axis, y: Axis) -> str:
    """Return the plot as a text; a series has the same colour in all panels."""
    names = list(dict.fromkeys(name for panel in panels.values() for name in panel))
    colors = {name: COLORS[n % len(COLORS)] for n, name in enumerate(names)}
    height = HEIGHT * -(-len(panels) // PER_LINE)
    width = WIDTH * min(PER_LINE, max(2, len(panels)))
    per_line = width // ENTRY
    whole = height + LEGEND * (1 - -len(names) // per_line)
    size = f'width="{width}" height="{whole}" viewBox="0 0 {width} {whole}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>']
    parts.append('<rect width="100%" height="100%" fill="#fff"/>')
    for n, (title, panel) in enumerate(panels.items()):
        at = f"{n % PER_LINE * WIDTH},{n // PER_LINE * HEIGHT}"
        parts.append(f'<g transform="translate({at})">{_panel(title, panel, colors, x, y)}</g>')
    for n, (name, color) in enumerate(colors.items()):
        left, top = 12 + n % per_line * ENTRY, height + 12 + n // per_line * LEGEND
        parts.append(f'<rect x="{left}" y="{top - 6}" width="14" height="4" fill="{color}"/>')
        parts.append(f'<text x="{left + 18}" y="{top}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _panel(
    title: str, panel: Mapping[str, Series], colors: Mapping[str, str], x: Axis, y: Axis
) -> str:
    right, low = WIDTH - RIGHT, HEIGHT - BOTTOM

    def at(point: Point) -> Point:
        across, up = x.share(point[0]), y.share(point[1])
        return round(LEFT + across * (right - LEFT), 1), round(low - up * (low - TOP), 1)

    parts = [f'<text x="{LEFT}" y="{TOP - 10}" font-weight="bold">{escape(title)}</text>']
    for label, value in x.ticks.items():
        left, _ = at((value, 0))
        parts.append(f'<line class="grid" x1="{left}" x2="{left}" y1="{TOP}" y2="{low}"/>')
        parts.append(f'<text x="{left}" y="{low + 14}" text-anchor="middle">{label}</text>')
    for label, value in y.ticks.items():
        _, top = at((1, value))
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{top}" y2="{top}"/>')
        parts.append(f'<text x="{LEFT - 4}" y="{top + 4}" text-anchor="end">{label}</text>')
    names = f"{escape(x.name)} →  {escape(y.name)} ↑"
    parts.append(f'<text x="{LEFT}" y="{low + 30}">{names}</text>')
    for name, series in panel.items():
        if series.points:
            path = "L".join("{},{}".format(*at(point)) for point in series.points)
            parts.append(f'<path d="M{path}" stroke="{colors[name]}"/>')
        if series.dot:
            left, top = at(series.dot)
            parts.append(f'<circle cx="{left}" cy="{top}" r="4" fill="{colors[name]}"/>')
    return "".join(parts)
