"""
The tree-sitter grammars by language, and the meaning of their node types: one table.

A row says which nodes are whole units (functions, classes), which are imports, which only wrap a
unit (`export …`, decorators) and which are transparent (namespaces, `#ifdef`). The node types are
those of the official grammars' `node-types.json`. Grammars are imported when first asked for:
sixteen shared libraries cost 60 ms and 20 MB that a Python user should not pay for Rust.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from tree_sitter import Language


@dataclass(frozen=True)
class Grammar:
    """One language: where its parser comes from, and its node types by what they are to us."""

    module: str
    function: str = "language"
    functions: AbstractSet[str] = frozenset()
    classes: AbstractSet[str] = frozenset()  # definitions whose members are units, too
    imports: AbstractSet[str] = frozenset()
    wrappers: AbstractSet[str] = frozenset()  # the unit is inside, the range is the wrapper's
    transparent: AbstractSet[str] = frozenset()  # children are units as if this were not there


def types(text: str) -> frozenset[str]:
    """Return node types written as words."""
    return frozenset(text.split())


_PYTHON = Grammar(
    "tree_sitter_python",
    functions=types("function_definition"),
    classes=types("class_definition"),
    imports=types("import_statement import_from_statement future_import_statement"),
    wrappers=types("decorated_definition"),
)
_JAVASCRIPT = Grammar(
    "tree_sitter_javascript",
    functions=types("function_declaration generator_function_declaration method_definition"),
    classes=types("class_declaration"),
    imports=types("import_statement"),
    wrappers=types("export_statement"),
)
_TYPESCRIPT = Grammar(
    "tree_sitter_typescript",
    "language_typescript",
    functions=_JAVASCRIPT.functions
    | types("function_signature method_signature abstract_method_signature type_alias_declaration")
    | types("interface_declaration enum_declaration"),
    classes=types("class_declaration abstract_class_declaration"),
    imports=_JAVASCRIPT.imports,
    wrappers=types("export_statement ambient_declaration"),
    transparent=types("expression_statement internal_module module statement_block"),
)
_RUST = Grammar(
    "tree_sitter_rust",
    functions=types("function_item function_signature_item macro_definition struct_item enum_item")
    | types("union_item"),
    classes=types("impl_item trait_item"),
    imports=types("use_declaration extern_crate_declaration"),
    transparent=types("mod_item declaration_list"),
)
_GO = Grammar(
    "tree_sitter_go",
    functions=types("function_declaration method_declaration type_declaration"),
    imports=types("import_declaration"),
)
_C = Grammar(
    "tree_sitter_c",
    functions=types("function_definition struct_specifier enum_specifier union_specifier")
    | types("type_definition preproc_function_def"),
    imports=types("preproc_include"),
    transparent=types("preproc_ifdef preproc_if preproc_else linkage_specification"),
)
_CPP = Grammar(
    "tree_sitter_cpp",
    functions=(_C.functions - {"struct_specifier"}) | types("alias_declaration"),
    classes=types("class_specifier struct_specifier"),
    imports=_C.imports | types("using_declaration"),
    wrappers=types("template_declaration"),
    transparent=_C.transparent | types("namespace_definition declaration_list"),
)
_JAVA = Grammar(
    "tree_sitter_java",
    functions=types("method_declaration constructor_declaration annotation_type_declaration"),
    classes=types("class_declaration interface_declaration enum_declaration record_declaration"),
    imports=types("import_declaration package_declaration"),
    transparent=types("enum_body_declarations"),
)
_C_SHARP = Grammar(
    "tree_sitter_c_sharp",
    functions=types("method_declaration constructor_declaration property_declaration")
    | types("enum_declaration delegate_declaration operator_declaration indexer_declaration"),
    classes=types("class_declaration struct_declaration interface_declaration record_declaration"),
    imports=types("using_directive"),
    transparent=types("namespace_declaration declaration_list"),
)
_RUBY = Grammar(
    "tree_sitter_ruby",
    functions=types("method singleton_method"),
    classes=types("class module singleton_class"),
)
_PHP = Grammar(
    "tree_sitter_php",
    "language_php",
    functions=types("function_definition method_declaration"),
    classes=types("class_declaration interface_declaration trait_declaration enum_declaration"),
    imports=types("namespace_use_declaration"),
    transparent=types("namespace_definition compound_statement"),
)
_LUA = Grammar("tree_sitter_lua", functions=types("function_declaration"))
_BASH = Grammar("tree_sitter_bash", functions=types("function_definition"))
_HTML = Grammar(
    "tree_sitter_html",
    functions=types("script_element style_element"),
    classes=types("element"),
)
_CSS = Grammar(
    "tree_sitter_css",
    functions=types("rule_set keyframes_statement"),
    classes=types("media_statement supports_statement"),
    imports=types("import_statement charset_statement"),
)
_JSON = Grammar("tree_sitter_json", functions=types("pair"), transparent=types("object array"))
_TSX = Grammar(
    _TYPESCRIPT.module,
    "language_tsx",
    functions=_TYPESCRIPT.functions,
    classes=_TYPESCRIPT.classes,
    imports=_TYPESCRIPT.imports,
    wrappers=_TYPESCRIPT.wrappers,
    transparent=_TYPESCRIPT.transparent,
)

GRAMMARS = {
    "python": _PYTHON,
    "javascript": _JAVASCRIPT,
    "javascriptreact": _JAVASCRIPT,
    "typescript": _TYPESCRIPT,
    "typescriptreact": _TSX,
    "rust": _RUST,
    "go": _GO,
    "c": _C,
    "cpp": _CPP,
    "java": _JAVA,
    "csharp": _C_SHARP,
    "ruby": _RUBY,
    "php": _PHP,
    "lua": _LUA,
    "shellscript": _BASH,
    "html": _HTML,
    "css": _CSS,
    "json": _JSON,
}  # keys: LSP 3.17 "Text Document Language Identifiers"

ALIASES = {
    "c-sharp": "csharp",
    "cs": "csharp",
    "c++": "cpp",
    "cuda": "cpp",
    "bash": "shellscript",
    "sh": "shellscript",
    "zsh": "shellscript",
    "jsx": "javascriptreact",
    "js": "javascript",
    "ts": "typescript",
    "tsx": "typescriptreact",
    "jsonc": "json",
    "py": "python",
    "rs": "rust",
    "rb": "ruby",
}  # what editors send besides: Helix, Emacs and Sublime use their own names

EXTENSIONS = {
    "py": "python", "pyi": "python",
    "js": "javascript", "mjs": "javascript", "cjs": "javascript", "jsx": "javascriptreact",
    "ts": "typescript", "mts": "typescript", "cts": "typescript", "tsx": "typescriptreact",
    "rs": "rust", "go": "go",
    "c": "c", "h": "c",
    "cc": "cpp", "cpp": "cpp", "cxx": "cpp", "hh": "cpp", "hpp": "cpp", "hxx": "cpp",
    "java": "java", "cs": "csharp", "rb": "ruby", "php": "php", "lua": "lua",
    "sh": "shellscript", "bash": "shellscript",
    "html": "html", "htm": "html", "css": "css", "json": "json",
}  # fmt: skip


def language_of(path: str) -> str:
    """Return the LSP language identifier a file name suggests, "" when we know none."""
    return EXTENSIONS.get(path.rpartition(".")[2].lower(), "")


def grammar_of(language: str) -> Grammar | None:
    """Return the row for a language identifier as any editor spells it."""
    language = language.lower()
    return GRAMMARS.get(ALIASES.get(language, language))


@functools.cache
def load(module: str, function: str) -> Language:
    """Return the parser tables. Imported on first use; a missing wheel raises ImportError."""
    return Language(getattr(importlib.import_module(module), function)())
