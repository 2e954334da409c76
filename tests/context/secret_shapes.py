"""
Shapes of secrets that the rules were written against: tokens, programs, configuration, key blocks.

`held_out_shapes` has a second set with another seed, other templates and other names.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.context.secret_maker import Maker, Shape, filled, rows
from tests.context.secret_tokens import ISSUERS

CARRIERS = (
    'client = Client("@@")',
    "# remember: @@",
    "@@",
    "curl -s https://api.example.org/v1 -d t=@@ -o out",
    "    - @@",
    '{"value":"@@","n":1}',
    "call('@@', retries=3);",
    "<li>@@</li>",
)

# (template, kind of value): assignments and calls in programs
PROGRAMS = """
pw8|password = "@@"
pw10|password = '@@'
pw16|PASSWORD = "@@"  # TODO: move to the vault
alnum32|API_KEY: Final[str] = "@@"
alnum20|    api_key="@@",
hex32|SECRET_KEY = b"@@"
hex40|auth_token = f"@@"
pw10|conn = psycopg2.connect(host="db1", user="app", password="@@")
pw10|db = connect("db1", passwd='@@', charset="utf8")
alnum40|os.environ["AWS_SECRET_ACCESS_KEY"] = "@@"
alnum32|token = os.getenv("SERVICE_TOKEN", "@@")
alnum32|token = os.environ.get('SERVICE_TOKEN', '@@')
alnum32|SECRET = SecretStr("@@")
pw16|if password == "@@":
pw10|session.auth = ("deploy", "@@")
pw10|auth=HTTPBasicAuth("deploy", "@@")
alnum32|headers = {"X-Api-Key": "@@"}
alnum40|headers = {"Authorization": "Token @@"}
alnum40|headers["Authorization"] = "Bearer @@"
alnum40|req.Header.Set("Authorization", "Bearer @@")
alnum40|xhr.setRequestHeader('X-Auth-Token', '@@');
alnum32|const apiKey = "@@";
alnum32|const API_KEY = `@@`
base36|let clientSecret = '@@';
alnum32|  apiKey: "@@",
alnum32|  'client_secret': '@@',
pw10|  password: '@@',
alnum32|export const TOKEN = process.env.TOKEN \\|\\| "@@";
alnum32|const token = process.env.API_TOKEN ?? '@@'
alnum32|this.accessToken = "@@";
alnum32|private readonly apiSecret: string = '@@';
alnum32|firebase.initializeApp({ apiKey: "@@", projectId: "shop" });
pw10|const pool = new Pool({ user: 'app', password: '@@', port: 5432 })
alnum32|let password: &str = "@@";
alnum32|const API_TOKEN: &'static str = "@@";
pw16|let secret = String::from("@@");
pw16|let db_password = "@@".to_string();
pw16|static PASSWORD: Lazy<String> = Lazy::new(\\|\\| "@@".into());
pw16|password: Some("@@".to_owned()),
hex64|let key_secret = r#"@@"#;
pw16|password := "@@"
pw16|var password string = "@@"
pw16|const dbPassword = "@@"
pw16|	Password: "@@",
alnum32|	cfg.ClientSecret = "@@"
alnum32|var apiKey = []byte("@@")
pw16|private static final String PASSWORD = "@@";
pw16|String dbPassword = "@@";
pw16|config.setPassword("@@");
pw16|dataSource.setPassword( "@@" );
pw16|.password("@@")
pw16|.withPassword("@@")
pw16|@Value("${db.password:@@}")
pw16|DriverManager.getConnection(url, "app", "@@"); // password
pw16|char[] password = "@@".toCharArray();
pw16|val password = "@@"
pw16|val password: String = "@@"
pw16|const val API_SECRET = "@@"
pw16|var password = "@@";
pw16|string password = @"@@";
pw16|public const string ClientSecret = "@@";
pw16|new NetworkCredential("deploy", "@@")
pw16|Password = "@@",
pw16|define('DB_PASSWORD', '@@');
pw16|define( "AUTH_KEY", "@@" );
pw16|$password = '@@';
pw16|$config['password'] = "@@";
pw16|'password' => '@@',
pw16|"password" => env('DB_PASSWORD', '@@'),
pw16|$db['default']['password'] = '@@';
pw16|new PDO($dsn, 'app', '@@'); // password
pw16|password: "@@"
pw16|:password => "@@",
pw16|config.secret_key_base = "@@"
pw16|ENV["DB_PASSWORD"] \\|\\|= "@@"
alnum32|@api_key = "@@"
pw16|const char *password = "@@";
pw16|char password[] = "@@";
pw16|#define WIFI_PASSWORD "@@"
pw16|static const char PASSWORD[32] = "@@";
pw16|std::string password{"@@"};
pw16|std::string secret("@@");
pw16|constexpr auto kApiKey = "@@";
pw16|NSString *password = @"@@";
pw16|let password = "@@"
pw16|let apiKey: String = "@@"
pw16|static let clientSecret = "@@"
pw16|final password = '@@';
pw16|local password = "@@"
pw16|password = [[@@]]
pw16|my $password = '@@';
pw16|password => q{@@},
pw16|config :app, password: "@@"
pw16|secret_key_base: "@@",
pw16|{:password "@@"}
pw16|(setq user-password "@@")
pw16|password <- "@@"
pw16|$Password = "@@"
pw16|$secure = ConvertTo-SecureString "@@" -AsPlainText -Force
pw16|$env:API_TOKEN = "@@"
pw16|CREATE USER app WITH PASSWORD '@@';
pw16|CREATE USER 'app'@'%' IDENTIFIED BY '@@';
pw16|ALTER ROLE app PASSWORD '@@'
pw16|SET PASSWORD = '@@'
alnum32|"token": "@@"
hex32|"key": "@@"
alnum32|\\"apiKey\\": \\"@@\\"
hex64|HMAC_KEY = bytes.fromhex("@@")
base64|ENCRYPTION_KEY = base64.b64decode("@@")
base64|signing_key = "@@"
alnum32|webhook_secret="@@"
pw10|assert login("deploy", password="@@").ok
pw10|DB_PASS = "@@"
pw10|    pw = "@@"
alnum20|credentials = "@@"
url48|SESSION_SECRET = "@@"
url48|app.secret_key = '@@'
hex40|GITHUB_CLIENT_SECRET = "@@"
hex32|DATADOG_API_KEY = "@@"
hex40|datadog_app_key: "@@"
alnum40|CLOUDFLARE_API_TOKEN = "@@"
hex32|FASTLY_API_TOKEN = "@@"
uuid|HEROKU_API_KEY = "@@"
hex32|TWILIO_AUTH_TOKEN = "@@"
alnum40|LINEAR_CLIENT_SECRET = "@@"
base64|azure_storage_key = "@@"
pw16|password = os.getenv("DB_PASSWORD") or '@@'
pw16|SECRET_KEY = env('SECRET_KEY', default='@@')
pw16|parser.add_argument('--password', type=str, default='@@')
pw16|@click.option("--password", envvar="DB_PASSWORD", default="@@")
pw16|    password: str = Field(default="@@")
alnum32|SECRET_KEY = (\\n    "@@"\\n)
pw16|password = '''@@'''
pw16|password = r\"\"\"@@\"\"\"
pw16|Dim password As String = "@@"
pw16|db, err := sql.Open("mysql", "app:@@@tcp(db1:3306)/shop")
letters|define('DB_PASSWORD', '@@');
salt|define('SECURE_AUTH_SALT', '@@');
salt|define( 'LOGGED_IN_KEY',    '@@' );
letters|password = getenv("X", "@@")
django|SECRET_KEY = '@@'
signs|password = "@@"
braces|password = "@@"
braces|conn = connect(user="app", passwd="@@")
dollar|password = "@@"
dollar|'password' => '@@',
"""

# configuration files, command lines, protocols
CONFIGURATION = """
pw16|Server=db1;Database=shop;User Id=app;Password=@@;
pw16|"Server=db1;Uid=app;Pwd=@@;Port=5432"
pw16|jdbc:sqlserver://db1:1433;user=app;password=@@;encrypt=true
alnum40|https://api.example.org/v1/items?api_key=@@&page=2
alnum40|https://api.example.org/v1/items?page=2&access_token=@@
base64|DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=@@;EndpointSuffix=core.windows.net
base64|Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccessKey=@@
base64|https://shop.blob.core.windows.net/c?sv=2022-11-02&sp=r&sig=@@
pw16|postgres://app:@@@db1:5432/shop
pw16|DATABASE_URL="postgresql+asyncpg://app:@@@db1/shop"
pw16|mongodb+srv://app:@@@cluster0.example.net/?retryWrites=true
pw16|redis://:@@@cache1:6379/0
pw16|amqp://app:@@@mq1//
pw16|mysql://app:@@@db1/shop
pw16|ftp://deploy:@@@files.example.org/
pw16|http_proxy=http://deploy:@@@proxy1:3128
alnum40|git clone https://@@@git.example.org/shop.git
alnum40|https://oauth2:@@@git.example.org/shop.git
alnum40|https://x-access-token:@@@git.example.org/shop.git
hex32|https://@@@o42.ingest.sentry.io/17
hex32|SENTRY_DSN=https://@@@o42.ingest.us.sentry.io/17
pw8|--password=@@
pw8|tool login --user deploy --password @@
alnum32|tool --token=@@ --verbose
alnum32|tool --api-key @@ list
pw16|mysql -h db1 -u app -p@@ shop
pw16|mysqldump -u app -p'@@' shop
pw16|sshpass -p @@ ssh deploy@host1
pw16|docker login -u deploy -p @@ registry.example.org
pw16|curl -u deploy:@@ https://api.example.org/
pw16|curl --user "deploy:@@" https://api.example.org/
alnum40|curl -H "Authorization: Bearer @@" https://api.example.org/
alnum40|curl -H 'X-Api-Key: @@' https://api.example.org/
alnum40|curl -H "PRIVATE-TOKEN: @@" https://git.example.org/
pw16|PGPASSWORD=@@ psql -h db1 shop
pw16|redis-cli -h cache1 -a @@ ping
pw16|openssl rsa -in k.enc -passin pass:@@
pw16|java -Djavax.net.ssl.keyStorePassword=@@ -jar app.jar
pw16|helm install shop ./chart --set db.password=@@
pw16|kubectl create secret generic db --from-literal=password=@@
pw16|ansible-playbook site.yml -e ansible_become_password=@@
pw16|docker run -e DB_PASSWORD=@@ shop:1.2
pw16|ENV DB_PASSWORD=@@
pw16|ENV DB_PASSWORD @@
alnum32|ARG NPM_TOKEN=@@
pw16|export DB_PASSWORD=@@
pw16|export DB_PASSWORD='@@'
alnum32|API_TOKEN=@@
alnum32|API_TOKEN="@@" # production
pw16|DB_PASSWORD=@@ # production
pw16|set DB_PASSWORD=@@
pw16|setx DB_PASSWORD @@
pw16|set -x DB_PASSWORD @@
pw16|setenv DB_PASSWORD @@
alnum32|  API_TOKEN: @@
pw16|password: @@
pw16|password: @@  # rotated in May
pw16|  db_password: "@@"
pw16|  - DB_PASSWORD=@@
pw16|    - name: DB_PASSWORD\\n      value: @@
pw16|    - name: DB_PASSWORD\\n      value: "@@"
pw16|{"name": "DB_PASSWORD", "value": "@@"}
pw16|"name": "DB_PASSWORD",\\n      "value": "@@"
pw16|password: \\|\\n  @@
pw16|password: >-\\n  @@
base64|  client-key-data: @@
base64|data:\\n  password: @@
url48|    token: @@
pw16|password = @@
pw16|password=@@
pw16|spring.datasource.password=@@
pw16|spring.datasource.password = @@
pw16|password            = @@
pw16|[client]\\nuser=app\\npassword=@@
pw16|password = "@@" # toml
pw16|password = '@@'
pw16|variable "db_password" {\\n  type    = string\\n  default = "@@"\\n}
pw16|  master_password    = "@@"
alnum40|  secret_key = "@@"
pw16|<password>@@</password>
pw16|<Password Encrypted="false">@@</Password>
pw16|<add key="DbPassword" value="@@" />
pw16|<add key="ClearTextPassword" value="@@"/>
pw16|<property name="hibernate.connection.password" value="@@"/>
pw16|<property name="password">@@</property>
pw16|<entry key="db.password">@@</entry>
pw16|<connection host="db1" password="@@"/>
pw16|<user username="tomcat" password="@@" roles="manager"/>
pw16|machine git.example.org login deploy password @@
pw16|machine git.example.org\\n  login deploy\\n  password @@
alnum40|//registry.example.org/:_authToken=@@
basic|//registry.example.org/:_auth=@@
base64|//registry.example.org/:_password=@@
basic|{"auths": {"registry.example.org": {"auth": "@@"}}}
basic|Authorization: Basic @@
alnum40|Authorization: Bearer @@
alnum40|Proxy-Authorization: Bearer @@
alnum40|Cookie: sessionid=5; auth_token=@@; theme=dark
hex64|X-Vault-Token: @@
pw16|requirepass @@
pw16|masterauth @@
pw16|rabbitmq_password @@
pw16|ansible_ssh_pass=@@
pw16|MAKE_PASSWORD ?= @@
pw16|PASSWORD := @@
pw16|set(DB_PASSWORD "@@")
pw16|storePassword '@@'
pw16|storePassword "@@"
pw16|signing.keyPassword=@@
pw16|      MasterUserPassword: @@
pw16|      POSTGRES_PASSWORD: @@
alnum32|          token: @@
pw16|cat > .env <<EOF\\nDB_PASSWORD=@@\\nEOF
pw16|echo "@@" \\| docker login --password-stdin
pw16|password "@@"
pw16|  password @@;
pw16|dbms.password=@@
pw16|[server]\\npass = @@
alnum32|aws_session_token = @@
alnum40|aws_secret_access_key = @@
alnum40|aws configure set aws_secret_access_key @@
pw16|wifi_psk="@@"
pw16|passphrase: @@
pw16|psk=@@
pw16|password: &db "@@"
pw16|password: !!str @@
pw16|  db_password = <<-EOT\\n    @@\\n  EOT
pw16|export DB_PASSWORD=$(cat <<'EOF'\\n@@\\nEOF\\n)
pw16|DB_PASSWORD: ${DB_PASSWORD:-@@}
pw16|spring.datasource.password=${DB_PASSWORD:@@}
pw16|jdbc:oracle:thin:app/@@@//db1:1521/shop
pw16|sqlplus app/@@@db1
pw16|smbclient //files1/share -U app%@@
pw16|ldapsearch -x -D cn=admin -w @@ -b dc=example
pw16|Driver={ODBC Driver 18};Server=db1;Uid=app;Pwd={@@};
signs|"Server=db1;Uid=app;Pwd=@@"
signs|DB_PASSWORD=@@
signs|password: @@
pw16|host=db1 user=app password=@@ dbname=shop
pw16|<password><![CDATA[@@]]></password>
kube|data:\\n  DATABASE_URL: @@
docker|data:\\n  .dockerconfigjson: @@
"""


def _issued(maker: Maker) -> Iterator[Shape]:
    for n, (name, make) in enumerate(ISSUERS.items()):
        secret, carrier = make(maker), CARRIERS[n % len(CARRIERS)]
        yield Shape(f"{name}: {carrier}", carrier.replace("@@", secret), secret)


def _keys(maker: Maker) -> Iterator[Shape]:
    """Private keys: a file, a heredoc, one line of JSON, lines of a program, a part of one."""
    for kind in ("RSA ", "", "EC ", "OPENSSH ", "ENCRYPTED ", "DSA "):
        begin, end = (
            f"-----BEGIN {kind}" + "PRIVATE KEY-----",
            f"-----END {kind}" + "PRIVATE KEY-----",
        )
        yield _key(f"pem {kind}", maker, begin, end, "{}\n")
    begin, end = "-----BEGIN RSA " + "PRIVATE KEY-----", "-----END RSA " + "PRIVATE KEY-----"
    yield _key("pem in a heredoc", maker, "cat > k <<EOF\n" + begin, end + "\nEOF", "{}\n")
    yield _key("pem indented", maker, "key: |\n    " + begin, "    " + end, "    {}\n")
    yield _key("pem in json", maker, '{"private_key": "' + begin, end + '\\n"}', "{}\\n", "\\n")
    yield _key("pem in java", maker, f'String k = "{begin}\\n" +', f'"{end}";', '    "{}\\n" +\n')
    yield _key("pem in go", maker, f"var k = `{begin}", f"{end}`", "{}\n")
    pgp = "PRIVATE " + "KEY BLOCK-----"
    yield _key("pgp", maker, f"-----BEGIN PGP {pgp}\nVersion: 2\n", f"-----END PGP {pgp}", "{}\n")
    ssh2 = "SSH2 ENCRYPTED " + "PRIVATE KEY ----"
    yield _key("ssh2", maker, f"---- BEGIN {ssh2}\nComment: k", f"---- END {ssh2}", "{}\n")
    yield _key("putty", maker, "PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 6", "", "{}\n")
    yield _key("without its end", maker, begin, "", "{}\n")
    yield _key("without its beginning", maker, "", end, "{}\n")


def _key(
    name: str, maker: Maker, begin: str, end: str, line: str, after: str = "\n"
) -> Shape:  # fmt: skip
    lines = maker.pem_lines(6)
    text = begin + after + "".join(line.format(each) for each in lines) + end
    return Shape(name, text + "\n", lines[2])


def tuned() -> list[Shape]:
    """Return what the rules were written against."""
    maker = Maker(20261121)
    return [
        *_issued(maker),
        *filled(rows(PROGRAMS), maker),
        *filled(rows(CONFIGURATION), maker),
        *_keys(maker),
    ]
