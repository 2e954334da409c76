"""Settings and commands that earlier versions had, by name, with what to use instead. Pure."""

from __future__ import annotations

_VS_CODE = "`benchmarks.recorded` plays what VS Code records"

REMOVED = {
    "fim.backend.onBattery": "fim.suggestions and fim.completion.auto save more on a battery",
    "fim.commitMessage": "VS Code and plugins for git write commit messages",
    "fim.record": _VS_CODE,
    "fim.stopRecording": _VS_CODE,
    "fim.prompt.suffixTokens": "a quarter of fim.prompt.prefixTokens is shown below the cursor",
    "fim.completion.learn": 'fim.suggestions = "fewer" shows half as much wrong text, and a fixed'
    " fim.completion.debounceMs lets no dismissal delay the next suggestion",
}


class Notice(str):
    """A sentence about the settings that is no problem: nothing needs to be corrected."""

    __slots__ = ()


def describe_removed(name: str) -> str:
    """Return what the user is told of a removed setting or command."""
    return f"{name} is gone: {REMOVED[name]}"
