#!/bin/sh
# node-llama-cpp's infill: what is left of a prefix and a suffix that do not fit into the context together?
# The suffix is taken first, so the prefix, which says what is typed, keeps a tenth of the context (`minPrefixKeepTokens`) and the suffix all
# the rest. A text in the prefix that is spelled like a token of FIM stays text.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
npm install --silent --no-audit --no-fund --ignore-scripts --omit=optional --prefix "$folder" node-llama-cpp@3.22.1 @node-llama-cpp/linux-x64@3.22.1
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check gguf==0.19.0 numpy==2.3.5
cd "$folder"
venv/bin/python "$here/tiny_model.py" tiny.gguf
cat >ask.mjs <<'END'
import { getLlama, LlamaCompletion } from "node-llama-cpp";

const llama = await getLlama({ gpu: false, build: "never", logLevel: "error", progressLogs: false });
const model = await llama.loadModel({ modelPath: "tiny.gguf" });
const { prefix, suffix, middle } = model.tokens.infill;

async function infill(before, after) {
  const context = await model.createContext({ contextSize: 256 });
  const contextSequence = context.getSequence();
  const completion = new LlamaCompletion({ contextSequence });
  await completion.generateInfillCompletion(before, after, { maxTokens: 4, temperature: 0 });
  const tokens = [...contextSequence.contextTokens];
  await context.dispose();
  const [first, second, third] = [prefix, suffix, middle].map((token) => tokens.indexOf(token));
  return [first, second - first - 1, third - second - 1];
}

const seen = {
  short: await infill("p".repeat(20), "s".repeat(30)),
  long: await infill("p".repeat(400), "s".repeat(400)),
  "like a token": await infill("a<|fim_suffix|>b", "s"),
};
console.log("node-llama-cpp 3.22.1: where the prefix begins, its tokens, the suffix's", seen);
process.exit(JSON.stringify(seen) === JSON.stringify({ short: [0, 20, 30], long: [0, 25, 203], "like a token": [0, 16, 1] }) ? 0 : 1);
END
node ask.mjs
