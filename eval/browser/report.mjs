// Opens each file that is named in a headless Chromium, and fails where one asks for anything, complains, is
// not readable in the dark, on paper or without JavaScript, or cannot be used by keys or a screen reader.
//
// node report.mjs CHROMIUM FOLDER FILE...: screenshots go to FOLDER.

import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import axe from "axe-core";

const [executablePath, folder, ...files] = process.argv.slice(2);
const faults = [];
// A container's root has no namespace to make a sandbox of.
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });

/** A page that tells of whatever it asks for or complains of. */
async function opened(file, name, options) {
  const context = await browser.newContext({ viewport: { width: 1000, height: 800 }, ...options });
  const page = await context.newPage();
  const own = pathToFileURL(path.resolve(file)).href;
  page.on("request", (request) => {
    if (request.url() !== own) faults.push(`${name} asks for ${request.url()}`);
  });
  for (const event of ["console", "pageerror"]) {
    page.on(event, (message) => faults.push(`${name} complains: ${message.text?.() ?? message}`));
  }
  page.on("dialog", (dialog) => {
    faults.push(`${name} runs what stood in a word: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.goto(own);
  const strange = await page.evaluate(() => {
    const tags = "img,iframe,object,embed,base,link,form,input,video,audio,meta[http-equiv=refresh],[onerror],[onload],[onmouseover]";
    const own = document.querySelectorAll("details.samples").length > 0 ? 1 : 0;
    const elements = [...document.querySelectorAll(tags)];
    return [...elements.map((element) => element.outerHTML), ...[...document.scripts].slice(own).map((script) => script.text)];
  });
  for (const markup of strange) faults.push(`${name} has markup of a word: ${markup.slice(0, 80)}`);
  return { context, page };
}

for (const file of files) {
  const base = path.basename(file, ".html");
  const size = fs.statSync(file).size;
  const words = new Map();
  for (const [look, options] of [
    ["light", { colorScheme: "light" }],
    ["dark", { colorScheme: "dark" }],
    ["narrow", { viewport: { width: 390, height: 800 } }],
    ["without JavaScript", { javaScriptEnabled: false }],
  ]) {
    const name = `${base} (${look})`;
    const { context, page } = await opened(file, name, options);
    words.set(look, await page.locator("main").innerText());
    if (look === "narrow") {
      const wider = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      if (wider > 0) faults.push(`${name}: the page is ${wider} pixels wider than the screen`);
    }
    await page.screenshot({ path: path.join(folder, `${base}-${look.replace(" ", "-")}.png`), fullPage: true });
    await context.close();
  }
  if (words.get("light") !== words.get("without JavaScript")) {
    faults.push(`${base}: without JavaScript it says something else`);
  }
  if (words.get("light").trim().length < 40) faults.push(`${base}: there is nothing to read`);

  // On paper whatever is folded is open, as nobody can open it there; but nobody prints every sample.
  {
    const { context, page } = await opened(file, `${base} (print)`, {});
    await page.emulateMedia({ media: "print" });
    const hidden = await page.evaluate(
      () => [...document.querySelectorAll("details:not(.samples) > :not(summary)")].filter((part) => !part.checkVisibility()).length,
    );
    if (hidden > 0) faults.push(`${base}: ${hidden} folded parts are not printed`);
    await page.pdf({ path: path.join(folder, `${base}.pdf`) });
    await context.close();
  }

  // By keys alone: the first is the way to the answers, and every folded part opens and closes.
  {
    const { context, page } = await opened(file, `${base} (keys)`, {});
    await page.keyboard.press("Tab");
    const first = await page.evaluate(() => document.activeElement.getAttribute("href"));
    if (first !== "#answers") faults.push(`${base}: the first key leads to ${first}`);
    const folded = page.locator("summary");
    for (let place = 0; place < (await folded.count()); place++) {
      const summary = folded.nth(place);
      if (!(await summary.isVisible())) continue;
      await summary.focus();
      await page.keyboard.press("Enter");
      const open = await summary.evaluate((element) => element.parentElement.open);
      if (!open) faults.push(`${base}: Enter does not open "${await summary.innerText()}"`);
    }
    await page.screenshot({ path: path.join(folder, `${base}-unfolded.png`), fullPage: true });
    await context.close();
  }

  // Samples are drawn when they are unfolded, each time within a moment.
  {
    const { context, page } = await opened(file, `${base} (samples)`, {});
    const parts = page.locator("details.samples");
    for (let place = 0; place < (await parts.count()); place++) {
      const part = parts.nth(place);
      const began = Date.now();
      await part.locator("summary").click();
      await part.locator("canvas").waitFor({ timeout: 5000 });
      const drawn = await part.evaluate((part) => {
        const canvas = part.querySelector("canvas");
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return data.some((value) => value > 0);
      });
      if (!drawn) faults.push(`${base}: ${await part.locator("summary").innerText()}: nothing is drawn`);
      console.log(`${base}: ${await part.locator("summary").innerText()}: drawn after ${Date.now() - began} ms`);
    }
    if ((await parts.count()) > 0) await page.screenshot({ path: path.join(folder, `${base}-samples.png`), fullPage: true });
    await context.close();
  }

  // What screen readers stumble over, with everything unfolded, in the light and in the dark.
  for (const colorScheme of ["light", "dark"]) {
    const { context, page } = await opened(file, `${base} (axe)`, { colorScheme, bypassCSP: true });
    await page.evaluate(() => document.querySelectorAll("details").forEach((part) => (part.open = true)));
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate(() => window.axe.run());
    for (const { id, impact, help, nodes } of violations) {
      if (impact === "serious" || impact === "critical") {
        faults.push(`${base} (${colorScheme}): ${id}: ${help}: ${nodes.slice(0, 3).map((node) => node.html).join(" ")}`);
      }
    }
    await context.close();
  }

  // When the first words are seen.
  const { context, page } = await opened(file, `${base} (paint)`, {});
  const paint = await page.evaluate(
    () =>
      new Promise((resolve) => {
        const known = performance.getEntriesByName("first-contentful-paint")[0];
        if (known) return resolve(known.startTime);
        new PerformanceObserver((list) => resolve(list.getEntries()[0].startTime)).observe({ type: "paint", buffered: true });
      }),
  );
  console.log(`${base}: ${(size / 1024).toFixed(0)} KiB, first paint after ${paint.toFixed(0)} ms`);
  await context.close();
}

await browser.close();
for (const fault of new Set(faults)) console.error(`fault: ${fault}`);
process.exit(faults.length > 0 ? 1 : 0);
