"""
vLLM on a CPU with the bundled model, and routers in front of several, as processes of their own.

They live in an environment of their own (scripts/tools/install-vllm; its Python is in FIM_TEST_VLLM). The model
is made there, in Hugging Face's layout, by this file run as a program:

    python -m deploy.tests.vllm_server MODEL.gguf FOLDER
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.llama_server import free_port

DEPLOY = Path(__file__).parent.parent
PYTHON = os.environ.get("FIM_TEST_VLLM", "")
START_S = 300.0  # 40 s on a machine that does nothing else
STOP_S = 20.0
MODEL = "fim-tiny"
ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
}
ROUTERS: Mapping[str, Sequence[str]] = {
    "vllm-router": ("-m", "vllm_router.launch_router"),
    "sglang-router": ("-m", "sglang_router.launch_router"),
}


def replica(
    port: int, *, block: int = 32, name: str = MODEL, keys: tuple[str, str] = ("", "")
) -> Running:
    """Return a replica with *block* tokens to a block of its cache, not waited for yet; *keys*: its own, another."""
    model = Path(PYTHON).parent.parent / MODEL
    command = ["-m", "vllm.entrypoints.cli.main", "serve", str(model), "--served-model-name", name]
    options = {
        "--host": "127.0.0.1", "--port": str(port), "--dtype": "float32", "--max-model-len": "4096",
        "--max-num-seqs": "8", "--block-size": str(block),
    }  # fmt: skip
    flags = ["--enforce-eager", "--enable-prefix-caching", "--enable-prompt-tokens-details"]
    flags += ["--long-prefill-token-threshold=128", "--middleware=other_key.OtherKey"]
    pairs = [word for option in options.items() for word in option]
    variables = {"PYTHONPATH": str(DEPLOY / "vllm")}
    if keys[0]:
        variables |= {"VLLM_API_KEY": keys[0], "OTHER_SERVER_KEY": keys[1]}
    return Running([PYTHON, *command, *pairs, *flags], f"http://127.0.0.1:{port}", variables)


def router(kind: str, policy: str, replicas: Sequence[Running], port: int, *more: str) -> Running:
    """One of `ROUTERS` in front of *replicas*, not waited for yet."""
    options = ["--host", "127.0.0.1", "--port", str(port), "--policy", policy]
    options += ["--prometheus-port", str(free_port())]
    urls = ["--worker-urls", *(replica.url for replica in replicas)]
    return Running([PYTHON, *ROUTERS[kind], *options, *more, *urls], f"http://127.0.0.1:{port}")


class Running:
    """A server that runs *command* and listens at *url*; it can be killed and started again there."""

    def __init__(
        self, command: Sequence[str], url: str, variables: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.url = url
        self._variables = variables
        self.command = list(command)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; see `wait`."""
        folder = Path(self.command[0]).parent.parent / "log"
        folder.mkdir(exist_ok=True)
        environment = {**os.environ, **ENVIRONMENT, **self._variables}
        with (folder / f"{self.url.rpartition(':')[2]}.log").open("wb") as log:
            self._process = subprocess.Popen(
                self.command, env=environment, stdout=log, stderr=log, start_new_session=True
            )

    def wait(self) -> None:
        """Until it is well."""
        assert self._process is not None
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self._process.poll() is None:
            with suppress(OSError), urllib.request.urlopen(self.url + "/health", timeout=1):
                return
            time.sleep(0.2)
        raise TimeoutError(f"{self.url} does not come up: {' '.join(self.command)}")

    def kill(self) -> None:
        """End it without a word, with the processes that it started."""
        self._end(9)

    def stop(self) -> None:
        """End it as its administrator would."""
        self._end(15)

    def _end(self, signal: int) -> None:
        if (process := self._process) is None:
            return
        self._process = None
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_S)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()


@contextmanager
def running(*servers: Running) -> Iterator[None]:
    """Started at the same time, all well; stopped in the end."""
    with ExitStack() as stack:
        for server in servers:
            stack.callback(server.stop)
            server.start()
        for server in servers:
            server.wait()
        yield


def make_model(source: Path, folder: Path) -> None:
    """A GGUF file in Hugging Face's layout, in 32 bits."""
    import torch  # noqa: PLC0415 (these come with vLLM)
    import transformers  # noqa: PLC0415
    from safetensors.torch import save_file  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    given: dict[str, Any] = {"gguf_file": source.name}
    model = transformers.AutoModelForCausalLM.from_pretrained(
        source.parent, dtype=torch.float32, **given
    )
    weights = {name: tensor.contiguous().clone() for name, tensor in model.state_dict().items()}
    if model.config.tie_word_embeddings:
        weights.pop("lm_head.weight", None)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config = model.config.to_dict()
    config.pop("quantization_config", None)
    config |= {"architectures": ["Qwen2ForCausalLM"], "dtype": "float32"}
    (folder / "config.json").write_text(json.dumps(config, indent=1, default=str), "utf-8")
    transformers.AutoTokenizer.from_pretrained(source.parent, **given).save_pretrained(folder)


if __name__ == "__main__":
    make_model(Path(sys.argv[1]), Path(sys.argv[2]))
