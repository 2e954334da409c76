#!/bin/sh
# jsonrepair (npm): is valid JSON left as it is?
# Not always. The text "{" as a value raises, as does an edit whose new text is "if (x) {" behind an old one that is empty; and of
# ["", "["] it makes ["", "", [""]] in silence. So JSON.parse has to be tried first.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" jsonrepair@3.15.0
cd "$folder"
cat >ask.mjs <<'END'
import { jsonrepair } from "jsonrepair";

function repair(value) {
  try {
    return jsonrepair(JSON.stringify(value));
  } catch (error) {
    return `error: ${error.message}`;
  }
}

const seen = {
  text: repair({ a: "x", b: "if (x) {}" }),
  brace: repair({ a: "{" }),
  edit: repair({ old: "", new: "if (x) {" }),
  bracket: repair(["", "["]),
};
console.log("jsonrepair 3.15.0", seen);
const expected = {
  text: '{"a":"x","b":"if (x) {}"}',
  brace: 'error: Unexpected character "{" at position 6',
  edit: 'error: Unexpected character "{" at position 24',
  bracket: '["","",[""]]',
};
process.exit(JSON.stringify(seen) === JSON.stringify(expected) ? 0 : 1);
END
node ask.mjs
