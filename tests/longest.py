"""
The files that take longest, each by one worker of `scripts/test` or `scripts/test-editors`: begun first, so that no
worker is left alone with one.

pytest-xdist would begin with the files of many tests, most of which are quick: `--no-loadscope-reorder`.
"""

from __future__ import annotations

import pytest

# Of `scripts/test-editors`.
LONGEST_IN_EDITORS = (
    "tests/editors/test_menus.py", "tests/editors/test_vscode.py",
    "tests/editors/test_vscode_next_edit.py", "tests/editors/test_neovim.py",
    "tests/editors/test_vscode_growing.py", "tests/editors/test_vscode_edit.py",
    "tests/editors/test_vscode_commands.py",
    "tests/editors/test_vscode_walkthrough.py", "tests/editors/test_vscode_beside.py",
)  # fmt: skip
# By what they compute and wait, end of November 2026, the longest first: `scripts/test --durations=0` tells.
LONGEST = (
    "tests/lsp/test_rules_in_writing.py",  # eight minutes of waiting in scripts/test-security
    "tests/wire/test_memory.py", "tests/server_bridge/process/test_shared.py",
    "tests/cli/test_commands.py", "tests/e2e/test_watchdog.py",
    "tests/session/test_canary.py", "tests/session/test_convergence.py",
    "tests/e2e/test_next_edit.py", "tests/e2e/test_leaving.py",
    "tests/lsp/test_rule_files.py", "tests/e2e/test_rest.py",
    "tests/server_bridge/test_contract.py", "tests/wire/test_laws.py", "tests/e2e/test_windows.py",
    "tests/server_bridge/test_memories.py", "tests/server_bridge/llama/test_persistence.py",
    "tests/test_readers.py", "tests/test_patterns.py",
    "tests/server_bridge/llama/test_backend.py", "tests/benchmarks/test_tokens_per_key.py",
    "tests/e2e/test_restart.py", "tests/server_bridge/failover/test_order.py",
    "tests/workspace/test_ignore_files.py", "tests/workspace/test_syntax_process.py",
    "tests/session/test_session.py", "tests/test_starts.py", "tests/e2e/test_commands.py",
    "tests/e2e/test_unloading.py", "tests/e2e/test_settings.py", "tests/e2e/test_suggestions.py",
    "tests/e2e/test_limits.py", "tests/context/test_secrets_growing.py",
)  # fmt: skip


def begin_with_the_longest(items: list[pytest.Item]) -> None:
    """Sort *items* by file; what is in no such file stays in its order, behind them."""
    places = {name: at for at, name in enumerate(LONGEST_IN_EDITORS + LONGEST)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))
