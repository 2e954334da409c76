"""The Lua, commands and keys of the pages in a real Neovim: they have an effect, and no error."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from fim_lsp.cli import options
from tests.editors import programs
from tests.snippets import ROOT, SNIPPETS, Snippet, completed, each
from tests.test_snippets import check_settings

pytestmark = programs.needs("nvim")

# What a page's statement can change, as JSON at the end of start-up.
REPORT = """
local enabled, enable = {}, vim.lsp.enable
function vim.lsp.enable(name, ...)
  enabled[name] = true
  return enable(name, ...)
end
local function report()
  {check}
  local keys, servers = {}, {}
  for _, mode in ipairs({ 'i', 'n' }) do
    for _, map in ipairs(vim.api.nvim_get_keymap(mode)) do
      keys[mode .. ' ' .. map.lhs] = map.desc or map.rhs or 'a function'
    end
  end
  enabled.fim = enabled.fim or vim.lsp.config.fim ~= nil
  for name in pairs(enabled) do
    local config = vim.lsp.config[name] or { cmd = { 'none' } }
    servers[name] = { cmd = config.cmd, settings = config.settings, on = vim.lsp.is_enabled(name) }
  end
  return {
    fim = vim.g.fim, llama = vim.g.llama_config, keys = keys, servers = servers,
    statusline = vim.api.nvim_eval_statusline(vim.o.statusline, {}).str,
  }
end
vim.api.nvim_create_autocmd('VimEnter', { callback = function()
  local _, said = xpcall(report, tostring)
  said = type(said) == 'table' and said or { wrong = said }
  said.wrong = said.wrong or vim.v.errmsg
  vim.fn.writefile({ vim.json.encode(said) }, vim.env.HOME .. '/said.json')
  vim.cmd('qall!')
end })
"""
# Fragments of a table, and what they stand in; `…` stands for a key.
WRAPPED = (
    (r"\{ url = |\{\n", "local plugin = {}\nplugin.init()\nplugin.config({{ dir = '{root}' }})"),
    (r"\{ dir = ", "local plugin = {}\n{path}:append('{root}/editors/nvim')\nplugin:config()"),
    (r"%\{", "vim.o.statusline = [[x {}]]"),
    (r"fim = ", "vim.lsp.config('fim', {{ settings = {{ {} }} }})"),
    (r"keys = ", "vim.g.fim = {{ {} }}"),
    (r"trigger = ", "vim.g.fim = {{ keys = {{ {} }} }}"),
)  # fmt: skip
# As the plugin's types have them.
ALIAS = re.search(r"alias fim.Action (.*)", (ROOT / "editors/nvim/lua/fim/init.lua").read_text())
assert ALIAS is not None
ACTIONS = re.findall(r"'(\w+)'", ALIAS[1])


def start_neovim(home: Path, init: str, *, plugin: bool = True, check: str = "") -> dict[str, Any]:
    """Return what `REPORT` says of a Neovim that starts with *init*, and then runs *check*."""
    config = home / ".config/nvim"
    config.mkdir(parents=True, exist_ok=True)
    (config / "init.lua").write_text(REPORT.replace("{check}", check) + init)
    installed = home / ".local/share/nvim/site/pack/fim/start/fim"
    if plugin and not installed.exists():
        shutil.copytree(ROOT / "editors/nvim", installed)
    done = subprocess.run(
        [str(programs.program("nvim")), "--headless"], env=programs.environment(home), cwd=home,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), init
    said: dict[str, Any] = json.loads((home / "said.json").read_text())
    assert said.pop("wrong") == "", init
    return said


@each("lua")
def test_neovim_takes_a_setting(snippet: Snippet, tmp_path: Path) -> None:
    """It changes an option that the plugin knows, a key, or a server, whose settings there are."""
    code = completed(snippet, "'<F5>'")
    wrapping = next((around for begins, around in WRAPPED if re.match(begins, code)), "{}")
    is_plugin = not code.startswith("{")
    before = start_neovim(tmp_path, "", plugin=is_plugin)
    after = start_neovim(
        tmp_path,
        wrapping.format(code.strip(), root=ROOT, path="vim.opt.runtimepath"),
        plugin=is_plugin,
    )
    assert after != before
    fim = after.get("fim") or {}
    assert {*fim} <= {"keys", "filetypes_off", "ghost_text"}
    assert fim.get("ghost_text") in (None, "own", "builtin")
    for action, key in fim.get("keys", {}).items():
        assert action in ACTIONS
        if key and not action.startswith("edit_"):
            assert f"i {key}" in after["keys"], key
    for server in after["servers"].values():
        check_settings(server.get("settings") or {})
        assert options.parser().parse_args(server["cmd"][1:]).stdio


@each("minuet")
def test_neovim_reads_minuets_options(snippet: Snippet, tmp_path: Path) -> None:
    """As a part of a table; what is a function returns the key in the file that it names."""
    (tmp_path / "KEYFILE").write_text("a key\n")
    code = (
        f"local read = {{ {snippet.text} }}\nvim.g.llama_config = read.end_point or read.api_key()"
    )
    said = start_neovim(tmp_path, code)["llama"]
    assert said == "a key" or said.endswith("/v1/completions")


def test_neovim_has_what_pages_name(tmp_path: Path) -> None:
    """Functions and tables, commands, places of the help, and the key that the plugin maps."""
    lines = ["vim.cmd('helptags ALL')"]
    for snippet in SNIPPETS:
        if snippet.language == "lua name":
            lines.append(f"assert({snippet.text} ~= nil, {snippet.text!r})")
        elif snippet.language == "neovim command":
            lines.append(
                f"assert(vim.fn.exists({re.split('[ !]', command_of(snippet))[0]!r}) == 2)"
            )
            if snippet.text.startswith(":help"):
                lines.append(f"vim.cmd({snippet.text[1:]!r})")
    said = start_neovim(tmp_path, "vim.g.fim = { keys = {} }", check="\n".join(lines))
    assert said["keys"]["i <M-Bslash>"] == "fim: trigger"


def command_of(snippet: Snippet) -> str:
    """Return a command as `exists()` takes it, without a range."""
    return ":" + re.sub(r"^:('<,'>)?", "", snippet.text)


# What its page names, besides keys of its settings; `test_edit.py` presses those of an edit.
MAPPED = {"Alt+\\": "i <M-Bslash>", "gra": "n gra"}
OF_AN_EDIT = re.compile(r"^local KEYS = (.*)", re.MULTILINE)


def test_neovim_has_the_keys_of_its_page(tmp_path: Path) -> None:
    """Those that the plugin or Neovim maps, of an edit on screen, and of the settings."""
    texts = {s.text for s in SNIPPETS if s.page == "docs/editors/neovim.md" and not s.is_block}
    keys = {text for text in texts if re.fullmatch(r"<[\w-]+>|Alt\+.|g[a-z]{1,2}", text)}
    found = OF_AN_EDIT.search((ROOT / "editors/nvim/lua/fim/edit.lua").read_text())
    assert found is not None
    mapped = start_neovim(tmp_path, "vim.g.fim = { keys = { accept = '<Tab>' } }")["keys"]
    assert "i <Tab>" in mapped
    for key in keys - {*re.findall(r"'(.+?)'", found[1])} - {"<Tab>"}:
        assert MAPPED[key] in mapped
