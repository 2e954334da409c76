// Asks fim-lsp every second what it does, and shows it. All text is set as text, never as markup: it may be
// anyone's code.
"use strict";

const EVERY_MS = 1000;
const SVG = "http://www.w3.org/2000/svg";

const token = location.hash.slice(1) || sessionStorage.getItem("token") || "";
if (token) sessionStorage.setItem("token", token);
if (location.hash) history.replaceState(null, "", location.pathname);

const at = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en");
const plural = (n, word) => `${number.format(n)} ${word}${n === 1 ? "" : "s"}`;

function element(name, { text = "", kind = "" } = {}, ...children) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  if (kind) made.className = kind;
  made.append(...children);
  return made;
}

function shape(name, attributes, kind = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (kind) made.setAttribute("class", kind);
  return made;
}

// Only what changed is touched, so that a screen reader and a selection are left alone.
function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const drawn = new Map();
function changed(id, value) {
  const now = JSON.stringify(value);
  if (drawn.get(id) === now) return false;
  drawn.set(id, now);
  return true;
}

function figures(id, pairs) {
  if (!changed(id, pairs)) return;
  at(id).replaceChildren(
    ...pairs.map(([name, value]) => element("div", {}, element("dt", { text: name }), element("dd", { text: value }))),
  );
}

function showModel({ backend }) {
  const dot = at("model").querySelector(".dot");
  if (dot.className !== `dot ${backend.state}`) dot.className = `dot ${backend.state}`;
  const model = backend.model || backend.kind;
  say(at("model").querySelector(".words"), [`${model}: ${backend.state}`, backend.message].filter(Boolean).join(" · "));
}

function showNow({ stats }) {
  const last = stats.last;
  const { tokens, latencyMs, backend } = stats;
  if (last) say(at("last"), last.shown ? `The last suggestion comes from ${last.reason}.` : `No suggestion was shown: ${last.reason}.`);
  const all = tokens.cached + tokens.evaluated;
  const guess = (what) => (backend.guessed.includes(what) ? ", estimated" : "");
  figures("figures", [
    ["from the cache", all ? `${Math.floor((1000 * tokens.cached) / all) / 10} %${guess("cached")}` : "–"],
    ["answered in, median", `${Math.round(latencyMs.p50)} ms`],
    ["95 of 100 within", `${Math.round(latencyMs.p95)} ms`],
    ["inside words, median", `${Math.round(latencyMs.inWords.p50)} ms`],
    ["95 of 100 within", `${Math.round(latencyMs.inWords.p95)} ms`],
    ["shown", number.format(stats.shown)],
    ["accepted", number.format(stats.accepted + stats.partlyAccepted)],
    ["context", backend.contextTokens ? plural(backend.contextTokens, "token") + guess("context") : "–"],
    ...(backend.guessed.includes("confidence") ? [["confidence", "not told: suggestions and minConfidence change nothing"]] : []),
  ]);
}

function showKeys(keys) {
  if (!changed("keys", keys)) return;
  const width = 600, height = 120, step = width / 120;
  const most = Math.max(16, ...keys.map(([, , evaluated, ahead]) => evaluated + ahead));
  // a logarithm: a jump costs a thousand times what a key costs
  const tall = (n) => (n ? (height * Math.log2(1 + n)) / Math.log2(1 + most) : 0);
  const bars = keys.map(([outcome, ms, evaluated, ahead], index) => {
    const x = width - (keys.length - index) * step;
    const all = tall(evaluated + ahead), own = tall(evaluated);
    const title = shape("title", {});
    title.textContent = `${plural(evaluated, "token")} while you waited, ${number.format(ahead)} ahead of you, ${Math.round(ms)} ms: ${outcome}`;
    return shapeGroup(title,
      shape("rect", { x, y: height - all, width: step - 1, height: all - own }, "ahead"),
      shape("rect", { x, y: height - Math.max(own, 2), width: step - 1, height: Math.max(own, 2) }, own ? "evaluated" : "none"),
    );
  });
  at("keys").replaceChildren(shape("line", { x1: 0, y1: height, x2: width, y2: height }), ...bars);
  const costs = keys.map(([, , evaluated]) => evaluated).sort((a, b) => a - b);
  const median = costs[Math.floor(costs.length / 2)] ?? 0;
  say(at("keys-words"), keys.length
    ? `The last ${plural(keys.length, "request")}: ${plural(median, "token")} in the median while you waited, at most ${number.format(costs.at(-1))}. Grey was evaluated ahead of you.`
    : "No request yet.");
}

function shapeGroup(...children) {
  const group = shape("g", {});
  group.append(...children);
  return group;
}

function showPrompt({ note, parts }) {
  if (!changed("prompt", [note, parts])) return;
  say(at("note"), note.charAt(0).toUpperCase() + note.slice(1) + ".");
  const counted = parts.filter((part) => part.tokens);
  at("bar").replaceChildren(...counted.map((part) => {
    const piece = shape("svg", { viewBox: `0 0 ${part.tokens} 1`, preserveAspectRatio: "none" });
    piece.style.flex = `${part.tokens} 1 0`;
    const title = shape("title", {});
    title.textContent = `${part.part}: ${plural(part.tokens, "token")}, ${part.cached} kept`;
    piece.append(title,
      shape("rect", { x: 0, y: 0, width: part.cached, height: 1 }, "kept"),
      shape("rect", { x: part.cached, y: 0, width: part.tokens - part.cached, height: 1 }, "fresh"),
    );
    return piece;
  }));
  const open = new Set([...at("parts").querySelectorAll("details[open]")].map((each) => each.dataset.name));
  const focused = document.activeElement?.closest?.("details")?.dataset.name;
  at("parts").replaceChildren(...parts.map((part, index) => {
    const name = `${part.part} ${index}`;
    const count = part.tokens === null ? "" : `${plural(part.tokens, "token")}${part.tokens ? `, ${number.format(part.cached)} kept` : ""}`;
    const head = element("summary", {},
      element("span", { text: part.part, kind: "what" }),
      element("span", { text: count, kind: "count" }),
      element("span", { text: part.why, kind: "why" }),
    );
    const text = element("pre", { text: part.text || "(empty)" });
    text.tabIndex = 0;
    const details = element("details", {}, head, text);
    details.dataset.name = name;
    details.open = open.has(name);
    return details;
  }));
  if (focused) [...at("parts").children].find((each) => each.dataset.name === focused)?.querySelector("summary").focus();
}

function showTaken(stats) {
  const accepted = stats.accepted + stats.partlyAccepted;
  const share = stats.shown ? `${Math.round((100 * accepted) / stats.shown)} %` : "–";
  const counts = [stats.shown, accepted].map((each) => number.format(each));
  const cells = [...counts, share, number.format(stats.acceptedChars)].map((text) => element("td", { text }));
  at("taken").replaceChildren(element("tr", {}, ...cells));
}

function showAdvice(advice) {
  if (!changed("advice", advice)) return;
  const items = advice.map(({ level, says, fix }) =>
    element("li", { kind: level }, element("span", { text: says }), ...(fix ? [element("span", { text: fix, kind: "fix" })] : [])),
  );
  at("advice").replaceChildren(...(items.length ? items : [element("li", { text: "nothing yet: the model is not ready", kind: "warn" })]));
}

function showQuiet({ until, why }) {
  say(at("quiet"), why);
  say(at("snooze"), until ? `Quiet until ${until}: suggest again` : "Quiet for 10 minutes");
}

function show(state) {
  showQuiet(state.quiet);
  showModel(state.stats);
  showNow(state);
  showKeys(state.keys);
  showPrompt(state.prompt);
  showTaken(state.stats);
  showAdvice(state.advice);
  const asked = Object.entries(state.requests).map(([path, n]) => [path, number.format(n)]);
  const refused = Object.entries(state.refused).map(([why, n]) => [`refused: ${why}`, number.format(n)]);
  figures("programs", [...asked, ...refused].length ? [...asked, ...refused] : [["requests", "none"]]);
  say(at("version"), `fim-lsp ${state.version}. This page is on your machine and loads nothing from elsewhere.`);
}

function trouble(text) {
  at("trouble").hidden = !text;
  say(at("trouble"), text);
}

let paused = false;
at("pause").addEventListener("click", () => {
  paused = !paused;
  at("pause").setAttribute("aria-pressed", String(paused));
  say(at("pause"), paused ? "Resume" : "Pause");
});

function ask(path, method) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  return fetch(path, { method, headers, cache: "no-store" });
}

at("snooze").addEventListener("click", async () => {
  try {
    const answer = await ask("/page/snooze", "POST");
    if (answer.ok) showQuiet(await answer.json());
  } catch {
    // the next look says what is wrong
  }
});

async function look() {
  if (!paused && !document.hidden) {
    try {
      const answer = await ask("/page/state", "GET");
      if (answer.status === 401) trouble("This address lacks its token: open the page from your editor, or as `fim-lsp http` prints it.");
      else if (answer.ok) {
        show(await answer.json());
        trouble("");
      } else trouble(`fim-lsp answers with an error (${answer.status}).`);
    } catch (error) {
      trouble(error instanceof TypeError ? "fim-lsp has ended, or cannot be reached." : String(error));
    }
  }
  setTimeout(look, EVERY_MS);
}
look();
