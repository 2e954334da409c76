#!/bin/sh
# Server-sent events whose data is plain text, as the words of a model: are the spaces of code kept?
# By the standard one space behind the colon belongs to the field, the others to the data. fetch-event-stream takes them all, so
# "    return x" loses its indent; it passes over `data` alone, an empty line; and it tells of a block without data, as `retry: 3000`, that
# the standard drops. parse-sse has all three right.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" fetch-event-stream@0.1.6 parse-sse@0.1.0
cd "$folder"
cat >ask.mjs <<'END'
import { events } from "fetch-event-stream";
import { parseServerSentEvents } from "parse-sse";

const text = "data: def f(x):\ndata\ndata:     return x\n\nretry: 3000\n\ndata: end\n\n";

async function read(parse) {
  const response = new Response(text, { headers: { "content-type": "text/event-stream" } });
  const found = [];
  for await (const event of parse(response)) found.push(event.data ?? null);
  return found;
}

const seen = { "fetch-event-stream": await read(events), "parse-sse": await read(parseServerSentEvents) };
console.log("fetch-event-stream 0.1.6, parse-sse 0.1.0", seen);
const expected = {
  "fetch-event-stream": ["def f(x):\nreturn x", null, "end"],
  "parse-sse": ["def f(x):\n\n    return x", "end"],
};
process.exit(JSON.stringify(seen) === JSON.stringify(expected) ? 0 : 1);
END
node ask.mjs
