"""Private files are refused, by name and by place, whatever lies in between."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest

from fim_lsp.context.privacy import (
    IGNORE_FILES,
    FolderRules,
    Repository,
    enter,
    is_installed,
    originals,
    outermost,
    why_refused,
)
from fim_lsp.settings.config import SECRETS

pytestmark = pytest.mark.promise("private-files")

EXCLUDES = (".env*", "*.pem", "secrets/", "!.env.example", "/only/top.py")
FILES = {
    "/w": {
        ".gitignore": b"*.log\nbuild/\n/top.py\nlocal/*\n!local/keep.py\nkept.py\n",
        ".fimignore": b"private/\n*.gen.py\n!kept.py\n",
    },
    "/w/pkg": {".gitignore": b"!special.log\ninner.py\n!*.gen.py\n", ".fimignore": b"!a.gen.py\n"},
    "/w/sub": {".gitignore": b"!own.log\nown.py\n"},
}
REPOSITORIES = {
    "/w": Repository(
        rules=(
            (".git/info/exclude", b"mine.py\n!*.log\n"),
            ("core.excludesFile", b"*.swp\nmine.c\n"),
        ),
        others=(("another core.excludesFile", b"perhaps.py\n"),),
    ),
    "/w/sub": Repository(fold=True),
}


def why(
    path: str,
    excludes: Collection[str] = EXCLUDES,
    *,
    root: str = "/w",
    temporary: str = "/tmp",
    files: Mapping[str, Mapping[str, bytes]] = FILES,
) -> str:
    """Return why a file must stay private, by what is in the folders above it."""
    *folders, name = path.encode("utf-8", "surrogateescape").strip(b"/").split(b"/")
    here = outermost(excludes)
    at = ""
    for folder in folders:
        at += f"/{folder.decode('utf-8', 'surrogateescape')}"
        around = REPOSITORIES.get(at) if files else None
        known = FolderRules(files.get(at, {}), around, at == root, at == temporary)
        here = enter(here, folder, known)
    return why_refused(here, name)


REFUSED = {
    "/w/a.py": "",
    "/w/a.log": "it matches .gitignore",
    "/w/pkg/special.log": "",
    "/w/pkg/inner.py": "it matches .gitignore",
    "/w/inner.py": "",
    "/w/build/x/y.py": "it matches .gitignore",
    "/w/top.py": "it matches .gitignore",
    "/w/pkg/top.py": "",
    "/w/local/keep.py": "",
    "/w/local/other.py": "it matches .gitignore",
    "/w/mine.py": "it matches .git/info/exclude",
    "/w/pkg/mine.c": "it matches core.excludesFile",
    "/w/perhaps.py": "it matches another core.excludesFile",
    # what one kind of file ignores, the other does not take back
    "/w/private/x.py": "it matches .fimignore",
    "/w/kept.py": "it matches .gitignore",
    "/w/pkg/b.gen.py": "it matches .fimignore",
    "/w/pkg/a.gen.py": "",
    # a repository in it is judged by both
    "/w/sub/own.py": "it matches .gitignore",
    "/w/sub/OWN.py": "it matches .gitignore",
    "/w/sub/own.log": "",
    "/w/sub/other.log": "it matches .gitignore",
    "/w/sub/b.gen.py": "it matches .fimignore",
    # excludes count everywhere, from the root of the workspace down
    "/w/.env.local": "it matches fim.privacy.exclude",
    "/w/.env.example": "",
    "/w/deep/key.pem": "it matches fim.privacy.exclude",
    "/w/deep/KEY.PEM": "it matches fim.privacy.exclude",
    "/w/deep/secrets/x.py": "it matches fim.privacy.exclude",
    "/w/only/top.py": "it matches fim.privacy.exclude",
    "/w/pkg/only/top.py": "",
    "/elsewhere/.env": "it matches fim.privacy.exclude",
    "/only/top.py": "it matches fim.privacy.exclude",
    "/elsewhere/a.log": "",
    "/w/caf\udce9.log": "it matches .gitignore",
    "/w/back\\slash.log": "it matches .gitignore",
}


@pytest.mark.parametrize("path", REFUSED)
def test_a_path_is_refused_for_one_reason(path: str) -> None:
    """Ignore files count from their folder down, excludes everywhere."""
    assert why(path) == REFUSED[path]


SECRET = """
.env .ENV .env.local .Env.Production .env~ .envrc .env.example prod.env .env/x .dev.vars .bash_history .zsh_history
.python_history .psql_history ConsoleHost_history.txt .netrc _netrc .npmrc .pypirc .pgpass .git-credentials .gitconfig
.git .git/config .git/COMMIT_EDITMSG .git/hooks/pre-commit sub/.git server.pem SERVER.PEM server.key cert.crt keys.p12 keys.pfx a.jks
a.keystore pass.kdbx a.gpg a.asc secret.age id_rsa id_rsa.pub id_ed25519 ID_RSA id_ecdsa_work ssh_host_rsa_key .ssh/config
.gnupg/secring.gpg .password-store/a.txt .aws/credentials .aws/config .azure/x .kube/config kubeconfig prod.kubeconfig
.docker/config.json deep/.docker/config.json .config/gcloud/application_default_credentials.json home/.config/gh/hosts.yml
.cargo/credentials.toml a/.cargo/credentials credentials credentials.json aws-credentials.yml credentials.yml.enc
terraform.tfvars prod.tfvars.json terraform.tfstate terraform.tfstate.backup .terraformrc .vault-token .vault_pass.txt
secrets.yaml prod.secrets.yml secrets.toml my-service-account-1.json client_secret_2.json master.key .htpasswd .my.cnf
.env.swp ..env.swp .#.env #.env# .env.bak .env.orig .env.save .env.tmp .env.un~ .env.~1~ %home%u%.env !home!u!.env~
server.pem~ .server.pem.swp .server.key.swo server.pem.bak #server.pem# .#server.pem server.key.old server.pem.orig~
.id_rsa.swp id_rsa~ .credentials.json.swp credentials.json.bak credentials~ terraform.tfvars~ .terraform.tfvars.un~
.netrc~ .npmrc.bak .server.pem.kate-swp server.pem___jb_tmp___ server.pem___jb_old___ ~$server.pem ._server.pem
.#server.pem.bak~ server.pem::$DATA server.pem. kubeconfig.bak
.config/sops/age/keys.txt .terraform.d/credentials.tfrc.json .kaggle/kaggle.json .cache/huggingface/token
.config/glab-cli/config.yml .config/hub .config/doctl/config.yaml .fly/config.yml .config/solana/id.json .config/weechat/sec.conf
.config/hcloud/cli.toml .config/stripe/config.toml .config/op/config .config/ngrok/ngrok.yml .codex/auth.json .authinfo
token.json .flaskenv passwords.txt google-services.json .sentryclirc .config/github-copilot/apps.json .smbcredentials
"""
ORDINARY = """
a.py env.py environment.ts keyboard.py monkey.key.ts credentials.py src/credentials/x.py Credentials/Provider.cs
secrets.py git.py config.json docker/config.json npmrc.md history.ts vault_passthrough.go kubeconfig.go a.py~ .a.py.swp
#a.py# key.c pem.rs id.py .gitignore .gitattributes .github/workflows/x.yml aws/x.py token.ts password.tsx locales/en/auth.json tokens.json passwords.py huggingface/token.py
a.py.bak main.rs.orig ssh/config.go settings.xml tfvars.go service_account.py __init__.py .editorconfig
"""


def test_names_that_hold_secrets_are_refused() -> None:
    """In both cases, in any folder, inside a workspace and outside, and as an editor's copy."""
    for path in SECRET.split():
        for place in ("/w/", "/w/src/deep/", "/home/u/"):
            assert why(place + path, SECRETS, files={}) == "it matches fim.privacy.exclude", path
        assert why("/w/" + path.upper(), SECRETS, files={}), path


@pytest.mark.parametrize("path", ["/w/auth.json", "/w/AUTH.json"])
def test_names_that_hold_secrets_in_the_folder_of_the_project(path: str) -> None:
    """Below it they are as often texts of a program."""
    assert why(path, SECRETS, files={}) == "it matches fim.privacy.exclude"


def test_names_of_source_code_are_not() -> None:
    """A name that is as often code says nothing."""
    for place in ("/w/", "/home/u/"):
        assert {name for name in ORDINARY.split() if why(place + name, SECRETS, files={})} == set()


@pytest.mark.parametrize("root", ["/home/u/.ssh", "/home/u/.AWS/sso", "/w/.kube/x"])
def test_a_workspace_in_a_folder_of_secrets_has_nothing_to_show(root: str) -> None:
    """An editor may take the folder of a file for the workspace."""
    assert why(root + "/config", SECRETS, root=root) == "it matches fim.privacy.exclude"
    assert why(root + "/config", (*SECRETS, "!.ssh/", "!.aws/", "!.kube/"), root=root) == ""
    assert why("/w/notes/x/a.py", ("notes/",), root="/w/notes/x", files={}) == ""


NEVER = """
/proc/self/environ /sys/x /dev/shm/pass.AbC/entry.txt /dev/stdin /etc/passwd /etc/nixos/configuration.nix /ETC/hosts
/run/user/1000/gopass/x /run/secrets/x /var/run/x /var/spool/cron/root /var/mail/u /private/etc/hosts
/private/var/run/x /Library/Keychains/x /Users/u/Library/Keychains/x /c:/Windows/System32/drivers/etc/hosts /var/tmp/hosts.AbCdEf12 /var/tmp/sudoersXX.conf
/home/u/.ansible/tmp/ansible-local-1/tmpab.yml /tmp/pass.XXXXXXXXXXXXX/entry.txt /tmp/gopass-edit123/secret
/tmp/sops123/x.yaml /tmp/1234567890/values.yaml /tmp/bash-fc.AbCdEf /tmp/bash-fc-123 /tmp/crontab.AbC/crontab
/tmp/crontab.AbCdEf /tmp/kubectl-edit-123.yaml /tmp/oc-edit-x.yaml /tmp/mutt-host-1000-1-2 /tmp/neomutt-host-1 /tmp/zshAbCdEf
/tmp/zshAbCdEf.zsh /tmp/fish.AbCdEf/command-line.fish /tmp/tmpab12cd34 /tmp/tmpab12cd34.yml /tmp/tmp.AbCdEfGhIj
/tmp/ansible-local-12/x.yml /tmp/psql.edit.42.sql /tmp/sqlAbCdEf /tmp/PASS.abc/x /tmp/chezmoi-edit/x
"""
PERMITTED = """
/home/u/etc/passwd /w/proc/x.py /w/dev/shm.py /srv/run/x.py /run/media/u/drive/x.py /tmp/a.py /tmp/pytest-of-u/pytest-0/x0/a.py
/tmp/tmpab12cd34/a.py /tmp/tmp.AbCdEfGhIj/a.py /tmp/2026-plans/a.py /tmp/x/pass.py /var/tmp/build/a.py /home/u/pass.x/a.py
/home/u/sops/main.go /home/u/1234/a.py /device/a.py /etcetera/a.py
"""


def test_places_of_the_system_are_never_shown() -> None:
    """With a workspace there, above it, or with none; others are permitted, which look like them."""
    for path in (*NEVER.split(), *PERMITTED.split()):
        for root in ("/w", path.rpartition("/")[0], "/none"):
            reason = why(path, (), root=root, files={})
            assert ("system" in reason) if path in NEVER.split() else reason == "", path


def test_a_copy_has_the_names_of_what_it_is_a_copy_of() -> None:
    """Marks of several editors come off one after the other; an ordinary name has no other."""
    assert list(originals(b".bak")) == []
    assert list(originals(b"..env.swp")) == [b"..env", b".env"]
    assert list(originals(b".#a.bak~"))[-1] == b"a"
    assert len(list(originals(b"~" * 250))) <= 4


@pytest.mark.parametrize(
    ("path", "is_public"),
    [
        ("/usr/lib/python3.11/argparse.py", True),
        ("/usr/lib/python3/argparse.py", True),
        ("/home/u/.venv/lib/python3.11/site-packages/httpx/_api.py", True),
        ("/home/u/x/node_modules/react/index.js", True),
        ("/home/u/.cargo/registry/src/x/lib.rs", True),
        ("/home/u/go/pkg/mod/x/y.go", True),
        ("/home/u/site-packages", False),
        ("/home/u/pkg/x.go", False),
    ],
)
def test_installed_packages_are_known_by_their_folders(path: str, is_public: bool) -> None:
    """Public code by nature, where an editor goes for a definition."""
    assert is_installed(path.encode()) == is_public


def test_an_odd_pattern_does_not_void_the_others() -> None:
    """A line that matches nothing is left out, in ignore files and in excludes."""
    assert why("/w/a.log", ("[", "!", "///", "\ud800", "*.log", "a\\"))
    assert why("/w/a.py", ("[", "!", "///", "\ud800", "*.log", "a\\")) == ""


@pytest.mark.parametrize("path", ["/w/cafe\u0301/a.py", "/w/cafe\u0301.py", "/w/x/cafe\u0301.py~"])
def test_a_letter_and_its_accent_are_one_for_our_rules(path: str) -> None:
    """A name that macOS wrote, and a rule that was typed: git compares bytes."""
    rules = "caf\u00e9/\ncaf\u00e9.py*\n"
    by_file = {name: {"/w": {name: rules.encode()}} for name in IGNORE_FILES}
    assert why(path, rules.split())
    assert why(path, (), files=by_file[".fimignore"])
    assert not why(path, (), files=by_file[".gitignore"])
