"""Canaries: what is private stays out of prompts and of the page, whichever client shows it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fim_lsp.settings.config import BackendConfig
from server_bridge.protocol import Request
from tests.asked import requests_to
from tests.context.test_secrets import KEYS
from tests.http_server.clients import served, vim
from tests.typist import QUICK, faked, wait_explored

pytestmark = pytest.mark.promise("secrets-are-replaced")

MAIN = "from ship import freight\n\n\ndef price(weight):\n    return fre"


def canary(name: str) -> str:
    return (
        f"def freight_{name}(weight):\n    CANARY_{name} = weight * 7\n    return CANARY_{name}\n"
        * 2
    )


PRIVATE = {
    ".env": "FREIGHT=CANARY_env\nWEIGHT=CANARY_env2\nRATE=CANARY_env3\n",
    "ignored.py": canary("ignored"),
    "id_rsa": canary("key"),
    "drafts/plan.py": canary("draft"),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    public = {
        "main.py": MAIN,
        "ship.py": "def freight(weight):\n    fee = 3  # PUBLIC\n    return weight * fee\n",
        ".gitignore": "ignored*\n",
        ".fimignore": "drafts/\n",
    }
    for name, text in (public | PRIVATE).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def bodies(name: str, text: str) -> list[tuple[str, dict[str, Any]]]:
    """One text as every client would show it: without a name, with it, as part of its ring."""
    last = text.count("\n") - 1
    extra = [{"filename": name, "text": text}]
    spelled = f"<|file_sep|>{name}\n<|fim_prefix|>{text}<|fim_suffix|>\n<|fim_middle|>"
    ring = (
        f"<|file_sep|>{name}\n{text}<|file_sep|>main.py\n"
        f"<|fim_prefix|>{MAIN}<|fim_suffix|>\n<|fim_middle|>"
    )
    return [
        ("/infill", vim(text, last, 6)),
        ("/infill", vim(MAIN, 4, 14) | {"input_extra": extra}),
        ("/infill",
         {"input_prefix": "", "input_suffix": "", "prompt": "", "n_predict": 0,
          "input_extra": extra}),
        ("/v1/completions", {"prompt": text, "suffix": "\n"}),
        ("/v1/completions", {"prompt": spelled}),
        ("/v1/completions", {"prompt": ring}),
    ]  # fmt: skip


def main_with(typed: str) -> tuple[str, dict[str, Any]]:
    """Return a request at the end of main.py, where *typed* stands by now."""
    prompt = f"<|file_sep|>main.py\n<|fim_prefix|>{MAIN}{typed}<|fim_suffix|>\n<|fim_middle|>"
    return "/v1/completions", {"prompt": prompt}


@pytest.mark.parametrize("url", ["https://llm.example.org", ""])
async def test_private_files_reach_neither_the_model_nor_the_page(url: str, project, tmp_path):
    """
    Named, as part of a ring, and without a name where the model is elsewhere: what git or the user
    excludes is in no prompt, and on no page. On this machine a text without a name is in its own prompts only.
    """
    session = faked(replace(QUICK, backend=BackendConfig(url=url)))
    asked: list[Request] = requests_to(session.connection.backend)
    pages = []
    async with served(session, project, tmp_path / "cache") as at_port:
        for name, text in PRIVATE.items():
            for path, body in bodies(name, text):
                await at_port.post(path, body)
                pages.append((await at_port.client.get("/page/state")).text)
        await session.wait_idle()
        await at_port.post(*main_with("ight("))
        await session.wait_idle()
        await wait_explored(*(each.files for each in session._workspaces))
        await at_port.post(*main_with("ight(w"))
        pages.append((await at_port.client.get("/page/state")).text)
    named = "\n".join(str(each.prompt) for each in asked if url or each.prompt.path == "main.py")
    shown = "\n".join(pages if url else pages[-1:])
    assert "return" in named, "the model must have been asked"
    assert "CANARY" not in named
    assert "CANARY" not in shown
    assert str(tmp_path) not in named + "\n".join(pages)


@pytest.mark.promise("known-servers-only")
async def test_secrets_are_taken_out_of_texts_without_a_name(project: Path, tmp_path: Path) -> None:
    """A text that is in no file is not known as private, but what looks like a key is replaced."""
    session = faked()
    asked: list[Request] = requests_to(session.connection.backend)
    text = "".join(f"key_{n} = '{key}'\n" for n, key in enumerate(KEYS.values())) + "\ntotal = su"
    async with served(session, project, tmp_path / "cache") as at_port:
        await at_port.post("/infill", vim(text, text.count("\n"), 10))
        page = (await at_port.client.get("/page/state")).text
    prompts = "\n".join(str(request.prompt) for request in asked)
    assert "total" in prompts
    assert [key for key in KEYS.values() if key in prompts or key in page] == []
