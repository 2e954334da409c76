// Looks at the page of a local port in a headless Chromium, as tests/editors/test_page.py asks: pictures of it into a
// folder, and one JSON object of what was seen on stdout. Runs in the folder that has the npm packages.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const load = (name) => import(pathToFileURL(createRequire(`${process.cwd()}/`).resolve(name)).href);
const { default: puppeteer } = await load("puppeteer-core");
const { default: chromium } = await load("@sparticuz/chromium");

const [address, folder] = process.argv.slice(2);
const browser = await puppeteer.launch({
  args: [...chromium.args, "--no-sandbox"],
  executablePath: await chromium.executablePath(),
  headless: "shell",
});
const page = await browser.newPage();
const seen = { errors: [], elsewhere: [], pictures: {} };
page.on("console", (message) => message.type() === "error" && seen.errors.push(message.text()));
page.on("pageerror", (error) => seen.errors.push(String(error)));
page.on("request", (request) => {
  if (!request.url().startsWith(new URL(address).origin)) seen.elsewhere.push(request.url());
});

const wait = (ms) => new Promise((done) => setTimeout(done, ms));
// waitForFunction would compile text in the page, which its policy forbids.
async function until(found) {
  for (let n = 0; n < 60 && !(await page.evaluate(found)); n += 1) await wait(100);
}

const VIEWS = {
  dark: { scheme: "dark", width: 1180, height: 900 },
  light: { scheme: "light", width: 1180, height: 900 },
  phone: { scheme: "dark", width: 390, height: 844, isMobile: true, deviceScaleFactor: 2 },
};
await page.emulateMediaFeatures([{ name: "prefers-reduced-motion", value: "reduce" }]);
await page.goto(address, { waitUntil: "load" });
await until(() => document.querySelectorAll("#parts details").length > 1);
seen.hash = await page.evaluate(() => location.hash);
for (const [name, { scheme, ...viewport }] of Object.entries(VIEWS)) {
  await page.setViewport(viewport);
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  const [wide, across] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  seen.pictures[name] = { overflows: wide > across };
  await page.screenshot({ path: `${folder}/page-${name}.png`, fullPage: true });
}

// By keyboard: to the first part, open it, read it.
await page.evaluate(() => document.querySelector("#pause").focus());
const stops = [];
for (let n = 0; n < 12; n += 1) {
  await page.keyboard.press("Tab");
  const stop = await page.evaluate(() => document.activeElement.tagName);
  stops.push(stop);
  if (stop === "SUMMARY") break;
}
await page.keyboard.press("Enter");
seen.opened = await page.evaluate(() => document.activeElement.parentElement.open === true);
await wait(2500); // it is drawn again meanwhile, and must stay open
seen.stays = await page.evaluate(() => document.querySelector("#parts details").open);
seen.stops = stops;
await page.$$eval("#parts details", (all) => all.forEach((each) => { each.open = true; }));
seen.text = await page.evaluate(() => document.body.innerText);
seen.markup = await page.evaluate(() => document.querySelectorAll("#parts pre *").length);
seen.unnamed = await page.evaluate(() =>
  [...document.querySelectorAll("button, a, summary, svg[role], section, img")]
    .filter((each) => !(each.innerText || each.getAttribute("aria-labelledby") || each.hasAttribute("alt") || each.getAttribute("aria-label")))
    .map((each) => each.outerHTML.slice(0, 80)));
const tree = await page.accessibility.snapshot();
seen.headings = tree.children.filter((each) => each.role === "heading").map((each) => each.name);
process.stdout.write(JSON.stringify(seen));
await browser.close();
