"""Secrets are found and blotted out; ordinary code is left alone."""

from __future__ import annotations

import random
import string
import timeit
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.context.secrets import BLOT, looks_secret, scrubbed

_RNG = random.Random(4)


def made(length: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    """Random key material; not a literal, so that scanners of this repository stay quiet."""
    return "".join(_RNG.choices(alphabet, k=length - 2)) + "a7"


HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + "234567"
KEYS = {
    "aws": "AK" + "IA" + made(16, UPPER).upper(),
    "github": "gh" + "p_" + made(36),
    "github fine": "github" + "_pat_" + made(82),
    "gitlab": "gl" + "pat-" + made(20),
    "slack": "xo" + "xb-123456789012-" + made(24),
    "stripe": "sk" + "_live_" + made(24),
    "google": "AI" + "za" + made(35),
    "jwt": "ey" + "J" + made(20) + ".ey" + "J" + made(30) + "." + made(43),
    "openai": "s" + "k-proj-" + made(48),
    "hugging face": "h" + "f_" + made(34, string.ascii_letters),
    "npm": "np" + "m_" + made(36),
    "digitalocean": "do" + "p_v1_" + made(64, HEX),
    "sendgrid": "S" + "G." + made(22) + "." + made(43),
}
LINES = {
    "quoted": f'password = "{made(14)}"',
    "typed": f'API_KEY: Final[str] = "{made(32, HEX)}"',
    "json": f'"client_secret": "{made(24)}",',
    "yaml": f"  db_password: {made(16)}",
    "dotenv": f"export SECRET_TOKEN={made(20)}",
    "ruby": f":auth_token => '{made(20)}'",
    "header": f'"Authorization: Bearer {made(32)}"',
    "url": f"postgres://admin:{made(10)}@db.example.org/x",
    "aws": f"aws_secret_access_key = {made(40)}",
}
CLEAN = [
    "token = tokens[idx]",
    "password = getpass.getpass('Password: ')",
    'api_key: str = "your-api-key-here"',
    "def authenticate(self, token: str, secret_key: bytes | None = None) -> bool:",
    "self.access_key = os.environ['AWS_ACCESS_KEY_ID']",
    'author = "Jane Doe <jane@example.org>"',
    "commit = '5f2a9c3e1b7d4f60a8c2e4d6b8f0a1c3e5d7f901'",
    "url = 'https://example.org:8080/path@2'",
    "TOKEN_TYPES = {'Bearer', 'Basic'}",
    "tokenizer = AutoTokenizer.from_pretrained(model_name)",
]


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_keys_of_known_issuers_are_blotted_wherever_they_stand(key: str) -> None:
    """The published formats are found in strings, comments and bare."""
    for line in (f'x = "{key}"', f"# {key} in a comment", key):
        assert looks_secret(line)
        assert key not in scrubbed(line)


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_random_values_assigned_to_telling_names_are_blotted(line: str) -> None:
    """A value with entropy next to a word such as password is a secret, in any syntax."""
    assert BLOT in scrubbed(line)


@pytest.mark.parametrize("line", CLEAN)
def test_ordinary_code_about_secrets_is_left_alone(line: str) -> None:
    """Names, look-ups, prose and hashes are not secrets."""
    assert scrubbed(line) == line


def test_a_private_key_goes_as_a_block_and_so_does_the_rest_of_one() -> None:
    """Every line of the key goes, the line count stays, also when the first line is out of sight."""
    key = [made(64) for _ in range(6)]
    block = ["-----BEGIN RSA " + "PRIVATE KEY-----", *key, "-----END RSA " + "PRIVATE KEY-----"]
    for lines in (["a = 1", *block, "b = 2"], [*key[2:], "b = 2"]):
        text = scrubbed("\n".join(lines))

        assert text.count("\n") == len(lines) - 1
        assert not any(line in text for line in key)
        assert text.endswith("\nb = 2")


def test_this_repository_is_clean() -> None:
    """Few false alarms on real code: none in our own sources."""
    root = Path(__file__).parents[2]
    files = [p for folder in ("fim_lsp", "server_bridge") for p in (root / folder).rglob("*.py")]

    assert [p.name for p in files if looks_secret(p.read_text("utf-8"))] == []


@given(st.text())
def test_blotting_keeps_the_lines_and_ends(text: str) -> None:
    """Any text: line breaks are kept, and what was blotted once is clean."""
    blotted = scrubbed(text)

    assert blotted.count("\n") == text.count("\n")
    assert not looks_secret(blotted)


def test_scanning_a_window_takes_little() -> None:
    """Five kilobytes of code, as much as a window holds, in some milliseconds, not seconds: ten times what is measured."""
    text = "\n".join(CLEAN * 10)

    assert min(timeit.repeat(lambda: scrubbed(text), number=1, repeat=10)) < 0.02 * len(text) / 5000
