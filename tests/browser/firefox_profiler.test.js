// The Firefox Profiler's own code, as npm has it for the command line, reads what fg-render writes for it: functions
// weigh in a range of time what fg-filter says.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { project, run, save, twoThreads, until } from "./picture.js";

const program = join(dirname(createRequire(import.meta.url).resolve("@firefox-devtools/profiler-cli/package.json")), "dist/profiler-cli.js");
// The path of a socket has to be short.
const sessions = mkdtempSync(join(tmpdir(), "fgff"));
const env = { ...process.env, PROFILER_CLI_SESSION_DIR: sessions };
const ask = (...words) => execFileSync(process.execPath, [program, ...words], { env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

const servers = [];

/**
 * Opens a profile; its server is started here, as the program itself waits half a second for it and no longer. Whoever
 * asks between the server's socket and its last file (the name of the session) takes the socket away as a dead one's.
 */
async function load(path, session) {
  servers.push(spawn(process.execPath, [program, "--daemon", path, "--session", session], { env, stdio: "ignore", timeout: 300_000 }));
  const answers = () => {
    try {
      if (readFileSync(join(sessions, "current.txt"), "utf8").trim() !== session) return false;
      return ask("thread", "list", "--session", session).includes("t-0");
    } catch {
      return false;
    }
  };
  await until(answers, `the profiler has read ${path}`);
}

after(() => {
  for (const server of servers) server.kill();
  rmSync(sessions, { recursive: true, force: true });
});

/** Own and total weight of each function of a thread, in milliseconds, as the profiler reads them. */
function theirs(thread, session) {
  const { functions } = JSON.parse(ask("thread", "functions", "--thread", thread, "--limit", "0", "--include-idle", "--json", "--session", session));
  return Object.fromEntries(functions.map((one) => [one.name, [one.selfSamples, one.totalSamples]]).filter(([, [, total]]) => total > 0));
}

/** The same as fg-filter and fg-render say. */
function ours(recording, range, thread) {
  const part = run("fg-filter", "", "--time", range, "--with-label", `thread=${thread}`, recording);
  const table = run("fg-render", part, "--format", "tsv", "--limit", "0").toString();
  const [head, ...rows] = table.trim().split("\n").map((line) => line.split("\t"));
  const [name, self, total] = ["name", "self", "total"].map((column) => head.indexOf(column));
  assert.ok(name >= 0 && self >= 0 && total >= 0, head.join());
  return Object.fromEntries(rows.map((cells) => [cells[name], [cells[self] / 1e6, cells[total] / 1e6]]));
}

function compare(found, expected, what) {
  assert.deepEqual(Object.keys(found).sort(), Object.keys(expected).sort(), what);
  for (const [name, weights] of Object.entries(expected)) {
    weights.forEach((weight, n) => assert.ok(Math.abs(found[name][n] - weight) < 1e-6 * weight + 1e-9, `${what}: ${name} weighs ${found[name]}, not ${weights}`));
  }
}

test("functions weigh in a range of time what fg-filter says", async () => {
  const recordings = {
    made: [save("perf.txt", twoThreads()), ["worker", "timer"]],
    recorded: [join(project, "tests/perf_data/golden/stall.data.gz"), ["stall", "timer"]],
  };
  for (const [name, [recording, threads]] of Object.entries(recordings)) {
    await load(save("firefox.json", run("fg-render", "", "-q", "--format", "firefox", recording)), name);
    // The ends of ranges are between samples; seconds, as both have them.
    for (const [from, to] of [["0.3001", "2.7001"], ["1.0501", "3.3101"], ["2.9001", "3.9601"]]) {
      ask("zoom", "push", `${from},${to}`, "--session", name);
      threads.forEach((thread, n) => {
        const found = theirs(`t-${n}`, name);
        assert.ok(Object.keys(found).length > 1, `${name}: ${JSON.stringify(found)}`);
        compare(found, ours(recording, `${from}s..${to}s`, thread), `${name}, ${thread}, ${from} to ${to}`);
      });
      ask("zoom", "pop", "--session", name);
    }
  }
});
