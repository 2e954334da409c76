"""What several folders of tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models import of_family


@pytest.fixture(scope="session")
def unusual_models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """
    Return the bundled model's weights with other vocabularies.

    `sentencepiece` is in the manner of CodeLlama: a space before every text, characters in bytes. `plain` has no tokens
    for a gap, and `chat` has those of ChatML instead.
    """
    folder = tmp_path_factory.mktemp("unusual")
    families = {"sentencepiece": "codellama", "plain": "plain", "chat": "chat"}
    return {
        kind: of_family(folder / f"fim-tiny-{kind}.gguf", name) for kind, name in families.items()
    }
