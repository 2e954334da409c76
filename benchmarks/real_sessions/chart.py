"""
The bars of README, from reports that `--user accepts --json` wrote: keys saved.

    python -m benchmarks.real_sessions.chart docs/images/keys-saved.svg 0.5b.json 1.5b.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

WIDTH, ROW, GAP, TOP, LEFT, RIGHT = 640, 22, 14, 8, 230, 60  # pixels
STYLE = "text{font:12px sans-serif;fill:#333}.model{font-weight:bold}"
COLORS = {"fim-lsp": "#1f77b4", "llama.vim": "#d62728"}
READ = {"quick": "read in 0.4 s", "people": "read as people do", "glance": "seen at a glance"}


def bars(report: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the clients of a report, each with the share of the keys that it saved."""
    keys: dict[str, list[int]] = {}
    for played in report["played"]:
        alone, pressed = played["accepted"][:2]
        sums = keys.setdefault(played["client"], [0, 0])
        keys[played["client"]] = [sums[0] + alone, sums[1] + pressed]
    for client, (alone, pressed) in keys.items():
        yield client, 1 - pressed / alone


def draw(models: Mapping[str, Sequence[tuple[str, float]]]) -> str:
    """Return the bars as SVG, a group for each model."""
    most = max(share for group in models.values() for _, share in group)
    parts, y = list[str](), TOP
    for model, group in models.items():
        parts.append(f'<text class="model" x="8" y="{y + 15}">{escape(model)}</text>')
        for client, share in group:
            width = round((WIDTH - LEFT - RIGHT) * max(0.0, share) / most, 1)
            color = COLORS[client]
            y += ROW
            label = f'<text x="{LEFT - 8}" y="{y + 15}" text-anchor="end">{escape(client)}</text>'
            rect = (
                f'<rect x="{LEFT}" y="{y + 2}" width="{width}" height="{ROW - 4}" fill="{color}"/>'
            )
            end = f'<text x="{LEFT + width + 6}" y="{y + 15}">{share:.1%}</text>'
            parts += [label, rect, end]
        y += ROW + GAP
    size = f'width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>'
    return "\n".join([head, '<rect width="100%" height="100%" fill="#fff"/>', *parts, "</svg>\n"])


def main() -> None:
    """Read, draw, write."""
    out, *files = map(Path, sys.argv[1:])
    reports = [json.loads(file.read_text("utf-8")) for file in files]
    out.write_text(draw({title(report): [*bars(report)] for report in reports}), "utf-8")


def title(report: Mapping[str, Any]) -> str:
    """Return what a group of bars is about."""
    return f"{report['model']}, {READ[report.get('reader', 'quick')]}"


if __name__ == "__main__":
    main()
