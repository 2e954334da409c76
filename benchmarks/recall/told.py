# ruff: noqa: ANN001, ANN002, ANN201, ANN202, ANN204, ARG002, B023, B905, BLE001, E401, E731, F401, I001, PLC0415, PLW2901, RUF005
# mypy: ignore-errors
"""
Recall with and without what another language server tells (`fim/context`), as it was measured once.

    python -m benchmarks.recall.told jedi 12 16 LIBRARIES REPO…    # pip install jedi
    python -m benchmarks.recall.told name 8 16 "" REPO…

The number of commits, the chunks of the ring, folders with libraries separated by commas, and histories. `jedi` finds
definitions in Python: `lib` are those in libraries alone, `strict` has of these what the hover of pyright says. `name`
takes the best definition of a name in the workspace.
"""

import re, sys, tempfile, time, random
from collections import Counter, defaultdict
from pathlib import Path
from benchmarks.git import name_of
from benchmarks.recall import ring as ring_module
from benchmarks.recall.history import Commit, History, Type
from benchmarks.recall.replay import CHARS_PER_TOKEN, _Player, _words
from benchmarks.recall.ring import DrivenRing
from fim_lsp.context.chunks import Source, read_server_text
from fim_lsp.context.definitions import read_syntax
from fim_lsp.context.grammars import language_of
from fim_lsp.documents import split

NAMES, LONGEST, ASKED, ABOVE, BELOW, IN_VIEW, LINES = 6, 1000, 256, 3, 1, 50, 16
VARIANTS = ("", "lib", "lib strict", "own", "strict")
NAME = re.compile(r"[A-Za-z_]\w{2,}")


def definition(lines):
    indent = lambda line: len(line) - len(line.lstrip())
    for n in range(1, min(len(lines), LINES)):
        if lines[n].strip() and indent(lines[n]) <= indent(lines[0]):
            return lines[:n]
    return lines[:LINES]


class Told(DrivenRing):
    def __init__(self, *a, ask, only="", every_line=True):
        self.only = only
        self.ask, self.every_line = ask, every_line
        self.asked = defaultdict(set)
        self.future = frozenset()
        self.n = Counter()
        ask.start(self)
        super().__init__(*a)

    def _write(self, path, text):
        super()._write(path, text)
        self.ask.write(path, text)

    def change_outside(self, path, lines):
        super().change_outside(path, lines)
        if lines is None:
            self.ask.write(path, None)

    def pieces(self, view, *, anchored):
        if self.every_line or anchored or (self._typed + 1) % ring_module.TURN_LINES == 0:
            self.tell(view)
        return super().pieces(view, anchored=anchored)

    def near(self, view):
        lines, here = self._documents[view.uri].lines, view.line - 1
        seen, found = self.asked[view.uri], []
        if len(seen) > ASKED:
            seen.clear()
        for distance in range(ABOVE + 1):
            for row in (
                [here - distance, here + distance] if 0 < distance <= BELOW else [here - distance]
            ):
                if 0 <= row < len(lines):
                    for match in NAME.finditer(lines[row][:LONGEST]):
                        if match[0] not in seen and len(found) < NAMES:
                            seen.add(match[0])
                            found.append((match[0], row, match.start()))
        return found

    def tell(self, view):
        document = self._documents[view.uri]
        pieces = []
        for name, row, column in self.near(view):
            self.n["asked"] += 1
            for source, text, start, *strict in self.ask.find(
                document, name, row, column, self.future, view
            ):
                if strict and "strict" in self.only:
                    text = strict[0]
                if source.uri == view.uri and abs(start - view.line) < IN_VIEW:
                    self.n["in view"] += 1
                    continue
                is_library = source.uri not in self._disk
                if (self.only.startswith("lib") and not is_library) or (
                    self.only == "own" and is_library
                ):
                    continue
                piece = read_server_text(source, text)
                self.n["told" if piece else "no piece"] += 1
                if source.uri not in self._disk:
                    self.n["of a library"] += 1
                if piece:
                    pieces.append(piece)
        if pieces:
            self.memory.note_server_pieces(pieces)


class ByName:
    """An upper bound: of the definitions of a name the one with most of the words that are typed later."""

    def start(self, ring):
        self.defs, self.texts = defaultdict(dict), {}

    def write(self, path, text):
        for name in [n for n, homes in self.defs.items() if path in homes]:
            del self.defs[name][path]
        self.texts.pop(path, None)
        if text is not None:
            self.texts[path] = tuple(split(text))
            for d in read_syntax(language_of(path), text).definitions:
                self.defs[d.name].setdefault(path, []).append((d.start, d.end))

    def find(self, document, name, row, column, future, view):
        best, most = None, -1
        for path, places in self.defs.get(name, {}).items():
            lines = self.texts[path]
            for start, end in places:
                if path == document.uri and abs(start - row) < IN_VIEW:
                    return
                text = "".join(lines[start : min(end, start + LINES)])
                n = len(_words(text) & future)
                if n > most:
                    best, most = (path, start, text), n
        if best:
            path, start, text = best
            lines = document.lines if path == document.uri else self.texts[path]
            yield Source(path, path, language_of(path), hash(lines), lines), text, start


class Jedi:
    def __init__(self, libs):
        import jedi

        self.jedi, self.libs = jedi, libs

    def start(self, ring):
        self.dir = tempfile.mkdtemp(prefix="told")
        import sysconfig

        stdlib = [sysconfig.get_paths()["stdlib"], sysconfig.get_paths()["platstdlib"]]
        roots = [self.dir] + ([self.dir + "/src"])
        self.project = self.jedi.Project(
            self.dir, sys_path=[*roots, *self.libs, *stdlib], smart_sys_path=False
        )
        self.ms = []

    def write(self, path, text):
        file = Path(self.dir, path)
        if text is None:
            file.unlink(missing_ok=True)
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def find(self, document, name, row, column, future, view):
        if document.language != "python":
            return
        began = time.process_time()
        try:
            script = self.jedi.Script(
                "".join(document.lines), path=Path(self.dir, document.uri), project=self.project
            )
            names = script.goto(row + 1, column, follow_imports=True)
        except Exception as e:
            print(repr(e)[:100], file=sys.stderr)
            return
        self.ms.append(time.process_time() - began)
        for found in names[:1]:
            if not found.module_path or not found.line:
                return
            path = Path(found.module_path)
            inside = path.is_relative_to(self.dir)
            uri = str(path.relative_to(self.dir)) if inside else "lib/" + "/".join(path.parts[-3:])
            if uri == document.uri:
                lines = document.lines
            else:
                lines = tuple(split(path.read_text("utf-8", "replace")))
            start = found.line - 1
            text = "".join(definition(lines[start : start + LINES + 1]))
            strict = text
            if not inside:
                try:
                    signatures = found.get_signatures()
                except Exception:
                    signatures = []
                if signatures:
                    text = (
                        ("class " if found.type == "class" else "def ")
                        + signatures[0].to_string()
                        + "\n"
                    )
                # as pyright's hover says
                is_call = document.lines[row][column + len(name) :].startswith("(")
                strict = (
                    text
                    if found.type == "function"
                    or (found.type == "class" and is_call and signatures)
                    else f"({found.type}) {name}\n"
                )
            yield Source(uri, uri, "python", hash(lines), lines), text, start, strict


def futures(steps):
    (
        out,
        later,
    ) = [frozenset()] * len(steps), {}
    for n in range(len(steps) - 1, -1, -1):
        step = steps[n]
        if isinstance(step, Commit):
            later = {}
        elif isinstance(step, Type):
            words = later.get(step.path, frozenset()) | _words(step.line)
            out[n] = later[step.path] = words
    return out


def run(steps, ring, files, future=None):
    player = _Player(ring, files)
    held = []
    for n, step in enumerate(steps):
        if future:
            ring.future = future[n]
        before = player.result.n_held
        player.play(step)
        if isinstance(step, Type):
            held.append(player.result.n_held - before)
    return player.result, held


def main():
    how, n_commits, sizes = sys.argv[1], int(sys.argv[2]), [int(x) for x in sys.argv[3].split(",")]
    libs = [x for x in sys.argv[4].split(",") if x]
    for repo in map(Path, sys.argv[5:]):
        history = History(repo, n_commits)
        steps, files = [*history.steps()], history.workspace()
        future = futures(steps)
        for size in sizes:
            n_chars = int(size * 250 * CHARS_PER_TOKEN)
            began = time.time()
            base, held = run(steps, DrivenRing(size, n_chars, files), files)
            out = f"| {name_of(repo)} | {how} | {base.n_lines} | {base.needed} | {size} | {base.tokens:.0f} | {base.recall:.4f} "
            ask = Jedi(libs) if how == "jedi" else ByName()
            cache = {}
            if how == "jedi":
                find = ask.find

                def cached(document, name, row, column, future, view):
                    key = (document.uri, name, row, column, hash(document.lines))
                    if key not in cache:
                        cache[key] = [*find(document, name, row, column, future, view)]
                    return cache[key]

                ask.find = cached
            for only in VARIANTS if how == "jedi" else ("",):
                ring = Told(size, n_chars, files, ask=ask, only=only)
                told, held2 = run(steps, ring, files, future)
                more = sum(max(0, b - a) for a, b in zip(held, held2))
                less = sum(max(0, a - b) for a, b in zip(held, held2))
                out += f"| {only or 'all'}: {told.tokens:.0f} | {told.recall:.4f} | +{more} -{less} | {dict(ring.n)} "
            print(out + f"| {time.time() - began:.0f} s |", flush=True)


if __name__ == "__main__":
    main()
