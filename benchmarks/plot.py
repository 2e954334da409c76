"""
Rows into one SVG: per trace, the share of completions that evaluate at most so many tokens. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape

from benchmarks.figures import Row

WIDTH, HEIGHT, PER_LINE = 300, 200, 4  # of a panel, in pixels; panels in a line
LEFT, TOP, RIGHT, BOTTOM = 40, 30, 12, 30  # margins of a panel
DECADES = 4  # the axis ends at 10,000 tokens
COLORS = ("#d62728", "#1f77b4", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f")
STYLE = "text{font:11px sans-serif;fill:#333}path{fill:none;stroke-width:1.8}.grid{stroke:#ddd}"


def plot(rows: Sequence[Row]) -> str:
    """Return a panel per trace, a line per client."""
    traces = list(dict.fromkeys(row.trace for row in rows))
    clients = list(dict.fromkeys(row.client for row in rows))
    colors = dict(zip(clients, COLORS, strict=False))
    n_lines = -(-len(traces) // PER_LINE)
    width, height = WIDTH * min(PER_LINE, len(traces)), HEIGHT * n_lines + 24
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>']
    parts.append('<rect width="100%" height="100%" fill="#fff"/>')
    for n, trace in enumerate(traces):
        x, y = n % PER_LINE * WIDTH, n // PER_LINE * HEIGHT
        of_trace = [row for row in rows if row.trace == trace]
        parts.append(f'<g transform="translate({x},{y})">{_panel(trace, of_trace, colors)}</g>')
    parts.append(_legend(clients, colors, height))
    return "\n".join([*parts, "</svg>\n"])


def _panel(title: str, rows: Iterable[Row], colors: dict[str, str]) -> str:
    parts = [f'<text x="{LEFT}" y="{TOP - 10}" font-weight="bold">{escape(title)}</text>']
    for decade in range(DECADES + 1):
        x = _x(10**decade)
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{_y(0)}" y2="{_y(1)}"/>')
        parts.append(f'<text x="{x}" y="{_y(0) + 14}" text-anchor="middle">{10**decade}</text>')
    for share in (0, 0.5, 1):
        y = _y(share)
        parts.append(f'<line class="grid" x1="{_x(1)}" x2="{_x(10**DECADES)}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{LEFT - 4}" y="{y + 4}" text-anchor="end">{share:.0%}</text>')
    parts += [f'<path d="{_steps(row.evaluated)}" stroke="{colors[row.client]}"/>' for row in rows]
    return "".join(parts)


def _steps(tokens: Sequence[int]) -> str:
    """Return the path of a cumulative distribution."""
    ordered, path = sorted(tokens), f"M{_x(1)},{_y(0)}"
    for n, value in enumerate(ordered, 1):
        if n == len(ordered) or ordered[n] != value:
            path += f"H{_x(value)}V{_y(n / len(ordered))}"
    return path + f"H{_x(10**DECADES)}"


def _legend(clients: Sequence[str], colors: dict[str, str], height: int) -> str:
    parts, x = [], LEFT
    for client in clients:
        parts.append(
            f'<rect x="{x}" y="{height - 15}" width="14" height="4" fill="{colors[client]}"/>'
        )
        parts.append(f'<text x="{x + 18}" y="{height - 9}">{escape(client)}</text>')
        x += 40 + 7 * len(client)
    parts.append(f'<text x="{x + 20}" y="{height - 9}">tokens evaluated per completion</text>')
    return "".join(parts)


def _x(tokens: float) -> float:
    share = math.log10(min(max(tokens, 1), 10**DECADES)) / DECADES
    return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)


def _y(share: float) -> float:
    return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)
