"""Secrets are found and blotted out; ordinary code is left alone."""

from __future__ import annotations

import random
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.context.secrets.scan import BLOT, looks_secret, scrub_text

pytestmark = pytest.mark.promise("secrets-are-replaced")

_RNG = random.Random(4)


def made(length: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    """Random key material; not a literal, so that scanners of this repository stay quiet."""
    return "".join(_RNG.choices(alphabet, k=length - 2)) + "a7"


HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + "234567"
KEYS = {
    "aws": "AK" + "IA" + made(16, UPPER).upper(), "github": "gh" + "p_" + made(36),
    "github fine": "github" + "_pat_" + made(82), "gitlab": "gl" + "pat-" + made(20),
    "slack": "xo" + "xb-123456789012-" + made(24), "stripe": "sk" + "_live_" + made(24),
    "google": "AI" + "za" + made(35),
    "jwt": "ey" + "J" + made(20) + ".ey" + "J" + made(30) + "." + made(43),
    "openai": "s" + "k-proj-" + made(48),
    "hugging face": "h" + "f_" + made(34, string.ascii_letters), "npm": "np" + "m_" + made(36),
    "digitalocean": "do" + "p_v1_" + made(64, HEX),
    "sendgrid": "S" + "G." + made(22) + "." + made(43),
}  # fmt: skip
LINES = {
    "quoted": f'password = "{made(14)}"', "typed": f'API_KEY: Final[str] = "{made(32, HEX)}"',
    "json": f'"client_secret": "{made(24)}",', "yaml": f"  db_password: {made(16)}",
    "dotenv": f"export SECRET_TOKEN={made(20)}", "ruby": f":auth_token => '{made(20)}'",
    "header": f'"Authorization: Bearer {made(32)}"',
    "url": f"postgres://admin:{made(10)}@db.example.org/x",
    "aws": f"aws_secret_access_key = {made(40)}",
    "kennwort": f"wawi.kennwort={made(5)}&{made(4)}", "mqtt": f'client.username_pw_set("a", "{made(9)}")',
    "odbc": f'"Uid=reader;Pwd={{{made(4)};{made(6)}}};Encrypt=yes"', "wifi": f"WIFI:T:WPA;S:home;P:{made(12)};;",
    "over lines": f'ldapsearch -x -H ldaps://dc \\\n  -D "CN=a,DC=b" \\\n  -w {made(12)}',
    "app": 'FASTLANE_APPLE_APPLICATION_SPECIFIC_PASSWORD = "mlmw-maos-fcih-lhau"',
    "comment": f"# If it locks, log in with MKELLER / {made(9)} and reset.",
    "prose": f"You can sign in as `demo` with `{made(12)}`, which is reset",
    "codes": f'recovery_codes = ["{made(4, HEX)}-7{made(3, HEX)}", "x"]',
    "code": f"unlock code: K7-{made(4, HEX)}-{made(4, HEX)}",
    "webhook": f'post("https://alerts.example.org/hooks/{made(24)}")',
}  # fmt: skip
CLEAN = [
    '"mask_token": "[MASK]",', '<input name="_token" value="<?= csrf_token() ?>">', "password=a&b=c",
    "log in with Google and Apple2go", "if password=foo&remember=1:",
    'recovery_code = request.form["code"]', "unlock_code = get_code2()", "backup_codes = 10",
    '"https://example.org/webhooks/stripe-payment-succeeded-handler"',
    "token = tokens[idx]", "password = getpass.getpass('Password: ')",
    'api_key: str = "your-api-key-here"',
    "def authenticate(self, token: str, secret_key: bytes | None = None) -> bool:",
    "self.access_key = os.environ['AWS_ACCESS_KEY_ID']",
    'author = "Jane Doe <jane@example.org>"',
    "commit = '5f2a9c3e1b7d4f60a8c2e4d6b8f0a1c3e5d7f901'",
    "url = 'https://example.org:8080/path@2'", "TOKEN_TYPES = {'Bearer', 'Basic'}",
    "tokenizer = AutoTokenizer.from_pretrained(model_name)",
    'const USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";',
    'wallet_address = "bc1qxy2kgdygjrsqtzq2n0yrf2493p83kkfjhx0wlh"',
    "client-certificate-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSURJVENDQWdtZ0F3SUJBZ0lJ",
]  # fmt: skip
PASSWORDS = [
    "P@$$w0rd-9x", "!Qaz2wsx3", "x{9Kp}2mQ", "a&B7-c9!d", "Adm1n$hop", "@dm1nShop", "k(12)Cd9",
]  # fmt: skip
REFERENCES = [
    "$DB_PASSWORD_2", "${DB_PASS2}", "$(pass db2)", "prefix-$PASS2", "{password2}", "{{ db2 }}",
    "%(pass2)s",
    "%PASS2%", "<password2>", "!Ref", "@annotation", "*alias2", "settings::PASS2", "get_pass2()",
    "[A-Z0-9]{8}",
    "jane2@example.org", "0xDEADBEEF", "2024-01-15T10:20",
]  # fmt: skip
KEY_BLOCKS = {
    "whole": (
        "-----BEGIN RSA " + "PRIVATE KEY-----\n", "-----END RSA " + "PRIVATE KEY-----\n", "{}\n",
    ),
    "without its end": ("-----BEGIN " + "PRIVATE KEY-----\n", "", "{}\n"),
    "without its beginning": ("", "-----END " + "PRIVATE KEY-----\n", "{}\n"),
    "indented": ("  k: |\n    -----BEGIN " + "PRIVATE KEY-----\n", "", "    {}\n"),
    "escaped, without its end": ('{"k": "-----BEGIN ' + "PRIVATE KEY-----\\n", '"}\n', "{}\\n"),
    "joined lines": ('k = ("-----BEGIN ' + 'PRIVATE KEY-----\\n"\n', ")\n", '    "{}\\n"\n'),
}  # fmt: skip
MNEMONIC = "anchor velvet cradle bishop ember tunnel orbit lantern quilt harbor drift meadow"
OVER_LINES = {
    "the rest in a shell": (f'TOKEN="{made(40)}\\\n@"', f"U/{made(20)}+"),
    "the rest in YAML": (f"api_key: >-\n  {made(40)}\n  @\n", made(36)),
    "the name above": ('PRIVATE = (\n    "@"\n)', made(64, HEX)),
    "words below what they are": ("# backup phrase\n@\n", MNEMONIC),
    "words in a call": ('await restore("@", path)', MNEMONIC),
    "a pipe": ("echo '@' | sudo -S ls", "Vio1et?EGQH7#"),
}


@pytest.mark.parametrize(("text", "secret"), OVER_LINES.values(), ids=OVER_LINES)
def test_what_tells_may_stand_in_another_line(text: str, secret: str) -> None:
    """Or behind the secret; the lines stay as many."""
    scrubbed = scrub_text(text.replace("@", secret))
    assert secret not in scrubbed
    assert scrubbed.count("\n") == text.count("\n")


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_random_values_assigned_to_telling_names_are_blotted(line: str) -> None:
    """A value with entropy next to a word such as password is a secret, in any syntax."""
    assert BLOT in scrub_text(line)


# Places where only a password stands, for a word that a user chose; and words that a sign joins.
CHOSEN = """
DB_PASSWORD=@@
export PGPASSWORD=@@
  MYSQL_ROOT_PASSWORD: @@
  - MYSQL_ROOT_PASSWORD=@@
DB_PASSWORD ?= @@
spring.datasource.password=@@
-Djavax.net.ssl.keyStorePassword=@@
mysql -u root -p@@ shop
mysqldump --password=@@ shop
wget --http-password @@ --quiet
keytool -storepass @@ -keypass changeit
openssl rsa -passin pass:@@ -in a
curl -u admin:@@ https://x
rclone obscure @@
enable secret @@
machine host login me password @@
localhost:5432:shop:app:@@
[smtp.harbour.example]:587    office@harbour.example:@@
Server=db;Database=shop;User Id=app;Password=@@;
CREATE USER 'app'@'%' IDENTIFIED BY '@@';
CREATE ROLE app LOGIN PASSWORD '@@';
username: shop¶  password: @@
storePassword "@@"
page.fill("#password", "@@")
fill_in "Password", with: "@@"
driver.find_element(By.ID, "password").send_keys("@@")
smtp.login("me@example.com", "@@")
lösenord: @@
# wachtwoord: @@  (vraag Els)
USUARIO = "nomina"¶CLAVE = "@@"
password = "tortilla.sin.@@"
'mot_de_passe' => '@@-purée',
<wachtwoord>@@-naar-zee</wachtwoord>
password: @@-naar-zee
jwtSecret: "@@-och-kaffe",
gpg --passphrase "seven quiet @@ borrow the ladder" x
the password is **@@-Curling-9**
[client]¶password = @@
wifi:¶  ssid: Hut¶  password: @@
account x¶host smtp.example.org¶user bob¶password @@
mysql_root_password: @@
DB2_PASSWD = @@
ENV JENKINS_PASS @@
psql "host=db user=app password=@@ dbname=shop"
vault kv put secret/db user=app pass=@@
helm install pg x --set auth.postgresPassword=@@
PASSWORD: ${DB_PASSWORD:-@@}
#define WIFI_PASS "@@"
user.set_password("@@")
os.environ.get("DB_PASSWORD", "@@")
flag.String("password", "@@", "")
'password' => Hash::make('@@'),
new NetworkCredential("bob", "@@");
$conn = new mysqli("h", "bob", "@@", "x");
base64.b64encode(b"bob:@@")
plink -ssh pi@h -pw @@ ls
machine m login bob port 993 password @@
// staging password is @@
# le mot de passe est @@
// login: bob / @@
| User | Password |¶|---|---|¶| bob | @@ |
usuario,contraseña¶bob,@@
{"args": ["--password", "@@"]}
- value: @@¶  name: MYSQL_PASSWORD
app.secret_key = "my @@ is orange"
jwt.sign({ id }, '@@', { expiresIn: '1h' });
host smtp.x.example¶user bob¶password       sechs @@ am Meer
{password, <<"Moosbeere-@@">>}
[14:03] mirjam: user staging, wachtwoord is @@33
// credenziali: utente demo, password @@&Limone
The login is¶qa@barnacle.app / @@ - please
COPY a (id, pass, at) FROM stdin;¶1	@@	2021
INSERT INTO u (id, pass) VALUES¶(1, '@@');
export RESTIC_PASSWORD="drei Nuesse fuer @@"
weboptions('Username','messnetz','Password','Pegel_@@5');
gc_pass TYPE string VALUE '@@#2016'.
User	PW¶me	@@
("libera" nickserv "fenwick" "@@")
""".strip().split("\n")
NO_CHOICE = """
password: "auth.errors.blank"
password: "login.form.field"
password: "mdi-eye-off-outline"
password = "current-password"
"password": "Contraseña"
"wachtwoord": "Wachtwoord vergeten"
contrasena.etiqueta=Contraseña
contrasena.repetir=Repite la contraseña
"passwordConfirm" = "パスワード(確認)";
password: lock-open-outline
password: SecretStr
# Second-pass fixers (e.g., one runs after the other).
the --password option is read
password: optional
update_password: on_create
'password' => 'required'
'password' => env('PW', ''),¶'collation' => env('X', 'utf8mb4_unicode_ci'),
passThroughOnException: 'passThroughOnException',
userpass.encode("ascii")
strcmp(pwd, "allow")
.password("Enter your password")
jwt.verify(token, key, 'EdDSA')
{"token": credentials, "scopes": x}
identified by the first argument
// the password is required
* Password Flow
Password: ask Peter
API_KEY = "my-key"
File.join(Dir.pwd, 'rubocop_cache')
contextKey("session")
 5c7b2e1a9f8d3c4b6a7e8f9d0c1b2a3948576655 vendor/auth-tokens (heads/main)
100644 blob 83db48f1b2c3d4e5f60718293a4b5c6d7e8f9012	src/auth.py
"v=DKIM1; k=rsa; "¶"p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAI7rKHOsR6O7maXuhjfUVumVu8MX0rICSKVVwvedYp3lZRlvaGy4FG"¶"l7AfBxdtO66UNEig3pIoJaQrrxBZcbHjgmxOx3kznNlyFh4w9Qsa7ZnDJ6WJvGzV0cRxXQkZyURmxZc5c7lnT10fCHEtdHfz"
"passwordHelper": "8文字以上で入力してください"
aws_access_key_id = AKIAIOSFODNN7EXAMPLE
encryptedData:¶  password: AgCk3v9xQz0mWc7bT5nR1yLpXa8fVd2h
/* NIST SP 800-38A */¶const char *key = "2b7e151628aed2a6abf7158809cf4f3c";
# secp256k1¶Gx = 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798
<v-text-field v-model="password" :type="show ? 'text' : 'password'"/>
W _ZN4auth13PasswordStore10hash_valueERKNSt7__cxx1112basic_stringIcSt11
[FEN "r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5Q2/PPPP1PPP/RNB1K1NR b KQkq - 3 3"]
--password PASSWORD
token = require('plugin.completion.brackets.semantic')
""".strip().split("\n")


@pytest.mark.parametrize("line", CHOSEN)
def test_a_word_is_a_password_where_only_one_can_stand(line: str) -> None:
    """In commands, settings, SQL and forms; a word joined to others is one under a clear name."""
    text = line.replace("¶", "\n")
    assert "sonnenblume" not in scrub_text(f"\n{text}\n".replace("@@", "sonnenblume"))


@pytest.mark.parametrize("line", NO_CHOICE)
def test_a_label_is_no_password(line: str) -> None:
    """Names of texts, icons and fields, and what a user reads about passwords."""
    text = "\n" + line.replace("¶", "\n") + "\n"
    assert scrub_text(text) == text


@pytest.mark.parametrize("line", CLEAN)
def test_ordinary_code_about_secrets_is_left_alone(line: str) -> None:
    """Names, look-ups, prose and hashes are not secrets."""
    assert scrub_text(line) == line


COLOURS = (
    "#038B8B", "#038b8bcc", "italic #A3AAB2", "bold bg:#1c1c1c #A3AAB2", "1px solid #9aF",
    "bg:#e3d2d2 #a61717 noinherit", "0 0 0.5em #0003",
)  # fmt: skip
TYPES = (
    "Token.Comment",
    "Token.Keyword",
    "Token.Name.Lvalue",
    "tokenColor",
    "password",
    "secret_key",
)


@pytest.mark.parametrize(
    "line", ['{}: "{}",', "{} = '{}'", "    '{}': '{}'", "{}: {};", "--{}: {};"]
)
def test_a_colour_is_no_secret_whatever_its_name(line: str) -> None:
    """Alone, or with words, sizes and other colours, as styles of pygments and of CSS have them."""
    texts = [line.format(name, colour) for name in TYPES for colour in COLOURS]
    assert [text for text in texts if looks_secret(text)] == []


@pytest.mark.parametrize("value", ["#038B8Bx7", "#A3AAB2#k9Q", "x9 #A3AAB2Z7!", "#xA3AAB2q"])
def test_a_password_may_begin_like_a_colour(value: str) -> None:
    """A sign and a few digits make no colour of it."""
    assert value not in scrub_text(f'password = "{value}"')


@pytest.mark.parametrize("password", PASSWORDS)
def test_a_password_may_hold_any_sign(password: str) -> None:
    """Also those that references, templates and patterns are made of."""
    assert scrub_text(f'password = "{password}"') == 'password = "REDACTED"'


@pytest.mark.parametrize("value", REFERENCES)
def test_a_reference_is_no_secret(value: str) -> None:
    """What stands for another value says nothing by itself."""
    assert scrub_text(f'password = "{value}"') == f'password = "{value}"'


@pytest.mark.parametrize(("begin", "end", "line"), KEY_BLOCKS.values(), ids=KEY_BLOCKS)
def test_private_keys_go_line_by_line(begin: str, end: str, line: str) -> None:
    """Every line of the key goes, the line count stays, also when one end of it is out of sight."""
    key = [made(64) for _ in range(6)]
    block = "a = 1\n" + begin + "".join(line.format(each) for each in key) + end + "b = 2"
    text = scrub_text(block)
    assert text.count("\n") == block.count("\n")
    assert not any(each in text for each in key)
    assert text.startswith("a = 1\n")
    assert text.endswith("\nb = 2")


@pytest.mark.parametrize("kind", ["CERTIFICATE", "PUBLIC KEY", "PGP PUBLIC KEY BLOCK"])
@pytest.mark.parametrize("line", ["{}\n", "    {}\n", '"{}\\n"\n'])
def test_what_is_public_in_pem_stays(kind: str, line: str) -> None:
    """
    A certificate and a public key look like key material, and their marks say that they are none.
    """
    lines = [f"-----BEGIN {kind}-----", *(made(64) for _ in range(6)), f"-----END {kind}-----"]
    text = "x = 1\n" + "".join(map(line.format, lines))
    assert scrub_text(text) == text


def test_a_value_of_any_length_goes_whole() -> None:
    """Also behind the part of it that is judged."""
    for line in (
        f'client_secret = "{made(3000)}"',
        f"CLIENT_SECRET={made(3000)}",
        "gh" + f"p_{made(900)}",
    ):
        assert len(scrub_text(line)) < 40


def test_this_repository_is_clean() -> None:
    """Few false alarms on real code: none in our own sources."""
    root = Path(__file__).parents[2]
    files = [p for folder in ("fim_lsp", "server_bridge") for p in (root / folder).rglob("*.py")]
    assert [p.name for p in files if looks_secret(p.read_text("utf-8"))] == []


@given(st.text())
def test_blotting_keeps_the_lines_and_ends(text: str) -> None:
    """Any text: line breaks are kept, and what was blotted once is clean."""
    blotted = scrub_text(text)
    assert blotted.count("\n") == text.count("\n")
    assert not looks_secret(blotted)
