"""nginx without containers, as docs/scaling.md sets it up on the box of the model server."""

from __future__ import annotations

import re
import socket
import subprocess
from pathlib import Path

from deploy.tests.edge.nginx import edge
from deploy.tests.edge.upstream import Upstream
from tests.test_tidy import ROOT

PAGE = (ROOT / "docs/scaling.md").read_text("utf-8")


def test_it_starts_where_its_output_is_a_socket(tmp_path: Path, behind: Upstream) -> None:
    """As under systemd: with the page's own command, one server, and who asked in a file."""
    [command] = re.findall(r"^(sed -e .+) >/etc/nginx/nginx.conf$", PAGE, re.MULTILINE)
    box = tmp_path / "box"
    files = tmp_path / "files"
    box.mkdir()
    files.mkdir()
    with (box / "nginx.conf").open("wb") as made:
        subprocess.run(["sh", "-c", command], cwd=ROOT, stdout=made, check=True)
    text = (box / "nginx.conf").read_text("utf-8")
    assert re.findall(r"server (\S+:8012) ", text) == ["127.0.0.1:8012"]
    ours, its = socket.socketpair()
    with ours, its, edge(str(box), behind.address, files, stdout=its.fileno()) as front:
        assert front.ask("GET", "/health")[0] == 200
    assert "member=ada path=/health status=200" in (files / "access.log").read_text("utf-8")


def test_the_service_makes_the_tables_and_goes_on_to_look() -> None:
    """Its command is the script as the page installs it, with the files that nginx includes."""
    unit = (ROOT / "deploy/llama.cpp/fim-keys.service").read_text("utf-8")
    [command] = re.findall(r"^ExecStart=(.+)$", unit, re.MULTILINE)
    program, keys, table, how = command.split()
    assert f"install deploy/keys.sh {program}\n" in PAGE
    assert how == "watch"
    text = (ROOT / "deploy/llama.cpp/nginx.conf").read_text("utf-8")
    assert f"include {table};" in text
    assert Path(keys).parent == Path(re.findall(r"ssl_certificate_key (.+);", text)[0]).parent
