"""A terminal's screen as a PNG, in the colours the program asked for."""

from __future__ import annotations

from pathlib import Path

import pyte
from PIL import Image, ImageDraw, ImageFont

FONT_SIZE = 15
BACKGROUND, FOREGROUND = "#14161b", "#e0e2ea"  # Neovim's own dark colours
# The 16 colours that have names; xterm's own are too shrill for a README.
NAMED = {
    "black": "#14161b", "red": "#ffc0b9", "green": "#b3f6c0", "brown": "#fce094",
    "blue": "#a6dbff", "magenta": "#ffcaff", "cyan": "#8cf8f7", "white": "#e0e2ea",
    "brightblack": "#4f5258", "brightred": "#ffc0b9", "brightgreen": "#b3f6c0",
    "brightbrown": "#fce094", "brightyellow": "#fce094", "brightblue": "#a6dbff",
    "brightmagenta": "#ffcaff", "brightcyan": "#8cf8f7", "brightwhite": "#eef1f8",
}  # fmt: skip


def save(screen: pyte.Screen, path: Path) -> None:
    """Draw *screen* with its cursor into the file *path*."""
    font = ImageFont.truetype("DejaVuSansMono.ttf", FONT_SIZE)
    width, height = round(font.getlength("M")), FONT_SIZE + 4
    image = Image.new("RGB", (screen.columns * width, screen.lines * height), BACKGROUND)
    draw = ImageDraw.Draw(image)
    for y in range(screen.lines):
        for x in range(screen.columns):
            cell = screen.buffer[y][x]
            cursor = not screen.cursor.hidden and (screen.cursor.y, screen.cursor.x) == (y, x)
            front, back = _colour(cell.fg, FOREGROUND), _colour(cell.bg, BACKGROUND)
            if cell.reverse != cursor:
                front, back = back, front
            box = (x * width, y * height, (x + 1) * width, (y + 1) * height)
            draw.rectangle(box, fill=back)
            draw.text(box[:2], cell.data, font=font, fill=front, stroke_width=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    image.quantize(64).save(path, optimize=True)


def _colour(name: str, default: str) -> str:
    if name == "default":
        return default
    return NAMED.get(name, f"#{name}")
