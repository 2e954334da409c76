"""How each model server is started, from an environment of its own, and what we are told of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.llama_server import free_port, llama_server
from tests.models import BUNDLED

ROOT = Path(__file__).parent.parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fim-lsp-test"
ENVIRONMENTS = CACHE / "servers"
TINY = ENVIRONMENTS / "fim-tiny"  # the bundled model in Hugging Face's layout
NAME = "qwen-tiny"  # what a proxy calls it: its format is known by that
KEY, KEY_VARIABLE = "sk-right", "FIM_TEST_SERVER_KEY"
START_S = 300.0
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
CONTEXT = 4096


class NotRun(Exception):
    """The server cannot be run here; the message says why."""


@dataclass
class Server:
    """
    One server; *command* of a folder, a port and, for a proxy, the address of the llama-server
    behind it. *package* has the version, *folder* the environment. *settings* are of `fim.backend`;
    *n_ctx* is the true context, 0 where there is none.
    """

    name: str
    package: str
    folder: str
    command: Callable[[Path, int, str], list[str]]
    settings: dict[str, Any] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    health: str = "/v1/models"
    n_ctx: int = CONTEXT
    behind: dict[str, Any] | None = None  # of the llama-server behind a proxy
    has_key: bool = False

    @property
    def python(self) -> Path:
        """Its Python. Raises NotRun where it was not installed."""
        python = CACHE / self.folder / "bin" / "python"
        if not self.folder:
            return Path(sys.executable)
        if not (CACHE / self.folder / "done").exists():
            raise NotRun(f"{self.package} could not be installed here")
        return python

    @property
    def version(self) -> str:
        """The version of its package."""
        script = f"import importlib.metadata as m; print(m.version({self.package!r}))"
        return subprocess.check_output([self.python, "-c", script], text=True).strip()


class Running:
    """A server at *url*, which can be killed and started again there."""

    def __init__(self, server: Server, folder: Path, behind: str) -> None:
        self.server = server
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._folder = folder
        self._behind = behind
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [
            str(self.server.python),
            *self.server.command(self._folder, self.port, self._behind),
        ]
        variables = {**os.environ, **OFFLINE, "HOME": str(self._folder), **self.server.variables}
        variables = {name: value.format(folder=self._folder) for name, value in variables.items()}
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                env=variables,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=self._folder,
            )
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self._process.poll() is None:
            asked = urllib.request.Request(self.url + self.server.health)
            asked.add_header("Authorization", f"Bearer {KEY}")
            with suppress(OSError):
                try:
                    urllib.request.urlopen(asked, timeout=5).close()
                except urllib.error.HTTPError as error:
                    if error.code >= 500:
                        raise
                return
            time.sleep(0.2)
        said = (self._folder / "server.log").read_text("utf-8", "replace")
        raise NotRun(f"it does not start: {said[-300:]}")

    def kill(self) -> None:
        """End it without a word."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, 9)
            self._process.wait()
            self._process = None


@contextmanager
def running(server: Server, folder: Path) -> Iterator[Running]:
    """A running server, with its llama-server behind it if it is a proxy."""
    if server.behind is not None:
        with llama_server(BUNDLED, n_ctx=CONTEXT, n_parallel=1, **server.behind) as behind:
            yield from _run(Running(server, folder, behind))
    else:
        yield from _run(Running(server, folder, ""))


def _run(server: Running) -> Iterator[Running]:
    server.start()
    try:
        yield server
    finally:
        server.kill()


def _llama_cpp(_: Path, port: int, __: str) -> list[str]:
    settings = {"port": port, "n_ctx": CONTEXT, "n_parallel": 1}
    script = "from tests.llama_server import serve; serve({!r}, {!r})"
    return [
        "-c",
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); " + script.format(str(BUNDLED), settings),
    ]


def _llama_cpp_python(_: Path, port: int, __: str) -> list[str]:
    options = ["--host", "127.0.0.1", "--port", str(port)]
    options += ["--n_threads", "1", "--n_threads_batch", "1"]
    return ["-m", "llama_cpp.server", "--model", str(BUNDLED), *options]


def _mlx(_: Path, port: int, __: str) -> list[str]:
    return ["-m", "mlx_lm", "server", "--model", str(TINY), "--port", str(port)]


def _transformers(_: Path, port: int, __: str) -> list[str]:
    return [
        "-m",
        "transformers.cli.transformers",
        "serve",
        "--port",
        str(port),
        "--host",
        "127.0.0.1",
    ]


def _litellm(folder: Path, port: int, behind: str) -> list[str]:
    model = {
        "model": f"text-completion-openai/{NAME}",
        "api_base": f"{behind}/v1",
        "api_key": "none",
    }
    config = {
        "model_list": [{"model_name": NAME, "litellm_params": model}],
        "general_settings": {"master_key": KEY},
    }
    (folder / "config.yaml").write_text(json.dumps(config))
    program = "import sys; from litellm import run_server; sys.exit(run_server())"
    return [
        "-c",
        program,
        "--config",
        str(folder / "config.yaml"),
        "--port",
        str(port),
        "--host",
        "127.0.0.1",
    ]


def _hearth(folder: Path, port: int, behind: str) -> list[str]:
    (folder / "hearth").mkdir(exist_ok=True)
    program = "import sys; from hearth.cli import main; sys.exit(main())"
    return [
        "-c",
        program,
        "serve",
        "--upstream",
        behind,
        "--cache-dir",
        str(folder / "hearth"),
        "--port",
        str(port),
    ]


def _vllm(_: Path, port: int, __: str) -> list[str]:
    options = {
        "--served-model-name": "fim-tiny", "--host": "127.0.0.1", "--port": str(port),
        "--dtype": "float32", "--max-model-len": str(CONTEXT), "--max-num-seqs": "8",
        "--block-size": "32",
    }  # fmt: skip
    flags = ["--enforce-eager", "--enable-prefix-caching", "--enable-prompt-tokens-details"]
    pairs = [word for option in options.items() for word in option]
    program = ["-m", "vllm.entrypoints.cli.main", "serve", str(CACHE / "vllm" / "fim-tiny")]
    return [*program, *pairs, *flags]


LIBRARIES = str(ENVIRONMENTS / "llama-cpp-python" / "llama")
VLLM = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
}
SERVERS = (
    Server("llama.cpp, kind `llama-server`", "xllamacpp", "", _llama_cpp, {"kind": "llama-server"}),
    Server("llama.cpp, kind `openai`", "xllamacpp", "", _llama_cpp),
    Server(
        "llama-cpp-python's server", "llama-cpp-python", "servers/llama-cpp-python",
        _llama_cpp_python,
        variables={"LLAMA_CPP_LIB_PATH": LIBRARIES, "LD_LIBRARY_PATH": LIBRARIES}, n_ctx=2048,
    ),
    Server("mlx_lm.server", "mlx-lm", "servers/mlx", _mlx, health="/health", n_ctx=0,
           variables={"HF_HUB_CACHE": "{folder}"}),
    Server("mlx_lm.server, without a Hugging Face cache folder", "mlx-lm", "servers/mlx", _mlx,
           {"model": str(TINY)}, {"HF_HUB_CACHE": "{folder}/none"}, health="/health", n_ctx=0),
    Server("LiteLLM in front of llama.cpp", "litellm", "servers/litellm", _litellm,
           {"apiKeyEnv": KEY_VARIABLE}, {"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
           "/health/liveliness", behind={}, has_key=True),
    Server("transformers serve", "transformers", "servers/transformers", _transformers,
           {"model": str(TINY)}, health="/health", n_ctx=0),
    Server("hearth in front of llama.cpp, kind `llama-server`", "hearth-llm", "servers/hearth",
           _hearth, {"kind": "llama-server"}, health="/health", behind={}),
    Server("vLLM for CPUs", "vllm-cpu", "vllm", _vllm, variables=VLLM, health="/health"),
)  # fmt: skip
