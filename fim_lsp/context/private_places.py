"""
Places and names that are private whatever a repository or a workspace says. Pure data, and names.

Patterns are those of gitignore(5), from the root of the file system, or from a folder of temporary files.
Letters match in both cases.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

NEVER = (
    "/proc/", "/sys/", "/dev/", "/etc/", "/run/*", "!/run/media/",  # drives are mounted in the last
    "/var/run/", "/var/spool/", "/var/mail/", "/var/backups/",
    "/private/etc/", "/private/var/run/", "/private/var/db/", "**/Library/Keychains/",  # macOS
    "/System/Volumes/Data/private/", "/?:/Windows/",
    # Files by their original names, as sudoedit copies them.
    "/var/tmp/*", "!/var/tmp/*/", "/usr/tmp/*", "!/usr/tmp/*/",  # noqa: S108 (patterns)
    "/private/var/tmp/*", "!/private/var/tmp/*/",
    "**/.ansible/tmp/",  # ansible-vault's
)  # fmt: skip
"""Folders of the system and of its users' sessions; a workspace in one of them has no suggestions."""

TEMPORARY = (
    # A number is a folder of Go's: sops, kubectl. The others are mktemp's and Python's: a folder of
    # such a name may hold anything, a file is a text that a program lets its user edit.
    "/[0-9]*", "!/*[!0-9]*", "/tmp????????", "/tmp????????.*", "/tmp.*", "!/tmp*/",  # noqa: S108
    "/pass.*", "/passage.*", "/gopass*", "/lpass*", "/keepass*", "/sops*", "/chezmoi*", "/agenix*",
    "/eyaml_edit*", "/ansible-local-*", "/ansible-tmp-*", "/*-edit-*", "/*-edit.*",  # kubectl, oc, …
    "/bash-fc*", "/zsh??????", "/zsh??????.*", "/fish.*", "/crontab.*", "/crontab*/", "/sudo*", "/vipw*",
    "/EdP.*", "/mutt-*", "/neomutt-*", "/aerc*", "/alpine*", "/pico.*", "/psql.edit.*", "/sql??????",
    "/screen-exchange", "/krb5cc*", "/ssh-*", "/gpg-*",
)  # fmt: skip
"""What programs write for an editor, or keep to themselves, in a folder of temporary files."""

_COPY = re.compile(
    rb"(?:~|\.~\d{1,9}|#|\.sw[a-z]|\.un|\.kate-swp|___jb_(?:tmp|old)___"
    rb"|\.(?:bak|backup|old|orig|save|tmp|temp|new|rej|part|copy))\Z",
    re.IGNORECASE,
)
_BEFORE = re.compile(rb"\.#|#|~\$|\._|.*[%!]", re.DOTALL)
_ROUNDS = 4  # `.#.env.bak~` takes three


def originals(name: bytes) -> Iterator[bytes]:
    """
    The names that *name* may be a copy of: a backup, a swap or an undo file, or a lock, of an editor.

    What stands behind a colon, and dots and spaces at the end, are no part of a name on Windows.
    """
    if b":" in name or name[-1:] in (b".", b" "):
        name = name.partition(b":")[0].rstrip(b". ")
        yield name
    for _ in range(_ROUNDS):
        before, n_copies = _COPY.subn(b"", name)
        prefix = _BEFORE.match(before)
        after = before[prefix.end() :] if prefix else before
        if after in (name, b""):
            return
        name = after
        yield name
        if n_copies and name[:1] == b".":
            yield name[1:]  # vim's `.id_rsa.swp`
