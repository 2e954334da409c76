#!/bin/sh
# Templates of prompts: a partial that stands indented on a line of its own, and in it a value of several lines, such as code.
# Handlebars indents the value's lines from the second on, so code is changed; mustache.js, chevron and pystache indent the lines of the
# template only, as the specification of Mustache says. Handlebars does not with `preventIndent`, and then indents none.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" handlebars@4.7.10 mustache@4.2.0
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check chevron==0.14.0 pystache==0.6.8
cd "$folder"
cat >ask.mjs <<'END'
import Handlebars from "handlebars";
import Mustache from "mustache";

const template = "<\n  {{> part}}\n>";
const part = "{{{code}}}\nend\n";
const values = { code: "if a:\n    b\nc" };
Handlebars.registerPartial("part", part);
const seen = {
  handlebars: Handlebars.compile(template)(values),
  "handlebars, preventIndent": Handlebars.compile(template, { preventIndent: true })(values),
  mustache: Mustache.render(template, values, { part }),
};
console.log(seen);
const expected = {
  handlebars: "<\n  if a:\n      b\n  c\n  end\n>",
  "handlebars, preventIndent": "<\n  if a:\n    b\nc\nend\n>",
  mustache: "<\n  if a:\n    b\nc\n  end\n>",
};
process.exit(JSON.stringify(seen) === JSON.stringify(expected) ? 0 : 1);
END
echo "handlebars 4.7.10, mustache 4.2.0, chevron 0.14.0, pystache 0.6.8"
node ask.mjs
venv/bin/python - <<'END'
import sys

import chevron
import pystache

template, part = "<\n  {{> part}}\n>", "{{{code}}}\nend\n"
values = {"code": "if a:\n    b\nc"}
seen = [
    chevron.render(template, values, partials_dict={"part": part}),
    pystache.Renderer(partials={"part": part}).render(template, values),
]
print(seen)
sys.exit(seen != ["<\n  if a:\n    b\nc\n  end\n>"] * 2)
END
