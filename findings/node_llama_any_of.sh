#!/bin/sh
# node-llama-cpp: what does it make of keywords of JSON schema that it has not?
# Grammars of something else, without an error: `anyOf` and `allOf` allow the word null only (`oneOf` is right), bounds, `pattern` and `not` are
# left out, and keys that are not `required` have to be there all the same. A type of text and its length are right.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --omit=optional --prefix "$folder" node-llama-cpp@3.22.1 @node-llama-cpp/linux-x64@3.22.1
cd "$folder"
cat >ask.mjs <<'END'
import { getLlama } from "node-llama-cpp";

const llama = await getLlama({ gpu: false, build: "never", logLevel: "error", progressLogs: false });

async function rule(schema) {
  const { grammar } = await llama.createGrammarForJsonSchema(schema);
  return grammar.split("\n")[0].replace(' "\\n\\n\\n\\n" [\\n]*', "");
}

const kinds = [{ type: "integer" }, { type: "boolean" }];
const seen = {
  anyOf: await rule({ anyOf: kinds }),
  oneOf: await rule({ oneOf: kinds }),
  minimum: await rule({ type: "integer", minimum: 5, not: { const: 7 } }),
  minLength: await rule({ type: "string", minLength: 2, maxLength: 3 }),
  pattern: await rule({ type: "string", pattern: "^a+$" }),
  optional: (await rule({ type: "object", properties: { a: kinds[0], b: kinds[0] }, required: ["a"] })).match(/"\\"\w\\"".*?rule/g),
};
console.log("node-llama-cpp 3.22.1", seen);
const integer = "integer-number-rule";
const expected = {
  anyOf: "root ::= null-rule",
  oneOf: `root ::= ( ${integer} | boolean-rule )`,
  minimum: `root ::= ${integer}`,
  minLength: 'root ::= "\\"" ( string-char-rule ){2,3} "\\""',
  pattern: 'root ::= "\\"" string-char-rule* "\\""',
  optional: [`"\\"a\\"" ":" [ ]? ${integer}`, `"\\"b\\"" ":" [ ]? ${integer}`],
};
process.exit(JSON.stringify(seen) === JSON.stringify(expected) ? 0 : 1);
END
node ask.mjs
