#!/bin/sh
# web-tree-sitter: does it load grammars that were built for an older one, such as the 36 of tree-sitter-wasms?
# Up to 0.25 it does, 0.26 does not, and its error has no message. The wasm file of tree-sitter-python's own package needs 0.25 at
# least (0.24 says why: language version 15), so 0.25 alone loads both.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" a24@npm:web-tree-sitter@0.24.7 a25@npm:web-tree-sitter@0.25.10 a26@npm:web-tree-sitter@0.26.3
npm install --silent --no-audit --no-fund --ignore-scripts --legacy-peer-deps --prefix "$folder" tree-sitter-wasms@0.1.13 tree-sitter-python@0.25.0
cd "$folder"
cat >load.cjs <<'END'
const files = ["tree-sitter-wasms/out/tree-sitter-python.wasm", "tree-sitter-python/tree-sitter-python.wasm"];

async function load(name) {
  const library = require(name);
  const Parser = library.Parser ?? library;
  await Parser.init();
  const Language = library.Language ?? Parser.Language;
  const said = [];
  for (const file of files) {
    try {
      const parser = new Parser();
      parser.setLanguage(await Language.load(`node_modules/${file}`));
      said.push(parser.parse("x = 1").rootNode.type);
    } catch (error) {
      said.push(`error '${error.message}'`);
    }
  }
  return said;
}

(async () => {
  const seen = {};
  for (const name of ["a24", "a25", "a26"]) seen[name] = await load(name);
  console.log(seen);
  const expected = {
    a24: ["module", "error 'Incompatible language version 15. Compatibility range 13 through 14.'"],
    a25: ["module", "module"],
    a26: ["error ''", "module"],
  };
  process.exit(JSON.stringify(seen) === JSON.stringify(expected) ? 0 : 1);
})();
END
node load.cjs
