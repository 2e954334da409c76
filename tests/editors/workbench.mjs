// A VS Code workbench in a headless Chromium, driven line by line: a JSON command on stdin, one
// JSON answer on stdout. Started by tests/editors/vscode.py in the folder that has the npm packages.

import { createRequire } from "node:module";
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const load = (name) => import(pathToFileURL(createRequire(`${process.cwd()}/`).resolve(name)).href);
const { default: puppeteer } = await load("puppeteer-core");
const { default: chromium } = await load("@sparticuz/chromium");

const [address, width, height] = process.argv.slice(2);
const executablePath = await chromium.executablePath();
const launch = () => puppeteer.launch({ args: [...chromium.args, "--no-sandbox"], executablePath, headless: "shell" });
const browser = await launch().catch(launch); // on a busy machine it may end as it starts
const page = await browser.newPage();
await page.evaluateOnNewDocument(() => {
  window.ghostText = () => {
    const texts = (selector) =>
      [...document.querySelectorAll(selector)].map((node) => node.innerText.replaceAll("\u00a0", " "));
    const inside = texts(".view-lines .ghost-text-decoration, .view-lines .ghost-text-decoration-preview");
    return [inside.join(""), ...texts(".view-zones .suggest-preview-text")].join("\n").trimEnd();
  };
  window.ghostTexts = [];
  const look = () => {
    const text = window.ghostText();
    if (text !== window.ghostTexts.at(-1)) window.ghostTexts.push(text);
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
});
await page.setViewport({ width: Number(width), height: Number(height) });
await page.goto(address, { waitUntil: "domcontentloaded", timeout: 120_000 }); // as the tests wait

/** Click; what is drawn again between the look and the click is looked for again. */
async function click(selector) {
  try {
    await page.click(selector);
  } catch (error) {
    if (!String(error).includes("detached")) throw error;
    await click(selector);
  }
}

const marks = () =>
  page.evaluate(() => {
    const plain = (text) => text.replaceAll("\u00a0", " ");
    return [...document.querySelectorAll(":is(.editor-instance, .notebookOverlay) .view-line span")]
      .map((node) => [node.closest(".view-line").textContent, getComputedStyle(node, "::after").content])
      .filter(([, content]) => content.startsWith('"'))
      .map(([line, content]) => [plain(line), plain(content.slice(1, -1))]);
  });

const commands = {
  // Everything the page shows, as text; blanks in the editor are no-break spaces.
  text: () => page.evaluate(() => document.body.innerText.replaceAll("\u00a0", " ")),
  // The text of each element that *selector* finds, from the top.
  texts: (selector) => page.$$eval(selector, (found) => found.map((each) => each.textContent)),
  // The ghost text: what stands inside the line, and what below it.
  ghost: () => page.evaluate(() => window.ghostText()),
  // Every ghost text on screen since the last call, from frame to frame.
  ghosts: () => page.evaluate(() => window.ghostTexts.splice(0)),
  // What decorations add to the lines, from the top.
  added: () => marks().then((found) => found.map(([, text]) => text)),
  // The same, each behind the text of its line.
  marks,
  type: (text) => page.keyboard.type(text, { delay: 30 }),
  paste: (text) =>
    page.evaluate((text) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData("text/plain", text);
      document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
    }, text),
  press: async (keys) => {
    const names = keys.split("+");
    for (const name of names) await page.keyboard.down(name);
    for (const name of names.reverse()) await page.keyboard.up(name);
  },
  click,
  // Away from the middle, where a notebook's buttons for new cells come and go.
  clickLeft: (selector) => page.click(selector, { offset: { x: 5, y: 9 } }),
  // Where the browser was sent besides the workbench.
  opened: async () => browser.targets().map((target) => target.url()).filter((url) => url !== page.url()),
  // Whether some of it can be seen where it stands now.
  inSight: (selector) => page.$(selector).then((node) => node?.isIntersectingViewport() ?? false),
  exists: (selector) => page.$(selector).then((node) => node !== null),
  picture: (path) => page.screenshot({ path }).then(() => path),
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const [name, argument] = JSON.parse(line);
  const answer = await commands[name](argument).then(
    (value) => ({ value: value ?? null }),
    (error) => ({ error: String(error) }),
  );
  console.log(JSON.stringify(answer));
}
await browser.close();
