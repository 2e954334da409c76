"""
What a client and the world do, and random stories of it.

A step is a line: what, to which file, how, and the pause behind it in seconds: `key a sum 0.2`.
One that is marked `+ ` or `- ` is in one of two runs only. A story is a few of them.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Iterator
from pathlib import Path

from fim_lsp import events
from fim_lsp.documents import Document, Edit, Position
from fim_lsp.instruct.dialogue import Edited, Instruction
from fim_lsp.lsp import commands, server
from fim_lsp.lsp.rpc import types
from fim_lsp.settings.files import PROJECT_FILE
from tests.convergence.play import FILES, LONG, SHORT, WORDS, Play
from tests.convergence.waits import EPOCH

TEXTS = {"x": "x", "sum": " + price", "line": "\n    rate", "paren": "(", "return": "\n"}
PAUSES = (0.001, 0.02, 0.2, 0.5, 1.2, 4.0, 45.0)


def text_of(name: str) -> str:
    """Return the text of a file as it is on disk at first."""
    word = WORDS[name]
    n = LONG if name in "abd" else SHORT
    end = "\r" if name == "d" else "\n"
    parts = (
        f"def {word}_{i}(price, rate):\n    {word} = price * rate + {i}\n    return {word}\n\n"
        for i in range(n)
    )
    return "".join(parts).replace("\n", end)


class Steps(Play):
    """A run, and all steps there are."""

    ends = ""  # of lines, in place of "\n"
    where, is_moved = "", False  # where the user is, and whether moving was the last thing there
    is_broken = False  # the project's settings

    async def run(self, story: list[str]) -> None:
        """Play *story* up to its rest."""
        self.cursors: dict[str, Position] = {}
        self.edits: dict[str, object] = {}
        self.long_text: object = None
        for name in FILES:
            (self.folder / FILES[name]).parent.mkdir(exist_ok=True)
            self.put(name, text_of(name))
        steps = [step.split() for step in story]
        while steps and steps[0][0] in ("before", "ends"):
            kind, *args, _ = steps.pop(0)
            getattr(self, f"do_{kind}")(*args)
        self.begin()
        await asyncio.sleep(0.001)
        for kind, *args, pause in steps:
            result = getattr(self, f"do_{kind}")(*args)
            if asyncio.iscoroutine(result):
                await result
            self.check()
            await asyncio.sleep(float(pause))
            if not self.delays.used:
                self.check_health()
        if self.is_broken:
            self.do_settings("mended")
        await self.rest()

    def put(self, name: str, text: str) -> None:
        """Write a file at the time of the story."""
        path = self.folder / FILES.get(name, name)
        path.write_text(text, "utf-8", newline="")
        ns = int((EPOCH + asyncio.get_running_loop().time()) * 1e9)
        os.utime(path, ns=(ns, ns))

    def document(self, name: str) -> Document | None:
        return self.session.document(self.uri(name))

    def cursor(self, name: str) -> Position:
        document = self.document(name)
        assert document is not None
        free = int(0.7 * len(document.lines)) // 4 * 4 + 3  # a line between two functions
        return document.clamp(self.cursors.setdefault(name, Position(free, 0)))

    def edit(self, name: str, start: Position, end: Position, text: str) -> None:
        uri = self.uri(name)
        text = text.replace("\n", self.ends) if self.ends else text
        version = self.session.documents[uri].version + 1
        self.session.handle(events.Changed(uri, version, (Edit(start, end, text),)))

    def changed(self, *names: str, deleted: tuple[str, ...] = ()) -> None:
        """Tell of files that changed on disk."""
        event = events.FilesChanged(tuple(map(self.uri, names)), tuple(map(self.uri, deleted)))
        self.editor.forward(event)
        self.editor.reread_settings(event.changed + event.deleted)

    # What the user does in a file.

    def do_open(self, name: str) -> None:
        path = self.folder / FILES[name]
        if not self.document(name) and path.exists():
            self.cursors.pop(name, None)
            text = path.read_bytes().decode()
            self.editor.forward(events.Opened(self.uri(name), "python", 1, text))

    def do_close(self, name: str) -> None:
        if self.document(name):
            self.editor.forward(events.Closed(self.uri(name)))

    def do_key(self, name: str, text: str) -> None:
        if self.document(name):
            at = self.cursor(name)
            self.where = name
            self.is_moved = False
            text = TEXTS[text]
            self.edit(name, at, at, text)
            n = text.count("\n")
            column = len(text.rpartition("\n")[2]) + (0 if n else at.column)
            self.cursors[name] = Position(at.line + n, column)

    def do_backspace(self, name: str) -> None:
        if self.document(name) and (at := self.cursor(name)).column:
            self.where = name
            self.is_moved = False
            self.cursors[name] = start = at._replace(column=at.column - 1)
            self.edit(name, start, at, "")

    def do_above(self, name: str) -> None:
        """An import, at the top."""
        if self.document(name):
            ends = "\r" if name == "d" else "\n"
            self.edit(name, Position(0, 0), Position(0, 0), f"import os{ends}")
            if name in self.cursors:
                self.cursors[name] = self.cursors[name].down(1)

    def do_rename(self, name: str, nth: str) -> None:
        if document := self.document(name):
            lines = enumerate(document.lines)
            row = next((n for n, text in lines if n >= 4 * int(nth) and " rate" in text), None)
            if row is not None:
                column = document.lines[row].index(" rate") + 1
                self.edit(name, Position(row, column), Position(row, column + 4), "ratio")

    def do_move(self, name: str, part: str) -> None:
        """To a part of the file, into the line or to its end."""
        if document := self.document(name):
            end = document.end_of(int(float(part.rstrip("$")) * (len(document.lines) - 1)))
            at = end if part.endswith("$") else end._replace(column=min(6, end.column))
            self.cursors[name], self.where, self.is_moved = at, name, True
            self.editor.rest_at(document.uri, at)

    def do_ask(self, name: str, how: str) -> None:
        if document := self.document(name):
            self.where = name
            self.is_moved = False
            asked = self.editor.ask("inline", document, self.cursor(name), invoked=how == "hand")
            self.spawn(asked, "ask")

    def do_cancel(self) -> None:
        if self.asked:
            self.asked[-1].cancel()

    def do_report(self, what: str) -> None:
        given = (a for a in reversed([*self.answers.values()]) if a and a.suggestions)
        number = next((answer.suggestions[0].id for answer in given), "")
        if what == "shown" and number:
            self.editor.forward(events.Shown(number))
        elif what == "accepted" and number:
            self.editor.forward(events.Accepted(number))
        elif self.where:
            self.editor.forward(events.Dismissed(self.uri(self.where)))

    def do_yank(self, name: str) -> None:
        if document := self.document(name):
            self.where = name
            self.editor.forward(events.Yanked(document.uri, "".join(document.lines[:8])))

    def do_instruct(self, name: str, how: str) -> None:
        """An edit by instruction: its preparation, a first one, again, or a further one."""
        if self.document(name):
            self.spawn(self._instruct(name, how), "edit")

    async def _instruct(self, name: str, how: str) -> None:
        start = Position(4, 0)
        end = Position(7, 0)
        if how == "ahead":
            await self.session.prepare_edit(self.uri(name), start, end)
            return
        again = how == "again"
        more = how == "more"
        wanted = Instruction(start, end, "add types", again=again, more=more)
        mine = self.edits[name] = object()
        edited: Edited = await self.session.edit(self.uri(name), wanted, lambda _: True)
        if self.edits[name] is mine and "another edit" in edited.note:
            self.blame("newest", f"{name}: the newest edit by instruction ends as an older one")

    def do_long(self, name: str) -> None:
        """A long text, which ends the one before."""
        if self.document(name):
            mine = self.long_text = object()
            self.where = name
            self.is_moved = False
            go_on = lambda _: self.long_text is mine  # noqa: E731
            work = self.session.continue_long(self.uri(name), self.cursor(name), go_on)
            self.spawn(work, "long text")

    def do_next_edit(self, name: str) -> None:
        if self.document(name):
            self.spawn(self.session.next_edit(self.uri(name)), "next edit")

    def do_question(self, name: str, about: str) -> None:
        """A question, about a place where the cursor is not."""
        if document := self.document(name):
            self.spawn(self._question(document, about), "question")

    async def _question(self, document: Document, about: str) -> None:
        named = types.TextDocumentIdentifier(document.uri)
        top = types.Position(2, 4)
        match about:
            case "actions":
                context = types.CodeActionContext([])
                asked = types.CodeActionParams(named, types.Range(top, top), context)
                await server.code_action(self.editor, asked)
            case "why":
                place = {"line": top.line, "character": top.character}
                await commands.why(self.editor, {"uri": document.uri, "position": place})
            case "last":
                await commands.why(self.editor, {"uri": document.uri})
            case "context":
                await self.session.report(document.uri)
            case _:
                commands.status_now(self.editor, None)
                commands.stats(self.editor, None)
                commands.status(self.editor)

    def do_snooze(self, minutes: str) -> None:
        self.editor.forward(events.Snoozed(float(minutes)))

    def do_wait(self) -> None:
        pass

    # What is on disk.

    def do_save(self, name: str) -> None:
        if document := self.document(name):
            self.put(name, "".join(document.lines))
            self.gone.discard(name)
            self.editor.forward(events.Saved(document.uri))

    def do_delete(self, name: str) -> None:
        (self.folder / FILES[name]).unlink(missing_ok=True)
        self.gone.add(name)
        self.changed(deleted=(name,))

    def do_ends(self, name: str) -> None:
        """The files have other line ends, from the beginning."""
        self.ends = {"crlf": "\r\n", "lf": "\n"}[name]
        for each in FILES:
            self.put(each, text_of(each).replace("\n", self.ends))

    def do_ignore(self, name: str) -> None:
        self.ignored ^= {name}
        rules = "".join(f"{Path(FILES[each]).name}\n" for each in sorted(self.ignored))
        self.put("one/.gitignore", rules)
        self.changed("one/.gitignore")

    def do_rules(self) -> None:
        """The rules are touched, and as they were."""
        self.changed("one/.gitignore")

    def do_before(self, name: str) -> None:
        """The project excludes a file before the session begins."""
        self.excluded = {name}
        self._exclude()

    def do_exclude(self, name: str) -> None:
        self.excluded ^= {name}
        self.do_settings("mended")

    def do_settings(self, how: str) -> None:
        """The project's settings are half written, gone, or whole."""
        path = f"one/{PROJECT_FILE}"
        if how == "gone":
            self.excluded = set()
            self.is_broken = False
            (self.folder / path).unlink(missing_ok=True)
            self.changed(deleted=(path,))
            return
        self.is_broken = how == "broken"
        if self.is_broken:
            self.put(path, "[privacy\nexclude = [")
        else:
            self._exclude()
        self.changed(path)

    def _exclude(self) -> None:
        names = ", ".join(f'"{Path(FILES[each]).name}"' for each in sorted(self.excluded))
        self.put(f"one/{PROJECT_FILE}", f"[privacy]\nexclude = [{names}]\n")

    def do_folders(self, names: str) -> None:
        self.roots = tuple(map(self.uri, names.split(",")))
        self.opened |= {*self.roots}
        self.editor.open_folders(self.roots)

    # What the client sets, and the server.

    def do_set(self, what: str) -> None:
        completion, ring, backend, state = (
            self.settings[k] for k in ("completion", "ring", "backend", "state")
        )
        if what == "auto":
            completion["auto"] = not completion.get("auto", True)
        elif what == "ring":
            ring["chunks"] = 16 - ring.get("chunks", 16)
        elif what == "save":
            state["save"] = not state["save"]
        else:
            backend["url"] = f"http://127.0.0.1:{what}"
        self.do_pull()

    def do_pull(self) -> None:
        self.editor.sources.say("workspace/didChangeConfiguration", None)
        self.editor.configure()
        self.editor.later(self.editor.pull(), "pull")

    def do_gone(self) -> None:
        self.machine.is_gone = True
        if self.server.machine is self.machine:
            self.server.end()

    def do_sick(self) -> None:
        """It fails at each prompt, and is there for who connects."""
        self.do_gone()
        self.machine.is_gone = False
        self.machine.is_sick = True

    def do_back(self) -> None:
        self.machine.is_gone = self.machine.is_sick = False
        self.true_at = asyncio.get_running_loop().time()

    def do_context(self, n: str) -> None:
        is_used = self.server.machine is self.machine
        self.server.is_other |= is_used and self.machine.n_ctx != int(n)
        self.machine.n_ctx = int(n)

    def do_model(self, name: str) -> None:
        self.do_gone()
        self.machine.model = name
        self.do_back()

    async def do_restart(self) -> None:
        """The user saves all and starts the editor again."""
        again = [self.name(uri) for uri in self.session.documents]
        for name in again:
            self.do_save(name)
        await self.end()
        await self.stop_process()
        self.begin()
        for name in again:
            self.do_open(name)


# What each kind of step is said with: F is a file that is open.
KINDS = {
    "open": "F", "close": "F", "key": "F x|sum|line|paren|return", "backspace": "F", "above": "F",
    "rename": "F 0|2|4|6|8", "move": "F 0.3|0.5|0.9|0.7$", "ask": "F hand|typing",
    "cancel": "", "report": "shown|accepted|dismissed", "yank": "F",
    "instruct": "F ahead|first|first|again|more", "long": "F", "next_edit": "F",
    "question": "F actions|why|last|context|counts",
    "snooze": "0|1", "wait": "", "save": "F", "delete": "F", "ignore": "b|c", "rules": "",
    "exclude": "b|c", "settings": "broken|gone|mended", "folders": "one|one,two|two",
    "set": "auto|ring|save|1|2", "pull": "", "gone": "", "sick": "", "back": "",
    "context": "500|2048|2048", "model": "fake|other", "restart": "",
}  # fmt: skip
# A story takes two of these, so that a few kinds of steps meet often (swarm testing).
THEMES = (
    "rules ignore exclude delete save close open yank",
    "settings exclude settings exclude pull folders key",
    "rename rename rename next_edit next_edit rules ignore",
    "set pull set ask folders rules",
    "gone sick back context model wait key ask",
    "move move wait backspace",
    "cancel ask ask report instruct instruct question snooze backspace",
    "instruct instruct long key cancel ask",
    "restart folders close open save wait set",
)
ALWAYS = "key key ask ask ask ask move move above above"


# What meets where it matters, one soon after the other: H may be private, S is short.
MEETINGS = (
    "ask F hand S; ignore H S; ask F hand 4.0", "ask F hand S; exclude H S; ask F hand 4.0",
    "close H 4.0; ask F hand 4.0; exclude H S; ask F hand S; open H S",
    "close H S; ignore H S; move F 0.3 4.0; ask F hand 4.0",
    "ignore H S; open H S; ask H hand S; ignore H S; ask H hand 4.0",
    "delete H S; rules S; ask F hand S; close H S; ask F hand 4.0",
    "settings broken S; ask F hand S; settings mended S; ask F hand 4.0",
    "folders two S; ask F hand S; folders one S; ask F hand 4.0",
    "move F 0.5 1.2; move H 0.5 S; above H S; move F 0.3 4.0",
    "ask H hand S; above H S; key H x S; ask H typing S", "close H S; open H S; ask H hand S",
    "instruct H first S; instruct H first S; key H x S; instruct H again S",
    "gone S; ask F hand S; back S; move F 0.3 4.0", "sick S; move F 0.3 4.0; back S; ask F hand S",
    "set 1 S; ask F hand S; set 2 S; ask F hand 4.0",
    "set auto S; set ring S; set auto S", "move F 0.3 4.0; gone S; wait 4.0; back 4.0",
    "ask F hand 45.0; restart S; ask F hand S",
    "ask F hand 45.0; set save S; ask F hand 4.0", "ask F hand 4.0; set save S; set save 45.0",
    "rules S; ask F typing S; key F sum S; rename F 2 S",
    "move F 0.5 4.0; ask F hand S; exclude H S; ask F hand 4.0",
    "key H x S; move F 0.3 4.0; above F S; ask F hand S; ignore H S",
    "move H 0.5 S; move F 0.9 1.2; ignore H S; ask F hand 4.0",
    "ask H hand S; ask F hand S; restart S; ask H hand 4.0", "key H x S; ask F typing S; restart S",
    "rules S; restart S; ask F hand 4.0", "move F 0.5 S; move H 0.9 S",
    "exclude H S; exclude H S; ask F hand 4.0", "exclude H S; settings gone S; key F x 4.0",
)  # fmt: skip
SOON = PAUSES[:4]


def draw_story(rng: random.Random) -> list[str]:
    """Return a story in a few documents."""
    mine = rng.sample("abc", 2) + ["d"] * (rng.random() < 0.3)
    first, second = (theme.split() for theme in rng.sample(THEMES, 2))
    story = [f"before {rng.choice('bc')} 0"] * (rng.random() < 0.1)
    story += [f"open {name} {rng.choice(PAUSES[:4])}" for name in mine[: rng.choice((1, 2, 2))]]
    kinds = [*ALWAYS.split(), *first, *first, *second]
    n = len(story) + rng.randrange(4, 16)
    while len(story) < n:
        if rng.random() < 0.3:
            story += _draw_meeting(rng, mine, {step.split()[1] for step in story})
        else:
            story.append(_draw(rng, rng.choice(kinds), mine))
    return story


def _draw_meeting(rng: random.Random, mine: list[str], known: set[str]) -> Iterator[str]:
    may_hide, other = rng.sample(mine[:2], 2)
    if may_hide == "a":
        may_hide, other = other, may_hide
    yield from (f"open {name} 0.2" for name in (may_hide, other) if name not in known)
    for step in rng.choice(MEETINGS).split("; "):
        *words, pause = step.replace("H", may_hide).replace("F", other).split()
        yield " ".join((*words, str(rng.choice(SOON)) if pause == "S" else pause))


def _draw(rng: random.Random, kind: str, mine: list[str]) -> str:
    chosen = (rng.choice(mine if a == "F" else a.split("|")) for a in KINDS[kind].split())
    return " ".join((kind, *chosen, str(rng.choice(PAUSES))))


# What leaves no trace: P is a pause. Steps behind `=` are in both runs.
EXCURSIONS = (
    "rules P", "pull P", "set auto P; set auto P", "folders one,two P; folders one P",
    "settings broken P; settings mended P",
    "context 500 0.5; = ask F hand 3; context 2048 12; = ask F hand 3",
    "gone 0.5; = ask F hand 3; back 12; = ask F hand 3", "gone 0.5; back 12; = ask F hand 3",
    "sick 0.5; = ask F hand 3; back 12; = ask F hand 3",
    "snooze 10 P; snooze 0 P",
    "question F actions P", "question F why P", "question F last P", "question F context P",
    "question F counts P",
)  # fmt: skip
# What is the same text, and the same place, another way.
EQUALS = (
    ("= open F 0.2; = move F 0.7$ 4; key F x 0.2; backspace F 0.2; move F 0.3 1; move F 0.7$ 1;"
    " = ask F typing 4"),
    ("ends crlf 0; = open F 0.2; = ask F hand 4; = key F sum 0.2; = ask F typing 4;"
    " = instruct F first 4; = rename F 2 0.2; = key F return 0.5; = ask F hand 4; = move F 0.3 4"),
)  # fmt: skip
