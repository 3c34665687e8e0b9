// Opens each file that is named in a headless Chromium, and fails where one asks for anything, complains, lacks a
// drawing, is not readable in the dark, on paper or without JavaScript, or cannot be used by keys or a screen
// reader. How long anything takes is printed and fails nothing.
//
// node report.mjs CHROMIUM TIMES FOLDER FILE...: a time is taken so often, and screenshots go to FOLDER.

import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import axe from "axe-core";

const [executablePath, times, folder, ...files] = process.argv.slice(2);
const faults = [];
// A container's root has no namespace to make a sandbox of.
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });

/** A page that tells of whatever it asks for or complains of. */
async function opened(file, name, options, go = (page, address) => page.goto(address)) {
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
  await go(page, own);
  const strange = await page.evaluate(() => {
    const tags = "img,iframe,object,embed,base,link,form,input,video,audio,meta[http-equiv=refresh],[onerror],[onload],[onmouseover]";
    const own = document.querySelectorAll("details.samples").length > 0 ? 1 : 0;
    const elements = [...document.querySelectorAll(tags)];
    return [...elements.map((element) => element.outerHTML), ...[...document.scripts].slice(own).map((script) => script.text)];
  });
  for (const markup of strange) faults.push(`${name} has markup of a word: ${markup.slice(0, 80)}`);
  return { context, page };
}

/**
 * What `work` resolves to, a time in milliseconds, and the CPU time that the page's thread has worked until the
 * event `end`, from its mark `begin` on: other programs on this machine do not add to that.
 */
async function timed(page, work, end, begin) {
  await browser.startTracing(page, { categories: ["toplevel", "loading", "blink.user_timing"] });
  const time = await work();
  const { traceEvents } = JSON.parse(await browser.stopTracing());
  const last = traceEvents.findLast((event) => event.name === end);
  const own = traceEvents.filter((event) => event.pid === last.pid && event.tid === last.tid && event.ts <= last.ts);
  const since = own.find((event) => event.name === begin)?.ts ?? 0;
  const tasks = own.filter((event) => event.name === "ThreadControllerImpl::RunTask" && event.ts >= since);
  return { time, work: tasks.reduce((sum, task) => sum + (task.tdur ?? 0), 0) / 1000 };
}

/** The least and the median of several times. */
function inWords(times, key) {
  const sorted = times.map((time) => time[key]).sort((a, b) => a - b);
  return `${sorted[0].toFixed(0)} ms at least, ${sorted[sorted.length >> 1].toFixed(0)} ms by the median of ${sorted.length}`;
}

const unfold = (page) => page.evaluate(() => document.querySelectorAll("details").forEach((part) => (part.open = true)));

/** Drawings that cannot be seen, and words that are cut off or stand on others. Runs in the page. */
function faultsOfDrawings() {
  const faults = [];
  for (const drawing of document.querySelectorAll("figure .drawn > svg")) {
    const name = `${drawing.closest("section")?.querySelector("h2").textContent}: ${drawing.getAttribute("aria-label")}`;
    const all = drawing.getBBox();
    if (!drawing.checkVisibility() || all.width * all.height === 0) faults.push(`${name}: it is not seen`);
    const { width, height } = drawing.viewBox.baseVal;
    const words = [...drawing.querySelectorAll("text")].map((text) => ({ text: text.textContent, box: text.getBBox() }));
    words.forEach(({ text, box }, place) => {
      const [right, bottom] = [box.x + box.width, box.y + box.height];
      if (box.x < -1 || box.y < -1 || right > width + 1 || bottom > height + 1) faults.push(`${name}: "${text}" is cut off`);
      for (const other of words.slice(0, place)) {
        const across = Math.min(right, other.box.x + other.box.width) - Math.max(box.x, other.box.x);
        const down = Math.min(bottom, other.box.y + other.box.height) - Math.max(box.y, other.box.y);
        // Lines of text touch with nothing of their letters.
        if (across > 1 && down > 3) faults.push(`${name}: "${text}" stands on "${other.text}"`);
      }
    });
  }
  return faults;
}

/** Unfolds the first samples, and tells how long it was until the frame that shows them was made. Runs in the page. */
function unfolded() {
  const part = document.querySelector("details.samples");
  return new Promise((resolve) => {
    // Whoever listens later is called later: when this one is, they are drawn.
    part.addEventListener("toggle", () =>
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => {
          performance.mark("samples seen");
          resolve(performance.now() - began);
        };
        port2.postMessage(null);
      }),
    );
    performance.mark("samples unfolded");
    const began = performance.now();
    part.querySelector("summary").click();
  });
}

/** When the first words are seen, from the moment on in which the page is asked for. Runs in the page. */
function painted() {
  return new Promise((resolve) => {
    const known = performance.getEntriesByName("first-contentful-paint")[0];
    if (known) return resolve(known.startTime);
    new PerformanceObserver((list) => resolve(list.getEntries()[0].startTime)).observe({ type: "paint", buffered: true });
  });
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
    await page.screenshot({ path: path.join(folder, `${base}-${look.replace(" ", "-")}.png`), fullPage: true });
    if (look === "narrow") {
      await unfold(page);
      const wider = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      if (wider > 0) faults.push(`${name}: the page is ${wider} pixels wider than the screen`);
    }
    if (look === "light") {
      await unfold(page);
      const figures = fs.readFileSync(file, "utf8").split("<figure>").length - 1;
      const shown = await page.locator("figure").count();
      if (shown !== figures) faults.push(`${name}: of ${figures} figures ${shown} are shown`);
      for (const fault of await page.evaluate(faultsOfDrawings)) faults.push(`${name}: ${fault}`);
      console.log(`${base}: ${(size / 1000).toFixed(0)} kB, figures: ${figures}`);
    }
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

  // Samples are drawn when they are unfolded.
  {
    const { context, page } = await opened(file, `${base} (samples)`, {});
    const parts = page.locator("details.samples");
    for (let place = 0; place < (await parts.count()); place++) {
      const part = parts.nth(place);
      await part.locator("summary").click();
      await part.locator("canvas").waitFor({ timeout: 5000 });
      const drawn = await part.evaluate((part) => {
        const canvas = part.querySelector("canvas");
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return data.some((value) => value > 0);
      });
      if (!drawn) faults.push(`${base}: ${await part.locator("summary").innerText()}: nothing is drawn`);
    }
    if ((await parts.count()) > 0) await page.screenshot({ path: path.join(folder, `${base}-samples.png`), fullPage: true });
    await context.close();
  }

  // What screen readers stumble over, with everything unfolded, in the light and in the dark.
  for (const colorScheme of ["light", "dark"]) {
    const { context, page } = await opened(file, `${base} (axe)`, { colorScheme, bypassCSP: true });
    await unfold(page);
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate(() => window.axe.run());
    for (const { id, impact, help, nodes } of violations) {
      if (impact === "serious" || impact === "critical") {
        faults.push(`${base} (${colorScheme}): ${id}: ${help}: ${nodes.slice(0, 3).map((node) => node.html).join(" ")}`);
      }
    }
    await context.close();
  }

  // How long a reader waits, each time in a page of its own of a browser that runs.
  const paints = [];
  const drawings = [];
  for (let time = 0; time < Number(times); time++) {
    const { context, page } = await opened(file, `${base} (times)`, {}, async (page, address) => {
      const paint = () => page.goto(address).then(() => page.evaluate(painted));
      paints.push(await timed(page, paint, "firstContentfulPaint"));
    });
    if ((await page.locator("details.samples").count()) > 0) {
      drawings.push(await timed(page, () => page.evaluate(unfolded), "samples seen", "samples unfolded"));
    }
    await context.close();
  }
  for (const [what, taken] of [["first paint", paints], ["samples, once unfolded", drawings]]) {
    if (taken.length > 0) console.log(`${base}: ${what}: ${inWords(taken, "time")}; CPU time ${inWords(taken, "work")}`);
  }
}

await browser.close();
for (const fault of new Set(faults)) console.error(`fault: ${fault}`);
process.exit(faults.length > 0 ? 1 : 0);
