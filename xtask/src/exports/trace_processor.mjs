// What Perfetto's trace processor answers of a trace: the WebAssembly that its page loads, in a page of its own.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import protobuf from "protobufjs";

// What is used here of protos/perfetto/trace_processor/trace_processor.proto.
const { root } = protobuf.parse(
  `syntax = "proto2";
  message Stream { repeated Call msg = 1; }
  message Call {
    optional int32 request = 2;
    optional string fatal_error = 5;
    optional bytes append_trace_data = 101;
    optional Query query_args = 103;
    optional Appended append_result = 201;
    optional Result query_result = 203;
  }
  message Query { optional string sql_query = 1; }
  message Appended { optional string error = 2; }
  message Result { optional string error = 2; repeated Batch batch = 3; }
  message Batch {
    repeated int64 varint_cells = 2 [packed = true];
    optional string string_cells = 5;
    optional bool is_last_batch = 6;
  }`,
  { keepCase: true },
);
const stream = root.lookupType("Stream");
const [APPEND, FINALIZE, QUERY] = [1, 2, 3];
const TYPES = { ".js": "text/javascript", ".wasm": "application/wasm" };

/** The rows of each query, each a text and a number: numbers by their texts. `files` is where the page's files are. */
export const queried = async (browser, files, trace, queries) => {
  const server = createServer(({ url }, response) => {
    const type = TYPES[extname(url)];
    response.setHeader("Content-Type", type ?? "text/html");
    response.end(type && readFileSync(join(files, url)));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const requests = [
    { request: APPEND, append_trace_data: readFileSync(trace) },
    { request: FINALIZE },
    ...queries.map((sql_query) => ({ request: QUERY, query_args: { sql_query } })),
  ].map((call) => [...stream.encode({ msg: [call] }).finish()]);
  // What is asked here has few rows, so that each answer is one message.
  const answers = await page.evaluate(
    (requests) =>
      new Promise((resolve, reject) => {
        const { port1, port2 } = new MessageChannel();
        const worker = new Worker("/engine_bundle.js");
        const answers = [];
        worker.onerror = ({ message }) => reject(new Error(message));
        setTimeout(() => reject(new Error(`${answers.length} answers in 120 s`)), 120_000);
        port2.onmessage = ({ data }) => {
          if (answers.push([...data]) === requests.length) resolve(answers);
        };
        worker.postMessage(port1, [port1]);
        for (const request of requests) port2.postMessage(new Uint8Array(request));
      }),
    requests,
  );
  await page.close();
  server.close();
  const calls = answers.flatMap((answer) => stream.decode(Uint8Array.from(answer)).msg);
  const tables = calls.map(({ fatal_error, append_result, query_result }) => {
    assert.ok(!fatal_error && !append_result?.error && !query_result?.error, JSON.stringify(calls));
    if (!query_result) return null;
    const [{ string_cells, varint_cells, is_last_batch }, ...others] = query_result.batch;
    assert.ok(is_last_batch && others.length === 0, JSON.stringify(query_result));
    // Each text ends with a zero.
    const texts = string_cells.split("\0").slice(0, -1);
    assert.equal(texts.length, varint_cells.length, JSON.stringify(query_result));
    return Object.fromEntries(texts.map((text, row) => [text, Number(varint_cells[row])]));
  });
  return tables.slice(2);
};
