"""
A name that is used into the change that imports it, language by language.

A row is a workspace, the file in front, and its text, with `+` before the lines that are to come and `-` before the
one that goes. All lines count as just edited.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from fim_lsp.context.definitions import read_syntax
from fim_lsp.context.free_names import free_names
from fim_lsp.context.grammars import language_of
from fim_lsp.context.index import Entry, Index, names, update_index
from fim_lsp.imports.missing import (
    Known,
    find_candidates,
    find_typed_word,
    language_row,
    missing_import,
)
from fim_lsp.imports.statement import File

PYTHON = {
    "shop/__init__.py": "",
    "shop/cart.py": "class Cart: ...\ndef fill(): ...\nLIMIT = 3\nif 1:\n    Inner = 1\n",
    "shop/deep/__init__.py": "from shop.deep.item import Item\n",
    "shop/deep/item.py": "class Item: ...\n",
    "shop/deep/_own.py": "class Own: ...\n",
    "shop/twice.py": "class Pair: ...\n",
    "shop/again.py": "class Pair: ...\n",
    "shop/other.py": "from shop.cart import fill\nfrom elsewhere import Till\n",
    "shop/till.py": "class Till: ...\n",
    "tests/test_cart.py": "class CartMaker: ...\n",
    "script.py": "class Lonely: ...\n",
    "shop/ring.py": "from .here import x\nclass Ring: ...\n",
    "shop/round.py": "from shop import here\nclass Round: ...\n",
    "shop/types.py": "if TYPE_CHECKING:\n    from .here import x\nclass Typed: ...\n",
    "tools/__init__.py": "",
    "tools/saw.py": "class Saw: ...\n",
}
TYPESCRIPT = {
    "src/cart.ts": "export class Cart {}\nexport interface Size { x: number }\nclass Hidden {}\n",
    "src/util/fill.ts": "export const fill = () => {\n  return 1\n}\nexport default class Whole {}\n",
    "src/ui/button.tsx": "export function Button() { return <a/> }\nexport interface MouseEvent { x: number }\n",
}
JAVASCRIPT = {
    "lib/cart.js": "export class Cart {}\n",
    "esm/package.json": '{"type": "module"}',
    "esm/till.js": "export class Till {}\n",
}
PACKAGES = {
    "package.json": '{"name": "root", "workspaces": ["packages/*"]}',
    "packages/core/package.json": '{"name": "@shop/core", "exports": {".": "./src/cart.ts"}}',
    "packages/core/src/cart.ts": "export class Cart {}\n",
    "packages/core/src/util/index.ts": "export const fill = 1\n",
    "packages/core/src/ui/button.tsx": "export function Button() { return 1 }\n",
    "packages/core/src/ui/button.test.tsx": "export const b = 1\n",
    "packages/core/lib/package.json": '{"type": "module"}',
    "packages/core/lib/saw.mts": "export class Saw {}\n",
    "packages/front/package.json": '{"name": "front", "type": "module"}',
    "packages/front/src/ui/button.tsx": "export const Other = 1\n",
    "packages/front/src/till.ts": "export class Till {}\n",
    "packages/front/src/coin.tsx": "export class Coin {}\n",
    "packages/core/src/index.ts": "export {\n  Cart,\n  type Size\n} from './cart'\nexport * from './ui/button'\n",
    "apps/one/src/one.ts": "export class One {}\n",
    "broken/package.json": "{" * 9_999,
    "broken/nail.ts": "export class Nail {}\n",
}
CORE, FRONT = "packages/core/src", "packages/front/src"
GO = {
    "go.mod": "module example.com/me/shop\n\ngo 1.24\n",
    "cart/cart.go": "package cart\n\nfunc New() int { return 1 }\n",
    "deep/till/till.go": "package till\n\ntype Till struct{}\n",
    "deep/internal/safe/safe.go": "package safe\n\nfunc Open() {}\n",
    "main/odd.go": "package other\n\nfunc Odd() {}\n",
}
MODULES = {
    "a/go.mod": "module example.com/a\n",
    "a/cart/cart.go": "package cart\n\nfunc New() int { return 1 }\n",
    "b/go.mod": "module example.com/b\n",
    "c/go.mod": "module example.com/c\n\nrequire (\n\texample.com/a v1.0.0\n)\n",
}
RUST = {
    "src/lib.rs": "mod cart;\nmod deep;\npub mod till;\n",
    "src/cart.rs": "pub struct Cart;\npub struct Item;\nstruct Hidden;\npub fn fill() {}\npub(super) struct Beside;\n",
    "src/deep/mod.rs": "mod till;\npub use till::Till;\npub(crate) mod saw;\n#[cfg(test)]\npub mod only;\npub(super) mod nail;\n",
    "src/deep/till.rs": "pub struct Till;\npub struct Coin;\n",
    "src/deep/saw.rs": "pub(crate) struct Saw;\npub mod blade;\n",
    "src/deep/saw/blade.rs": "pub struct Blade;\n",
    "src/deep/nail.rs": "pub struct Nail;\n",
    "src/deep/only.rs": "pub struct Only;\n",
    "src/loose.rs": "pub struct Loose;\n",
}
CRATES = {
    "shop-core/Cargo.toml": '[package]\nname = "shop-core"\n',
    "shop-core/src/lib.rs": "pub mod cart;\n",
    "shop-core/src/cart.rs": "pub struct Cart;\n",
    "front/Cargo.toml": '[dependencies]\nshop-core = { path = "../shop-core" }\n',
    "front/src/lib.rs": "mod a;\n",
    "front/src/a.rs": "use shop_core::cart::Cart;\n",
    "back/Cargo.toml": '[dependencies]\nserde = "1"\n\n[dev-dependencies]\nshop-core.workspace = true\n',
    "both/src/lib.rs": "pub mod saw;\n",
    "both/src/main.rs": "mod own;\n",
    "both/src/saw.rs": "pub struct Saw;\n",
    "both/src/own.rs": "pub struct Own;\n",
    "named/Cargo.toml": '[package]\nname = "till-count"\n\n[dependencies.serde]\nversion = "1"\n',
    "named/src/lib.rs": "pub mod coin;\nmod inner;\n",
    "named/src/main.rs": "mod own;\n\nuse till_count::coin::Coin;\n",
    "named/src/coin.rs": "pub struct Coin;\n",
}
JAVA = {
    "src/main/java/a/shop/Cart.java": "package a.shop;\n\npublic class Cart {}\n",
    "src/main/java/a/till/Till.java": "package a.till;\n\npublic final class Till {}\n",
    "src/main/java/a/till/Own.java": "package a.till;\n\nclass Own {}\n",
    "src/test/java/a/till/TillMaker.java": "package a.till;\n\npublic class TillMaker {}\n",
}
PROJECTS = {
    "pom.xml": "<modules><module>shop-core</module><module>back</module></modules>",
    "shop-core/src/main/java/a/shop/Cart.java": "package a.shop;\n\npublic class Cart {}\n",
    "front/build.gradle.kts": "dependencies { implementation(projects.shopCore) }\n",
    "back/pom.xml": "<dependencies></dependencies>\n",
}
HERE = "src/main/java/a/front/Here.java"
HEAD = "package a.front;\n"

CASES = [
    # where the imports are sorted to, in their style
    (PYTHON, "shop/here.py", "import os\n\n+from shop.cart import Cart\nfrom shop.other import x\n\nCart()\n"),
    (PYTHON, "shop/here.py", "from shop.a import x\n+from shop.cart import Cart\n\nCart()\n"),
    (PYTHON, "shop/here.py", "from .a import x\n+from .cart import Cart\nfrom .other import y\n\nCart()\n"),
    (PYTHON, "shop/deep/here.py", "from ..a import x\n+from ..cart import Cart\n\nCart()\n"),
    (PYTHON, "shop/here.py", "import os\n+\n+from shop.cart import Cart\n\nCart()\n"),
    (PYTHON, "shop/here.py", "import os\n\n+from tools.saw import Saw\n+\nfrom . import x\n\nSaw()\n"),
    (PYTHON, "shop/here.py", '"""Doc."""\n\n+from shop.cart import Cart\n+\nx = Cart()\n'),
    (PYTHON, "shop/here.py", "#!/bin/python\n# © me\n\n+from shop.cart import Cart\n+\n+\ndef f(): Cart()\n"),
    (PYTHON, "shop/here.py", '"""Doc\n\nmore.\n"""\n\n+from shop.cart import Cart\n+\n+\ndef f(): Cart()\n'),
    (PYTHON, "shop/here.py", '"Doc."\n\n+from shop.cart import Cart\n+\nx = Cart()\n'),
    (PYTHON, "shop/here.py", "# © me\n\n+from shop.cart import Cart\n+\n+\n# What f does.\ndef f(): Cart()\n"),
    (PYTHON, "shop/here.py", "+from shop.cart import Cart\n+\n+\n# What f does,\n# at length.\n@g\ndef f(): Cart()\n"),
    (PYTHON, "shop/here.py", "#!/bin/python\n# -*- coding: utf-8 -*-\n+from shop.cart import Cart\n+\n+\ndef f(): Cart()\n"),
    (PYTHON, "shop/here.py", "# ruff: noqa\n\n+from shop.cart import Cart\n+\n# One.\nx = Cart()\n"),
    (PYTHON, "shop/here.py", '"""Doc."""\n\n+from shop.cart import Cart\n+\n+\n# What f does.\n\ndef f(): Cart()\n'),
    (PYTHON, "shop/here.py", '# © me\n"""Doc."""\n+\n+from shop.cart import Cart\n+\nx = Cart()\n'),
    (PYTHON, "shop/here.py", '"""Doc."""\n\nfrom __future__ import annotations\n+\n+from shop.cart import Cart\n\n\ndef f(): Cart()\n'),
    (PYTHON, "shop/here.py", "import os\n\n+from shop.cart import Cart\nfrom shop.other import x\n\nif TYPE_CHECKING:\n    from shop.till import Till\n\nCart()\n"),
    (PYTHON, "shop/here.py", "import os\n\nif TYPE_CHECKING:\n    from shop.cart import Cart\n\nCart()\n"),
    (PYTHON, "shop/here.py", "from __future__ import annotations\n+from tools.saw import Saw\nfrom .a import x\n\nSaw()\n"),
    (PYTHON, "shop/here.py", "import os\n+\n+from shop.cart import Cart\n\nx = Cart()\n\nfrom shop.other import y\n"),  # one below comes too late
    (PYTHON, "shop/here.py", '"""Doc.\n\nfrom shop.other import x\n"""\n\nimport os  # """\n+\n+from shop.cart import Cart\n\nCart()\n'),
    (PYTHON, "shop/here.py", "import os\n+\n+from shop.cart import Cart\n\nT = '''\nfrom shop.cart import fill\n'''\nCart()\n"),
    # into the statement of the module
    (PYTHON, "shop/here.py", "-from shop.cart import fill\n+from shop.cart import Cart, fill\nCart(fill)\n"),
    (PYTHON, "shop/here.py", "-from shop.cart import Cart, fill\n+from shop.cart import LIMIT, Cart, fill\nLIMIT\nCart, fill\n"),
    (PYTHON, "shop/here.py", "-from .cart import fill\n+from .cart import Cart, fill\nCart(fill)\n"),
    (PYTHON, "shop/here.py", "from shop.cart import (\n    LIMIT,\n+    Cart,\n    fill,\n)\nCart(LIMIT, fill)\n"),
    (PYTHON, "shop/here.py", "from shop.cart import (LIMIT,\n    fill)\nCart(LIMIT, fill)\n"),
    (PYTHON, "shop/here.py", "-from shop.cart import fill, LIMIT, b\n+from shop.cart import fill, LIMIT, b, Cart\nCart(LIMIT, fill)\n"),
    # by the package that hands it on, unless the file is in that
    (PYTHON, "here.py", "import os\n+\n+from shop.deep import Item\n\nItem()\n"),
    (PYTHON, "shop/deep/here.py", "from shop.a import x\n+from shop.deep.item import Item\n\nItem()\n"),
    # silence
    (PYTHON, "shop/here.py", "from shop.cart import *\n\nCart()\n"),
    (PYTHON, "shop/here.py", "import Cart\n\nCart()\n"),
    (PYTHON, "shop/here.py", "def f(Cart): ...\nCart()\n"),
    (PYTHON, "shop/here.py", "# Cart\nx = 'Cart'\nx.Cart(Cart=1)\n"),
    (PYTHON, "shop/here.py", "from __future__ import annotations\n\nPair()\n"),
    (PYTHON, "shop/here.py", "import os\n\nInner, Till, CartMaker, Own\n"),
    (PYTHON, "here.py", "import os\n\nLonely()\n"),
    (PYTHON, "shop/here.py", "import os\n\nRing(), Round()\n"),  # each would load the other
    (PYTHON, "shop/here.py", "import os\n+\n+from shop.types import Typed\n\nTyped()\n"),
    (PYTHON, "shop/deep/here.py", "import os\n+\n+from shop.deep._own import Own\n\nOwn()\n"),
    (TYPESCRIPT, "src/here.ts", "import { x } from './a';\n+import { Cart } from './cart';\n\nnew Cart()\n"),
    (TYPESCRIPT, "src/here.ts", 'import {x} from "./a"\n+import {Cart} from "./cart"\n\nnew Cart()\n'),
    (TYPESCRIPT, "src/ui/here.ts", "import { x } from '../a'\n+import { Cart } from '../cart'\nimport { y } from './b'\n\nnew Cart()\n"),
    (TYPESCRIPT, "src/here.ts", "import { x } from './a.js'\n+import { fill } from './util/fill.js'\n\nfill()\n"),
    (TYPESCRIPT, "src/here.ts", "import type { x } from './a'\n+import type { Size } from './cart'\n\nlet y: Size\n"),
    (TYPESCRIPT, "src/here.ts", "-import { Size } from './cart'\n+import { Cart, Size } from './cart'\nimport { a, b } from './x'\n\nlet y: Size = new Cart()\n"),
    (TYPESCRIPT, "src/here.ts", "import {\n  A,\n+  Cart,\n  Size,\n} from './cart'\n\nlet y: Size = new Cart()\n"),
    (TYPESCRIPT, "src/here.ts", "import {\n  A,\n-  B\n+  B,\n+  Cart\n} from './cart'\n\nnew Cart()\n"),
    (TYPESCRIPT, "src/here.ts", "-import { b, A, x } from './cart'\n+import { b, A, x, Cart } from './cart'\n\nnew Cart()\n"),
    (TYPESCRIPT, "src/here.ts", "-import { B, D, a } from './cart'\n+import { B, Cart, D, a } from './cart'\n\nnew Cart()\n"),
    (TYPESCRIPT, "src/here.ts", "import { B, a } from './cart'\n\nnew Cart()\n"),
    (TYPESCRIPT, "src/here.ts", "-import { type Car } from './cart'\n+import { type Car, Cart } from './cart'\n\nnew Cart()\n"),
    (TYPESCRIPT, "src/here.tsx", "import React from 'react';\n+import { Button } from './ui/button';\n\nconst x = <Button/>;\n"),
    (TYPESCRIPT, "src/here.ts", "// © me\n'use strict'\n\n+import { Cart } from './cart'\n+\nnew Cart()\n"),
    (TYPESCRIPT, "src/here.ts", "/**\n * © me\n */\n+import { Cart } from './cart'\n+\nnew Cart()\n"),
    (TYPESCRIPT, "src/here.ts", "// © me\n\n+import { Cart } from './cart'\n+\n/**\n * Doc\n */\nfunction f() { return new Cart() }\n"),
    (TYPESCRIPT, "src/here.ts", "'use client'\n+import { Cart } from './cart'\n+\n// Doc.\nconst x = new Cart()\n"),
    (TYPESCRIPT, "src/here.ts", "import './first'\n+import { Cart } from './cart'\n\nnew Cart()\n"),
    (TYPESCRIPT, "src/here.ts", "+import { Cart } from './cart'\n+\nimport('./a').then((x) => {\n  x(1)\n})\nnew Cart()\n"),
    (TYPESCRIPT, "src/here.ts", "import { x } from './a'\n+import { Cart } from './cart'\n\nconst t = `\nimport { y } from './b'\n`\nnew Cart()\n"),
    (TYPESCRIPT, "src/here.ts", "import { x } from './a'\n+import { Cart } from './cart'\n\n/*\nimport { y } from './b'\n*/\nnew Cart()\n"),
    (TYPESCRIPT, "src/here.ts", "import {\n  A, // the \"a\"\n} from './a'\n+import { Cart } from './cart'\n\nnew Cart()\n"),
    (TYPESCRIPT, "src/here.ts", "// @ts-ignore\nimport { x } from './x'\n\nnew Cart()\n"),
    (TYPESCRIPT, "src/here.ts", "import { x } from 'a'\n\nnew Hidden(Whole)\nnew Cartt()\n"),
    (TYPESCRIPT, "src/here.ts", "import Cart from 'a'\n\nnew Cart()\n"),
    # the browser knows it
    (TYPESCRIPT, "src/here.tsx", "import React from 'react'\n\nconst x = (y: MouseEvent) => <fill a={1}><fill/></fill>\n"),
    (TYPESCRIPT, "src/here.ts", "import { B as Cart } from 'a'\n\nnew Cart()\n"),
    (JAVASCRIPT, "lib/here.js", "const x = require('./a')\n\nnew Cart()\n"),
    # scripts import nothing
    (JAVASCRIPT, "lib/here.js", "new Cart()\n"),
    (JAVASCRIPT, "lib/here.js", "+import { Cart } from './cart'\n+\nexport const x = new Cart()\n"),
    (JAVASCRIPT, "esm/here.js", "import fs from 'node:fs'\n+import { Till } from './till.js'\nimport x from './x.js'\n\nnew Till()\n"),
    # within one package; another one would be imported by its name
    (PACKAGES, f"{FRONT}/here.ts", "import { x } from './x'\n\nnew Cart()\n"),
    (PACKAGES, f"{CORE}/here.ts", "import { x } from './a'\n+import { Cart } from './cart'\n\nnew Cart()\n"),
    (PACKAGES, "apps/two/src/here.ts", "import { x } from './x'\n\nnew One()\n"),
    (PACKAGES, "broken/here.ts", "import { x } from './a'\n+import { Nail } from './nail'\n\nnew Nail()\n"),
    # with the extension that the runtime wants, where it is known
    (PACKAGES, f"{FRONT}/here.ts", "import x from 'x'\n\nnew Till()\n"),
    (PACKAGES, f"{FRONT}/here.tsx", "import x from 'x'\n+import { Till } from './till'\n\nnew Till()\n"),
    (PACKAGES, f"{FRONT}/here.ts", "import './a.css'\nimport { x } from './a.js'\n+import { Coin } from './coin.js'\n\nnew Coin()\n"),
    (PACKAGES, f"{FRONT}/here.ts", "import { x } from './a.ts'\n+import { Coin } from './coin.tsx'\n\nnew Coin()\n"),
    (PACKAGES, "packages/core/lib/here.ts", "import { x } from './a.js'\n+import { Saw } from './saw.mjs'\n\nnew Saw()\n"),
    (PACKAGES, f"{CORE}/here.ts", "import { x } from './a.js'\n+import { fill } from './util/index.js'\n\nfill()\n"),
    # from the index that the file imports from already, where it hands the name on
    (PACKAGES, "packages/core/test/here.ts", "-import { b } from '../src'\n+import { b, Cart } from '../src'\n\nnew Cart()\n"),
    (PACKAGES, "packages/core/test/here.ts", "-import { b } from '../src/index'\n+import { b, Button } from '../src/index'\n\nButton()\n"),
    (PACKAGES, "packages/core/test/here.ts", "import { b } from '../src'\n+import { fill } from '../src/util'\n\nfill()\n"),
    (PACKAGES, f"{CORE}/here.d.ts", "declare module 'x' {\n  interface Y { z: Cart }\n}\n"),
    # by the alias of the file's others
    (PACKAGES, f"{CORE}/a/here.ts", "+import { Cart } from '@/cart'\nimport { b } from '@/ui/button'\n\nnew Cart()\n"),
    (PACKAGES, f"{CORE}/a/here.ts", "import { b } from '@/ui/button'\n+import { fill } from '@/util'\nimport { x } from './x'\n\nfill()\n"),
    (PACKAGES, f"{CORE}/here.ts", "import { b } from '@/ui/button'\nimport { x } from './a'\n+import { Cart } from './cart'\n\nnew Cart()\n"),
    (PACKAGES, f"{CORE}/a/here.ts", "-import { b } from '@/cart'\n+import { b, Cart } from '@/cart'\n\nnew Cart()\n"),
    (PACKAGES, "packages/core/here.ts", "import { b } from '@/nowhere'\n\nnew Cart()\n"),
    (GO, "here.go", 'package p\n\nimport (\n\t"fmt"\n+\n+\t"example.com/me/shop/cart"\n)\n\nvar _ = cart.New()\n'),
    (GO, "here.go", 'package p\n\nimport (\n\t"fmt"\n\n\t"example.com/me/shop/a"\n+\t"example.com/me/shop/deep/till"\n\t"x.com/y"\n)\n\nvar _ till.Till\n'),
    (GO, "here.go", 'package p\n\n-import "fmt"\n+import (\n+\t"fmt"\n+\n+\t"example.com/me/shop/cart"\n+)\n\nvar _ = cart.New()\n'),
    (GO, "here.go", 'package p\n+\n+import "example.com/me/shop/cart"\n\nvar _ = cart.New()\n'),
    (GO, "here.go", 'package p\n\nimport "x.com/go-cart"\n\nvar _ = cart.New()\n'),
    (GO, "here.go", "package p\n\nvar cart = 1\nvar _ = cart.New()\n"),
    (GO, "here.go", "package p\n\nvar _ = main.Odd()\n"),
    (GO, "here.go", 'package p\n\n// #include <a.h>\nimport "C"\n+\n+import "example.com/me/shop/cart"\n\nvar _ = cart.New()\n'),
    (GO, "here.go", 'package p\n+\n+import "example.com/me/shop/cart"\n/*\nimport "fmt"\n*/\n\nvar _ = cart.New()\n'),
    (MODULES, "b/here.go", "package b\n\nvar _ = cart.New()\n"),
    (MODULES, "c/here.go", 'package c\n+\n+import "example.com/a/cart"\n\nvar _ = cart.New()\n'),
    (GO, "here.go", "package p\n\nvar _ = safe.Open()\n"),
    (GO, "deep/a/here.go", 'package a\n+\n+import "example.com/me/shop/deep/internal/safe"\n\nvar _ = safe.Open()\n'),
    (RUST, "src/here.rs", "use crate::a::A;\n+use crate::cart::Cart;\nuse std::fmt;\n\nfn f(x: Cart) {}\n"),
    (RUST, "src/here.rs", "-use crate::cart::Item;\n+use crate::cart::{Cart, Item};\n\nfn f(x: Cart<Item>) {}\n"),
    (RUST, "src/here.rs", "use std::fmt;\n\nuse crate::a::A;\n+use crate::deep::Till;\n\nfn f(x: Till) {}\n"),
    (RUST, "src/here.rs", "#[cfg(test)]\nuse crate::cart::Item;\n\nfn f(x: Cart) {}\n"),
    (RUST, "src/here.rs", "+use crate::cart::Cart;\nuse std::fmt;\n#[cfg(test)]\nuse crate::cart::Item;\n\nfn f(x: Cart) {}\n"),
    (RUST, "src/here.rs", '+use crate::cart::Cart;\nuse std::fmt;\n\nfn f(x: Cart) { g(br#"\nuse std::io;\n"#) }\n'),
    (RUST, "src/here.rs", "use std::fmt;\nuse super::*;\n\nfn f(x: Cart) {}\n"),
    (RUST, "src/here.rs", "use crate::{a::A, b::B};\n\nfn f(x: Cart) {}\n"),
    (RUST, "src/here.rs", "use std::fmt;\n\nfn f(x: Hidden) { fill() }\n"),
    # through modules that others may name, and in crates that this one depends on
    (RUST, "src/deep/here.rs", "+use crate::deep::till::Coin;\nuse std::fmt;\n\nfn f(x: Coin) {}\n"),
    (RUST, "src/here.rs", "use std::fmt;\n\nfn f(x: Coin) {}\n"),
    (RUST, "src/here.rs", "+use crate::deep::saw::Saw;\nuse std::fmt;\n\nfn f(x: Saw) {}\n"),
    (RUST, "src/here.rs", "+use crate::deep::saw::blade::Blade;\nuse std::fmt;\n\nfn f(x: Blade) {}\n"),
    (RUST, "src/here.rs", "+use crate::deep::nail::Nail;\nuse std::fmt;\n\nfn f(x: Nail) {}\n"),
    (RUST, "src/here.rs", "use std::fmt;\n\nfn f(x: Only, y: Loose, z: Beside) {}\n"),
    (CRATES, "front/src/here.rs", "+use shop_core::cart::Cart;\nuse std::fmt;\n\nfn f(x: Cart) {}\n"),
    (CRATES, "back/src/here.rs", "use std::fmt;\n\nfn f(x: Cart) {}\n"),
    (CRATES, "named/src/inner.rs", "+use crate::coin::Coin;\nuse std::fmt;\n\nfn f(x: Coin) {}\n"),
    (CRATES, "named/src/inner.rs", "-use crate::coin::Dime;\n+use crate::coin::{Coin, Dime};\n\nfn f(x: Coin) {}\n"),
    (CRATES, "named/src/own.rs", "use std::fmt;\n+use till_count::coin::Coin;\n\nfn f(x: Coin) {}\n"),
    (CRATES, "both/src/main.rs", "+use crate::own::Own;\nuse std::fmt;\n\nmod own;\n\nfn f(x: Own) {}\n"),
    (CRATES, "both/src/main.rs", "use std::fmt;\n\nmod own;\n\nfn f(x: Saw) {}\n"),
    (JAVA, HERE, f"{HEAD}\nimport a.b.X;\n+import a.shop.Cart;\nimport a.tree.Y;\n\nclass Here {{ Cart x; }}\n"),
    (JAVA, HERE, f"{HEAD}\nimport java.util.*;\n+\n+import a.till.Till;\n\nclass Here {{ Till x; }}\n"),
    (JAVA, HERE, f"{HEAD}+\n+import a.till.Till;\n\nclass Here {{ Till x; }}\n"),
    (JAVA, HERE, f"{HEAD}+\n+import a.till.Till;\n/*\nimport a.b.X;\n*/\nclass Here {{ Till x; }}\n"),
    (JAVA, HERE, f"{HEAD}\nimport b.*;\n\nclass Here {{ Till x; }}\n"),
    (JAVA, HERE, "package a.till;\n\nclass Here { Till x; }\n"),
    (JAVA, HERE, f"{HEAD}\nclass Here {{ Own x; TillMaker y; }}\n"),
    (PROJECTS, f"front/{HERE}", f"{HEAD}\nimport a.b.X;\n+import a.shop.Cart;\n\nclass Here {{ Cart x; }}\n"),
    (PROJECTS, f"back/{HERE}", f"{HEAD}\nimport a.b.X;\n\nclass Here {{ Cart x; }}\n"),
    ({"cart.rb": "class Cart\nend\n"}, "here.rb", "Cart.new\n"),
]  # fmt: skip


def index_of(files: Mapping[str, str]) -> Index:
    """Return what the index knows of *files*."""
    entries: dict[str, Entry | None] = {}
    for path, text in files.items():
        if language := language_of(path):
            entries[path] = Entry(language, (0, 0), names(read_syntax(language, text).definitions))
    return update_index(Index(), entries)


def imported(files: Mapping[str, str], path: str, text: str) -> str:
    """Return *text* with the first import that is offered in it, or as it is."""
    lines, language = tuple(text.split("\n")), language_of(path)
    known, row = index_of(files), language_row(language)
    texts = {name: File(name, tuple(each.split("\n"))) for name, each in files.items()}
    origins = find_candidates(known, path, language, lines, ())
    free = {each.name: each for each in free_names(language, text, [o.word for o in origins])}
    for origin in origins:
        if row is None or origin.word not in free:
            continue
        others = [each for name, each in texts.items() if name != origin.home]
        needed = row.needs(origin.home, path)
        more = {each: texts[each] for each in needed if each in texts}
        about = Known(texts[origin.home], others, more, known.entries.keys())
        found = missing_import(language, File(path, lines), origin, free[origin.word], about)
        if found:
            end = found.line + len(found.before)
            assert lines[found.line : end] == found.before
            return "\n".join((*lines[: found.line], *found.after, *lines[end:]))
    return text


@pytest.mark.parametrize(("files", "path", "text"), CASES, ids=lambda each: repr(each)[:90])
def test_the_import_that_is_offered(files: dict[str, str], path: str, text: str) -> None:
    """It is the line that the user would write, where it would stand; nothing where that is not sure."""
    rows = text.split("\n")
    before = "\n".join(row.removeprefix("-") for row in rows if not row.startswith("+"))
    after = "\n".join(row.removeprefix("+") for row in rows if not row.startswith("-"))

    assert imported(files, path, before) == after


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        ((), ("x = Cart",), "Cart"),
        (("f()",), ("f(Cart)",), "Cart"),
        (("f()",), ("f(Cart())",), ""),
        (("x",), ("x = Cart", ""), ""),
        (("f(Cart)", "y"), ("y",), ""),
        (("a", "f()", "b"), ("a", "f(Ca)", "b"), "Ca"),
    ],
)
def test_the_word_that_is_typed(before: tuple[str, ...], after: tuple[str, ...], word: str) -> None:
    """That at the end of what came."""
    assert find_typed_word(before, after) == word


def test_a_name_that_went_is_not_wanted() -> None:
    """It was in the text before the edit."""
    known = index_of(PYTHON)
    assert find_candidates(known, "shop/here.py", "python", ["Cart()"], [])
    assert find_candidates(known, "shop/here.py", "python", ["Cart()"], ["Cart"]) == []
