"""Recall against tokens into one SVG: a panel per history, a line per policy. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

WIDTH, HEIGHT, PER_LINE = 240, 190, 4  # of a panel, in pixels; panels in a line
LEFT, TOP, RIGHT, BOTTOM = 36, 28, 12, 28  # margins of a panel
LOW, HIGH = 512, 32_768  # tokens on the axis, logarithmic
COLORS = {"ours": "#1f77b4", "llama.vim": "#d62728"}
STYLE = "text{font:11px sans-serif;fill:#333}path{fill:none;stroke-width:1.8}.grid{stroke:#ddd}"

Points = Sequence[tuple[float, float]]  # (tokens, recall)


def curve(histories: Mapping[str, Mapping[str, Points]]) -> str:
    """Return the plot as a text."""
    n_lines = -(-len(histories) // PER_LINE)
    width, height = WIDTH * min(PER_LINE, len(histories)), HEIGHT * n_lines + 22
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>']
    parts.append('<rect width="100%" height="100%" fill="#fff"/>')
    for n, (name, policies) in enumerate(histories.items()):
        x, y = n % PER_LINE * WIDTH, n // PER_LINE * HEIGHT
        parts.append(f'<g transform="translate({x},{y})">{_panel(name, policies)}</g>')
    for n, (policy, color) in enumerate(COLORS.items()):
        x, y = LEFT + n * 90, height - 10
        parts.append(f'<rect x="{x}" y="{y - 6}" width="14" height="4" fill="{color}"/>')
        parts.append(f'<text x="{x + 18}" y="{y}">{escape(policy)}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _panel(name: str, policies: Mapping[str, Points]) -> str:
    parts = [f'<text x="{LEFT}" y="{TOP - 10}" font-weight="bold">{escape(name)}</text>']
    for tokens, label in ((1024, "1k"), (4096, "4k"), (16_384, "16k tokens")):
        x = _x(tokens)
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{_y(0)}" y2="{_y(1)}"/>')
        parts.append(f'<text x="{x}" y="{_y(0) + 14}" text-anchor="middle">{label}</text>')
    for share in (0, 0.5, 1):
        y = _y(share)
        parts.append(f'<line class="grid" x1="{_x(LOW)}" x2="{_x(HIGH)}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{LEFT - 4}" y="{y + 4}" text-anchor="end">{share}</text>')
    for policy, points in policies.items():
        path = "L".join(f"{_x(tokens)},{_y(recall)}" for tokens, recall in points)
        parts.append(f'<path d="M{path}" stroke="{COLORS[policy]}"/>')
    return "".join(parts)


def _x(tokens: float) -> float:
    share = math.log(max(tokens, LOW) / LOW) / math.log(HIGH / LOW)
    return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)


def _y(share: float) -> float:
    return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)
