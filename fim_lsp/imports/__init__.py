"""
The import of a name that is used and not imported, where the file's other imports stand. Pure.

statement: import statements, and the place for another one among them
python: imports in Python
ecmascript_globals: names that JavaScript and TypeScript know without an import
ecmascript_modules: which package a file belongs to, and how an import writes a file's path
ecmascript: imports in JavaScript and TypeScript
go: imports in Go
java: imports in Java
rust_modules: where a file stands in its crate, which modules may name it, and what the crate depends on
rust: imports in Rust
missing: finds what may be missing, and decides on the change that imports it
"""
