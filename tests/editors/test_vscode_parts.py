"""Parts of the VS Code extension in Node: one server however often it is started, parts of a suggestion, edits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.editors.extension import CAN_RUN, run

pytestmark = [
    pytest.mark.editors,
    pytest.mark.skipif(not CAN_RUN, reason="no node, or run scripts/tools/build-vscode first"),
]

RESTARTS = """
import { inTurn } from "./turns";

let active = 0, most = 0, n = 0;
const start = inTurn(async () => {
  most = Math.max(most, (active += 1));
  await new Promise((resolve) => setTimeout(resolve, 5));
  active -= 1;
  if ((n += 1) === 1) throw new Error("the first one fails");
});
const first = start();
await new Promise((resolve) => setTimeout(resolve, 1));
const said = await Promise.allSettled([first, start(), start()]);
console.log(JSON.stringify({ most, n, said: said.map(({ status }) => status) }));
"""


def test_two_restarts_at_once_are_one_after_the_other(tmp_path: Path) -> None:
    """Those that wait are one; after one that failed the next one starts all the same."""
    said = json.loads(run(RESTARTS, tmp_path, tmp_path))
    assert (said["most"], said["n"]) == (1, 2)
    assert said["said"] == ["rejected", "fulfilled", "fulfilled"]


PIECES = Path(__file__).with_name("partial.mjs").read_text("utf-8")


def test_lines_are_accepted_one_by_one_with_either_line_end(tmp_path: Path) -> None:
    """The length counts in the text that the server sent; the whole of it is no part."""
    said = json.loads(run(PIECES, tmp_path, tmp_path))
    assert said["lf"] == [" > 1:", " > 1:\n    stop()"]
    assert said["crlf"] == said["lf"]
    assert said["typed"] == [" > 1:"]  # the key Enter is one character


ACTION = Path(__file__).with_name("edit_action.mjs").read_text("utf-8")


@pytest.mark.promise("edits-can-be-undone")
def test_a_code_action_is_for_the_text_that_it_was_made_for(tmp_path: Path) -> None:
    """Whatever is in front when it runs; one of a text that was changed or closed since changes nothing."""
    said = json.loads(run(ACTION, tmp_path, tmp_path))
    assert said["asked"] == [{"uri": "file:///other.py", "version": 3}]
    assert said["edited"] == ["file:///other.py"]
    assert said["said"] == ["fim-lsp changed nothing: the text was changed meanwhile."] * 2


CHANGES = """
import { firstChange } from "./edit";
const document = (text) => {
  const lines = text.split("\\n");
  return { lineCount: lines.length, lineAt: (line) => ({ text: lines[line] }) };
};
const range = ([old, now, first]) => firstChange(document(old), document(now), first).numbers;
console.log(JSON.stringify(JSON.parse(process.env.TEXTS).map(range)));
"""


def test_the_first_change_is_the_one_in_sight(tmp_path: Path) -> None:
    """What is new of the first line that differs, however far to the right it stands."""
    rows = [
        ("a\nreturn w * h", "a\nreturn w * h * d", 1, [1, 12, 1, 16]),
        ("a\nlong(first, second)", "a\nlong(first, third)", 0, [1, 12, 1, 16]),
        ("a\nb", "a\nnew\nb", 0, [1, 0, 1, 3]),
        ("a\nold\nb", "a\nb", 0, [1, 0, 1, 1]),
        ("a\na", "a\naa", 1, [1, 1, 1, 1]),
        ("a\nb", "a\nb", 0, [1, 1, 1, 1]),
    ]
    texts = json.dumps([row[:3] for row in rows])
    found = json.loads(run(CHANGES, tmp_path, tmp_path, TEXTS=texts))
    assert found == [expected for *_, expected in rows]


SNOOZE = """
import { minutesLeft, remember } from "./snooze";
const kept = new Map();
const memory = { get: (key) => kept.get(key), update: async (key, value) => kept.set(key, JSON.parse(JSON.stringify(value ?? null))) };
const left = [minutesLeft(memory)];
for (const minutes of [30, 0]) {
  await remember(memory, minutes);
  left.push(minutesLeft(memory));
}
kept.forEach((_, key) => kept.set(key, Date.now() - 1));
left.push(minutesLeft(memory));
console.log(JSON.stringify(left));
"""


def test_a_snooze_outlives_a_reload_of_the_window(tmp_path: Path) -> None:
    """So many minutes as are left; none once it has ended, or the user ended it."""
    before, snoozed, resumed, over = json.loads(run(SNOOZE, tmp_path, tmp_path))
    assert 29 < snoozed <= 30
    assert (before, resumed, over) == (0, 0, 0)


PARTS = """
import { parts } from "./parts";
console.log(JSON.stringify(JSON.parse(process.env.TEXTS).map(([old, now]) => parts(old, now))));
"""


def test_what_differs_is_drawn_in_whole_words(tmp_path: Path) -> None:
    """Columns that go, and what comes; each word by itself where only words differ."""
    rows = [
        ("item.price", "item.unitPrice", [[5, 10, "unitPrice"]]),
        ("b.price - a.price", "b.total - a.total", [[2, 7, "total"], [12, 17, "total"]]),
        ("numpy.zeros(n)", "np.zeros(n)", [[0, 5, "np"]]),
        ("größe = 1", "grösse = 1", [[0, 5, "grösse"]]),
        ("🙂 = a", "🙂 = b", [[5, 6, "b"]]),
        ("f(a)", "f(a, a)", [[3, 3, ", a"]]),
        ("f(a, b)", "f(a)", [[3, 6, ""]]),
        ("x = items[0]", "x = first(items)", [[4, 12, "first(items)"]]),
        ("a + b", "a - b", [[2, 3, "-"]]),
        ("", "return x", [[0, 0, "return x"]]),
    ]
    texts = json.dumps([row[:2] for row in rows])
    found = json.loads(run(PARTS, tmp_path, tmp_path, TEXTS=texts))
    parts = [[[part["from"], part["to"], part["text"]] for part in each] for each in found]
    assert parts == [expected for *_, expected in rows]
