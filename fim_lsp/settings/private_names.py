"""Names of files that hold secrets by convention: the default of `fim.privacy.exclude`. Data."""

# Gitignore patterns, in both cases: the union of what Zed and Continue leave out, without names that are as
# often source code (`credentials.py`). Editors' backups, swap and temporary files of these are private,
# too: `private_places.originals`.
SECRETS = (
    # environments and shells
    ".env*", "*.env", ".dev.vars*", ".*_history*", ".history", ".histfile", "*_history.txt", "fish_history",
    ".lesshst", ".viminfo*", ".netrc*", "_netrc*", ".curlrc", ".wgetrc", ".pgpass*", "pgpass.conf",
    ".flaskenv", ".my.cnf", ".mylogin.cnf", ".authinfo*", ".msmtprc", ".mbsyncrc", ".fetchmailrc", ".smbcredentials", ".htpasswd*", ".git-credentials", ".gitconfig", ".git", ".hg/", ".svn/",
    # keys and certificates
    "*.pem", "*.key", "*.crt", "*.cer", "*.cert", "*.der", "*.csr", "*.p8", "*.p12", "*.pfx", "*.jks",
    "*.keystore", "*.keytab", "*.kdb", "*.kdbx", "*.ovpn", "*.ppk", "*.gpg", "*.pgp", "*.asc", "*.age",
    "*.keychain", "*.keychain-db", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "ssh_host_*_key*", ".ssh/", ".gnupg/",
    ".password-store/", "**/.local/share/keyrings/", "**/sops/age/", "**/.config/solana/",
    # package managers
    ".npmrc*", ".yarnrc*", ".pypirc*", "**/.cargo/credentials*", "**/.m2/settings*.xml", "**/.composer/auth.json",
    "**/containers/auth.json", "/auth.json", "**/.codex/auth.json", "**/.gradle/gradle.properties", ".dockercfg", "**/.docker/config.json",
    # clouds and infrastructure
    ".aws/", ".azure/", ".gcloud/", ".kube/", ".oci/", ".fly/", ".kaggle/", ".terraform.d/", "**/.config/gcloud/",
    "**/.config/gh/", "**/.config/glab-cli/", "**/.config/hub", "**/.config/doctl/", "**/.config/hcloud/", "**/.config/stripe/",
    "**/.config/op/", "**/.config/ngrok/", "**/.config/netlify/", "**/.config/configstore/", "**/.config/github-copilot/",
    "**/.config/weechat/sec.conf", "**/huggingface/token", "**/huggingface/stored_tokens", ".sentryclirc", ".databrickscfg",
    ".s3cfg", ".boto", "rclone.conf", "kubeconfig", "kubeconfig.y*ml", "*.kubeconfig", "*.tfvars*", "*.tfstate*", ".terraformrc",
    "terraform.rc", ".vault-token", ".vault_pass*", "vault_pass", "vault_pass.*", "vault_password*", "local.settings.json",
    # credentials by name; a folder called so is source code
    "credentials", "!credentials/", "*credentials.json", "*credentials.y*ml*", "*credentials.toml",
    "*credentials.csv", "*credentials.xml", "secrets.json", "token.json",
    "passwords.txt", "google-services.json", "*secrets.y*ml*", "secrets.toml", "*.secret",
    "*.secrets", "*service-account*.json", "*service_account*.json", "client_secret*.json",
    "*firebase-adminsdk*.json",
)  # fmt: skip
