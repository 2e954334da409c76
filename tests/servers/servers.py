"""How each model server is started, from an environment of its own, and what we are told of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.llama_server import free_port, llama_server
from tests.models import BUNDLED

ROOT = Path(__file__).parent.parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fim-lsp-test"
ENVIRONMENTS = CACHE / "servers"
TINY = ENVIRONMENTS / "fim-tiny"  # the bundled model in Hugging Face's layout
NAME = "qwen-tiny"
OTHER = "qwen-other"
KEY = "sk-right"
KEY_VARIABLE = "FIM_TEST_SERVER_KEY"
START_S = 300.0
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
CONTEXT = 4096


class NotRun(Exception):
    """The server cannot be run here; the message says why."""


class Place(NamedTuple):
    """
    Where a server runs: *behind* is the address of the llama-server of a proxy; *is_other*: with
    another model.
    """

    folder: Path
    port: int
    behind: str = ""
    is_other: bool = False

    @property
    def name(self) -> str:
        """What a proxy calls its model: its format is known by that."""
        return OTHER if self.is_other else NAME

    @property
    def saved(self) -> Path:
        """Where the llama-server behind a proxy saves what it evaluated."""
        folder = self.folder / "saved"
        folder.mkdir(exist_ok=True)
        return folder

    @property
    def gguf(self) -> Path:
        """The model's file."""
        if not self.is_other:
            return BUNDLED
        other = self.folder / f"{OTHER}.gguf"
        shutil.copy(BUNDLED, other)
        return other

    @property
    def hf(self) -> Path:
        """The model's folder, in Hugging Face's layout."""
        if not self.is_other:
            return TINY
        return shutil.copytree(TINY, self.folder / OTHER, dirs_exist_ok=True)


@dataclass
class Server:
    """
    One server; *package* has the version, *folder* the environment. *settings* are of
    `fim.backend`; *n_ctx* is the true context, 0 where there is none. *swaps*: it can be started
    with another model.
    """

    name: str
    package: str
    folder: str
    command: Callable[[Place], list[str]]
    settings: dict[str, Any] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    health: str = "/v1/models"
    n_ctx: int = CONTEXT
    is_proxy: bool = False  # of a llama-server
    has_key: bool = False
    swaps: bool = True

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
        self._is_other = False

    @property
    def settings(self) -> dict[str, Any]:
        """What we are told of it."""
        return {"kind": "openai", "url": self.url, **self.server.settings}

    def ensure(self) -> None:
        """Start it where it does not run, or has another model."""
        if self._process is None or self._process.poll() is not None or self._is_other:
            self.kill()
            self.start()

    def start(self, *, is_other: bool = False) -> None:
        """Start it, and wait until it answers."""
        self._is_other = is_other
        place = Place(self._folder, self.port, self._behind, is_other)
        command = [str(self.server.python), *self.server.command(place)]
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
    if server.is_proxy:
        saved = {"slot_save_path": f"{Place(folder, 0).saved}/"}
        with llama_server(BUNDLED, n_ctx=CONTEXT, n_parallel=1, **saved) as behind:
            yield from _run(Running(server, folder, behind))
    else:
        yield from _run(Running(server, folder, ""))


def _run(server: Running) -> Iterator[Running]:
    server.start()
    try:
        yield server
    finally:
        server.kill()


def _llama_cpp(place: Place) -> list[str]:
    settings = {"port": place.port, "n_ctx": CONTEXT, "n_parallel": 1, "api_keys": [KEY]}
    script = "from tests.llama_server import serve; serve({!r}, {!r})"
    return [
        "-c",
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
        + script.format(str(place.gguf), settings),
    ]


def _llama_cpp_python(place: Place) -> list[str]:
    options = ["--host", "127.0.0.1", "--port", str(place.port), "--api_key", KEY]
    options += ["--n_threads", "1", "--n_threads_batch", "1"]
    return ["-m", "llama_cpp.server", "--model", str(place.gguf), *options]


def _mlx(place: Place) -> list[str]:
    return ["-m", "mlx_lm", "server", "--model", str(place.hf), "--port", str(place.port)]


def _transformers(place: Place) -> list[str]:
    program = ["-m", "transformers.cli.transformers", "serve"]
    return [*program, "--port", str(place.port), "--host", "127.0.0.1"]


def _litellm(place: Place) -> list[str]:
    model = {
        "model": f"text-completion-openai/{NAME}",
        "api_base": f"{place.behind}/v1",
        "api_key": "none",
    }
    config = {
        "model_list": [{"model_name": place.name, "litellm_params": model}],
        "general_settings": {"master_key": KEY},
    }
    file = place.folder / "config.yaml"
    file.write_text(json.dumps(config))
    program = "import sys; from litellm import run_server; sys.exit(run_server())"
    return [
        "-c", program, "--config", str(file), "--port", str(place.port), "--host", "127.0.0.1"
    ]  # fmt: skip


def _hearth(place: Place) -> list[str]:
    program = "import sys; from hearth.cli import main; sys.exit(main())"
    options = {
        "--upstream": place.behind,
        "--cache-dir": str(place.saved),
        "--port": str(place.port),
    }
    return ["-c", program, "serve", *(word for option in options.items() for word in option)]


def _vllm(place: Place) -> list[str]:
    name = OTHER if place.is_other else "fim-tiny"
    options = {
        "--served-model-name": name, "--host": "127.0.0.1", "--port": str(place.port),
        "--dtype": "float32", "--max-model-len": str(CONTEXT), "--max-num-seqs": "8",
        "--block-size": "32", "--api-key": KEY,
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
    Server("llama.cpp, kind `llama-server`", "xllamacpp", "", _llama_cpp,
           {"kind": "llama-server", "apiKeyEnv": KEY_VARIABLE}, has_key=True),
    Server("llama.cpp, kind `openai`", "xllamacpp", "", _llama_cpp,
           {"apiKeyEnv": KEY_VARIABLE}, has_key=True),
    Server(
        "llama-cpp-python's server", "llama-cpp-python", "servers/llama-cpp-python",
        _llama_cpp_python, {"apiKeyEnv": KEY_VARIABLE},
        variables={"LLAMA_CPP_LIB_PATH": LIBRARIES, "LD_LIBRARY_PATH": LIBRARIES}, n_ctx=2048, has_key=True,
    ),
    Server("mlx_lm.server", "mlx-lm", "servers/mlx", _mlx, health="/health", n_ctx=0,
           variables={"HF_HUB_CACHE": "{folder}"}),
    Server("mlx_lm.server, without a Hugging Face cache folder", "mlx-lm", "servers/mlx", _mlx,
           {"model": str(TINY)}, {"HF_HUB_CACHE": "{folder}/none"}, health="/health", n_ctx=0),
    Server("LiteLLM in front of llama.cpp", "litellm", "servers/litellm", _litellm,
           {"apiKeyEnv": KEY_VARIABLE}, {"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
           "/health/liveliness", is_proxy=True, has_key=True),
    Server("transformers serve", "transformers", "servers/transformers", _transformers,
           {"model": str(TINY)}, health="/health", n_ctx=0, swaps=False),
    Server("hearth in front of llama.cpp, kind `llama-server`", "hearth-llm", "servers/hearth",
           _hearth, {"kind": "llama-server"}, health="/health", is_proxy=True, swaps=False),
    Server("vLLM for CPUs", "vllm-cpu", "vllm", _vllm, {"apiKeyEnv": KEY_VARIABLE}, VLLM,
           health="/health", has_key=True),
)  # fmt: skip
