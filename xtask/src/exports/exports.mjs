// What other tools make of the files that `tenbin profile --export` wrote of stacks.json: the times of each function,
// held against sums that are made here of that file itself. Arguments: the browser, a Python with Perfetto's
// definitions, and the folder with Perfetto's page.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { chromium } from "playwright-core";
import { queried } from "./trace_processor.mjs";

const [browser, python, page] = process.argv.slice(2);
const stacks = JSON.parse(readFileSync("stacks.json"));
const innermost = (sample) =>
  sample.stack === null ? "[unknown]" : stacks.frames[stacks.stacks[sample.stack].frame].function;
const sums = (samples, name, value = (sample) => sample.time / 1000) => {
  const sums = {};
  for (const sample of samples) {
    sums[name(sample)] = (sums[name(sample)] ?? 0) + value(sample);
  }
  return sums;
};
const inState = (state) => stacks.samples.filter((sample) => sample.state === state);
// As files have it that know only stacks.
const marked = (suffix) => (sample) => {
  if (sample.state !== "on_cpu") return `[${sample.state}]`;
  const frame = sample.stack === null ? null : stacks.frames[stacks.stacks[sample.stack].frame];
  return innermost(sample) + (frame?.module === "[kernel]" ? suffix : "");
};
const withoutZeros = (sums) => Object.fromEntries(Object.entries(sums).filter(([, value]) => value > 0));

for (const [index, state] of [["cpu", "on_cpu"], ["blocked", "blocked"], ["queued", "queued"]]) {
  const options = ["-top", "-unit=ns", "-nodecount=10000", "-nodefraction=0", "-edgefraction=0"];
  const text = execFileSync("go", ["tool", "pprof", ...options, `-sample_index=${index}`, "pprof.pb"]).toString();
  const rows = text.split("\n").map((line) => line.trim().match(/^(\d+)(?:ns)? +\S+ +\S+ +\S+ +\S+ +(.+)$/));
  const read = Object.fromEntries(rows.filter((row) => row).map(([, own, name]) => [name, Number(own)]));
  assert.deepEqual(withoutZeros(read), sums(inState(state), innermost), `pprof, ${index}`);
  console.log(`go tool pprof, ${index}: every function has the time that it has in stacks.json`);
}

const defined = JSON.parse(execFileSync(python, ["read_trace.py", "perfetto.pftrace"]));
assert.deepEqual(defined, sums(stacks.samples.filter(({ state }) => state !== "on_cpu"), innermost));
console.log("Perfetto's definition of a trace: every function has the time off a CPU that it has in stacks.json");

// The Firefox Profiler's own importer asks for a later Node.js than Debian has, and leaves a server behind.
const firefox = (...words) => {
  const node = `node_modules/node-linux-${process.arch}/bin/node`;
  const importer = "node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js";
  return execFileSync(node, [importer, ...words], { env: { ...process.env, HOME: process.cwd() }, timeout: 120_000 });
};
firefox("load", "firefox.json");
try {
  const { threads } = JSON.parse(firefox("thread", "list", "--json"));
  assert.deepEqual(threads.map(({ tid }) => Number(tid)), stacks.threads.map(({ thread }) => thread));
  for (const { threadHandle, threadIndex } of threads) {
    const { functions } = JSON.parse(firefox("thread", "functions", "--thread", threadHandle, "--json"));
    const read = Object.fromEntries(functions.map(({ name, selfSamples }) => [name, Math.round(selfSamples * 1e6)]));
    const own = stacks.samples.filter(({ thread }) => thread === threadIndex);
    assert.deepEqual(withoutZeros(read), sums(own, marked("")), `Firefox Profiler, ${threadHandle}`);
  }
} finally {
  firefox("stop", "--all");
}
console.log("Firefox Profiler: every function of every thread has the time that it has in stacks.json");

// A time as speedscope shows it, in nanoseconds, with half of its last digit.
const shown = (text) => {
  const [, digits, unit] = text.match(/^([\d,.]+)\s*(ns|µs|ms|s|)/);
  const scale = { "": 1, ns: 1, µs: 1e3, ms: 1e6, s: 1e9 }[unit];
  const decimals = digits.split(".")[1]?.length ?? 0;
  return [Number(digits.replaceAll(",", "")) * scale, (0.5 * scale) / 10 ** decimals];
};
const driven = await chromium.launch({
  executablePath: browser,
  args: ["--no-sandbox", "--allow-file-access-from-files"],
});

const [samples, slices, faults] = await queried(driven, page, "perfetto.pftrace", [
  `select frame.name, count(*) from perf_sample join stack_profile_callsite callsite on callsite_id = callsite.id
   join stack_profile_frame frame on frame_id = frame.id group by 1`,
  "select name, sum(dur) from slice group by 1",
  "select name, sum(value) from stats where severity in ('error', 'data_loss') and value > 0 group by 1",
]);
assert.deepEqual(samples, sums(inState("on_cpu"), innermost, (sample) => sample.count));
assert.deepEqual(slices, {
  ...sums(inState("blocked"), () => "blocked"),
  ...sums(inState("queued"), () => "queued"),
});
// A slice's stack is of a later definition than this processor.
const sliceCount = stacks.samples.filter(({ state }) => state !== "on_cpu").length;
assert.deepEqual(faults, { unknown_extension_fields: sliceCount });
console.log("Perfetto's trace processor: samples and slices are those of stacks.json");

const first = stacks.samples.filter((sample) => sample.thread === 0);
for (const [file, expected] of [
  ["folded.txt", sums(stacks.samples, marked("_[k]"))],
  ["speedscope.json", sums(first, marked(""))],
  ["pprof.pb", sums(inState("on_cpu"), innermost)],
]) {
  const page = await driven.newPage();
  page.setDefaultTimeout(120_000);
  const bytes = readFileSync(file).toString("base64");
  // As speedscope's own command opens a file.
  const script = `${process.cwd()}/${file}.js`;
  writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(file)}, "${bytes}")`);
  const index = `file://${process.cwd()}/node_modules/speedscope/dist/release/index.html`;
  await page.goto(`${index}#localProfilePath=${script}`);
  await page.getByText("Sandwich").first().click();
  await page.waitForSelector("tr >> nth=1", { state: "attached" });
  const rows = await page.evaluate(() =>
    [...document.querySelectorAll("tr")].map((row) => [...row.children].map((cell) => cell.innerText.trim())),
  );
  const read = {};
  for (const [, own, name] of rows.filter((row) => row.length >= 3 && /^\d/.test(row[1]))) {
    const [time, blur] = shown(own);
    const [sum, doubt] = read[name] ?? [0, 0];
    read[name] = [sum + time, doubt + blur];
  }
  assert.ok(Object.keys(read).length >= Object.keys(expected).length, `${file}: ${JSON.stringify(rows)}`);
  for (const [name, time] of Object.entries(expected)) {
    const [sum, doubt] = read[name] ?? [NaN, 0];
    assert.ok(Math.abs(sum - time) <= doubt, `${file}, ${name}: ${sum} and not ${time}`);
  }
  console.log(`speedscope, ${file}: every function has the time that it has in stacks.json`);
  await page.close();
}
await driven.close();
