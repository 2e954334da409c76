"""
The words of `secret_grammar`: statements, expressions and literals of each language. Data.
"""

from __future__ import annotations

from typing import NamedTuple

SIGNS = "!#%^&*()-_=+[]{}<>?.,:;|~@$/"


class Language(NamedTuple):
    """*signs* may stand in a secret there."""

    case: str
    statements: tuple[str, ...]
    expressions: tuple[str, ...]
    literals: tuple[str, ...]
    signs: str = SIGNS


LITERAL = ("@l",)
BARE = ("@s",)
SAFE = "!#%^*-_=+?.,~@/"  # signs that no shell, YAML or URL gives a meaning

LANGUAGES = {
    "python": Language("snake upper", (
        "@n = @e", "@n: str = @e", "    self.@n = @e", "config['@n'] = @e", "client = connect('db1', @n=@e)",
        "    '@n': @e,", "def start(user, @n=@e):", "@option('--@n', default=@e)", "    @n: str = Field(default=@e)",
        "parser.add_argument('--@n', type=str, default=@e, help='see the manual')", "    @n: str = field(default=@e, repr=False)",
        "assert settings.@n == @e", "os.environ['@n'] = @e", "# @n = @e", "monkeypatch.setenv('@n', @e)",
    ), (
        "@l", "os.getenv('X_@n') or @l", "os.environ.get('@n', @l)", "env('X', default=@l)", "(@l)", "(\n    @l\n)",
        "SecretStr(@l)", "given if given else @l", "@l.encode()", "config('@n', cast=str, default=@l)", "cfg.get('x') or @l",
    ), ('"@s"', "'@s'", '"""@s"""', "'''@s'''", 'b"@s"', "r'@s'", '"""\\\n@s"""')),
    "javascript": Language("camel upper", (
        "const @n = @e;", "let @n = @e", "export const @n = @e;", "this.@n = @e;", "  @n: @e,", "  '@n': @e,", "module.exports.@n = @e;",
        "const @n: string = @e;", "new Client({ host, @n: @e, retries: 3 })", "process.env.@n = @e;", "connect({ @n = @e }) {",
        "function start(user, @n = @e) {", "  private @n?: string = @e;", "z.object({ @n: z.string().default(@e) })", "// @n: @e",
    ), (
        "@l", "process.env.@n || @l", "process.env.X ?? @l", "(@l)", "opts.@n ? opts.@n : @l", "env.get('@n', @l)", "Buffer.from(@l, 'utf8')",
        "\n    @l", "String(@l)", "(\n    @l\n  )",
    ), ('"@s"', "'@s'", "`@s`")),
    "go": Language("camel pascal", (
        "@n := @e", "var @n = @e", "var @n string = @e", "const @n = @e", "\tcfg.@n = @e", "\t@n: @e,", 'os.Setenv("@n", @e)',
        'flag.StringVar(&@n, "@n", @e, "see the manual")', '@n := flag.String("@n", @e, "see the manual")', 'viper.SetDefault("@n", @e)',
    ), ("@l", "[]byte(@l)", 'getenv("X", @l)', 'cmp.Or(os.Getenv("@n"), @l)', "(@l)"), ('"@s"', "`@s`")),
    "java": Language("camel upper", (
        "String @n = @e;", "private static final String @n = @e;", 'config.put("@n", @e);', "public static final char[] @n = @e.toCharArray();",
        "  this.@n = @e;", '@Value("@n") String x = @e;', 'props.setProperty("@n", @e);', "val @n: String = @e", "private val @n = @e",
    ), ("@l", 'System.getProperty("@n", @l)', "Optional.ofNullable(env).orElse(@l)", 'getenv("X") ?: @l', "(@l)", "new String(@l)",
        "env != null ? env : @l", "\n        @l"), ('"@s"', '"""\n    @s"""')),
    "csharp": Language("pascal camel", (
        "string @n = @e;", "public const string @n = @e;", "    public string @n { get; set; } = @e;", "@n = @e,", 'config["@n"] = @e;',
        "var @n = @e;", "services.Configure(o => o.@n = @e);", 'Environment.SetEnvironmentVariable("@n", @e);',
    ), ("@l", 'Environment.GetEnvironmentVariable("X") ?? @l', 'config["@n"] ?? @l', 'config.GetValue("@n", @l)', "(@l)"),
        ('"@s"', '@"@s"', '"""@s"""')),
    "visual basic": Language("pascal", (
        "Dim @n As String = @e", "Private Const @n As String = @e", "@n = @e", "Public Property @n As String = @e", "Me.@n = @e", "Public @n$ = @e",
    ), ("@l", "If(x, @l)", 'GetSetting("app", "db", "@n", @l)'), ('"@s"',)),
    "php": Language("snake upper", (
        "$@n = @e;", "define('@n', @e);", "    '@n' => @e,", "const @n = @e;", "private string $@n = @e;", "$config['@n'] = @e;",
        "function start($user, $@n = @e) {", "putenv('@n=' . @e);",
    ), ("@l", "getenv('X') ?: @l", "env('@n', @l)", "$_ENV['X'] ?? @l", "(@l)", "<<<EOT\n@s\nEOT"), ("'@s'", '"@s"')),
    "ruby": Language("snake upper", (
        "@n = @e", "config.@n = @e", "  @n: @e,", "  :@n => @e,", "ENV['@n'] ||= @e", "option :@n, default: @e", "set :@n, @e",
    ), ("@l", "ENV.fetch('X', @l)", "ENV.fetch('@n') { @l }", "ENV['@n'] || @l", "<<~EOS\n  @s\nEOS", "%q(@l)", "@l.freeze"), ('"@s"', "'@s'")),
    "rust": Language("upper snake", (
        "const @n: &str = @e;", "let @n = @e;", "let @n: String = @e;", "    @n: @e,", "static @n: &'static str = @e;",
        '#[arg(long = "@n", default_value = @e)]', 'std::env::set_var("@n", @e);',
    ), ("@l", "@l.to_string()", "String::from(@l)", "Some(@l.into())", 'std::env::var("@n").unwrap_or(@l.into())',
        'env::var("X").unwrap_or_else(|_| @l.to_string())', 'option_env!("X").unwrap_or(@l)'), ('"@s"', 'r"@s"', 'r#"@s"#', 'b"@s"')),
    "c": Language("snake upper", (
        "const char *@n = @e;", "char @n[] = @e;", "#define @n @e", "static const char @n[64] = @e;", "std::string @n = @e;", "auto @n = @e;",
        "    .@n = @e,", 'setenv("@n", @e, 1);', "strcpy(@n, @e);", "NSString *@n = @e;", "static let @n = @e",
    ), ("@l", "(@l)", 'getenv("X") ? getenv("X") : @l', "\\\n    @l"), ('"@s"', 'L"@s"', '@"@s"')),
    "lua perl r lisp": Language("snake", (
        "local @n = @e", "my $@n = @e;", "@n => @e,", "@n <- @e", "(setq @n @e)", "(def @n @e)", "@n = @e", "  :@n @e",
    ), ("@l", "os.getenv('X') or @l", "$ENV{X} // @l", "(@l)"), ('"@s"', "'@s'")),
    "sql": Language("snake", (
        "CREATE USER app WITH @n @e;", "ALTER ROLE app @n @e;", "SET @n = @e;", "INSERT INTO users (name, @n) VALUES ('app', @e);",
        "UPDATE users SET @n = @e WHERE id = 3;", "CREATE SERVER s OPTIONS (user 'app', @n @e);",
    ), LITERAL, ("'@s'",)),
    "shell": Language("upper", (
        "@n=@e", "export @n=@e", "@n=@e ./run", "declare -x @n=@e", "readonly @n=@e", "env @n=@e ./run", "docker run -e @n=@e shop",
        'echo "@n="@e >> .env', "printf '%s' @e | vault kv put kv/x @n=-", ": ${@n:=@s}",
    ), ("@l", "${X:-@s}", '"${@n:-@s}"', "$(cat <<'EOF'\n@s\nEOF\n)", '"${X:-"@s"}"'), ('"@s"', "'@s'", "$'@s'"), SAFE),
    "powershell": Language("pascal upper", (
        "$@n = @e", "$env:@n = @e", "[string]$@n = @e", "param([string]$@n = @e)", "Set-Item env:@n @e", "@{ @n = @e }",
    ), ("@l", "ConvertTo-SecureString @l -AsPlainText -Force", "($env:X ?? @l)", "@'\n@s\n'@"), ('"@s"', "'@s'"), SAFE),
    "yaml": Language("snake camel upper", (
        "@n: @e", "  @n: @e", "  - @n: @e", "    - name: @n\n      value: @e", "{@n: @e, user: app}", "- {name: @n, value: @e}",
        "env:\n  @n: @e  # rotated", "# @n: @e", "spec:\n  data:\n    @n: @e",
    ), ("@l", "@s", "!!str @l", "&anchor @l", "!!str @s", "|\n      @s", ">-\n      @s", "|2-\n      @s", "${X:-@s}", "&a !!str '@s'",
        "${X:@s}"), ('"@s"', "'@s'"), SAFE),
    "toml ini properties": Language("snake kebab upper", (
        "@n = @e", "@n=@e", "app.db.@n = @e", "app.db.@n=@e", "[db]\nuser = app\n@n = @e", "@n : @e", "; @n = @e", 'db = { user = "app", @n = @e }',
    ), ("@l", "@s", '"""\n@s"""', "'''@s'''", "${X:@s}"), ('"@s"', "'@s'"), SAFE),
    "json": Language("snake camel kebab", (
        '"@n": @e,', '{"user": "app", "@n": @e}', '{"name": "@n", "value": @e}', '{\\"@n\\":\\"@s\\",\\"n\\":1}', '"@n":@e',
        '{"@n": {"type": "string", "default": @e}}', '{"key": "@n", "value": @e}', '"@n": [@e]', '{"@n":\n    @e}',
    ), LITERAL, ('"@s"',)),
    "xml": Language("camel kebab", (
        "<@n>@s</@n>", "<@n><![CDATA[@s]]></@n>", '<add key="@n" value=@e/>', '<property name="@n" value=@e />', '<db user="app" @n=@e/>',
        '<property name="@n"><value>@s</value></property>', '<param name="@n">@s</param>', "<@n\n  value=@e />", "<key>@n</key>\n<string>@s</string>",
        '<input type="hidden" name="@n" value=@e>', "<@n>\n    @s\n</@n>",
    ), LITERAL, ('"@s"', "'@s'"), SAFE),
    "terraform": Language("snake", (
        "@n = @e", "  @n    = @e", 'variable "@n" {\n  type    = string\n  default = @e\n}',
        'variable "@n" {\n  description = "for the (main) database"\n  sensitive = true\n  default = @e\n}',
        'set_sensitive {\n  name  = "@n"\n  value = @e\n}', "locals {\n  @n = @e\n}", 'output "@n" {\n  value = @e\n}',
    ), ("@l", "<<EOT\n@s\nEOT", "<<-EOT\n    @s\n  EOT", "coalesce(var.x, @l)", 'var.x != "" ? var.x : @l', "sensitive(@l)", "base64encode(@l)"),
        ('"@s"',)),
    "command line": Language("kebab", (
        "tool --@n @e list", "tool --@n=@e list", "tool login -u app --@n @e", "helm install x ./c --set db.@n=@e", "java -Ddb.@n=@e -jar a.jar",
        "kubectl create secret generic x --from-literal=@n=@e", "RUN tool --@n=@e", "curl -d '@n=@s' https://example.org/", 'CMD ["tool", "--@n", "@s"]',
        "subprocess.run(['tool', '--@n', '@s'])", "curl -H 'X-@n: @s' https://example.org/", "https://example.org/x?a=1&@n=@s&b=2",
        "ENV @n @e", "ARG @n=@e", "\tset @n @e",
    ), ("@l", "@s"), ('"@s"', "'@s'"), "!#%^*-_+?.,~"),
}  # fmt: skip
