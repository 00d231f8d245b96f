// Kinds of work in turns, with garbage: the node program of scripts/sweep/kinds.
const HOT = 100, ALL = 100;
const turns = (count) => Math.floor((count * ALL) / 100);

function generate(seed) {
  let lines;
  for (let turn = 0; turn < turns(20); turn++) {
    lines = [];
    for (let number = 0; number < 60; number++) {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      lines.push(`${number},name-${seed % 97},${seed % 1000}`);
    }
  }
  return lines;
}
function parse(lines) {
  let records;
  for (let turn = 0; turn < turns(20); turn++) {
    records = lines.map((line) => {
      const [number, name, value] = line.split(",");
      return { number: +number, name, value: +value };
    });
  }
  return records;
}
function group(records) {
  let groups;
  for (let turn = 0; turn < turns(20); turn++) {
    groups = new Map();
    for (const { number, name, value } of records) {
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(value * number);
    }
  }
  return groups;
}
function smooth(groups) {
  const smoothed = {};
  for (let turn = 0; turn < turns(100); turn++) {
    for (const [name, values] of groups) {
      let last = 0;
      for (const value of values) last = 0.9 * last + 0.1 * value;
      smoothed[name] = last;
    }
  }
  return smoothed;
}
function render(smoothed) {
  let rows;
  for (let turn = 0; turn < turns(10); turn++) {
    rows = Object.keys(smoothed).sort().map((name) => name.padEnd(20) + smoothed[name].toFixed(3).padStart(16));
  }
  return rows.join("\n");
}
function checksum(text) { // hot
  let total = 0;
  for (let turn = 0; turn < turns(Math.floor((200 * HOT) / 100)); turn++) {
    for (let n = 0; n < 600; n++) total = (Math.imul(total, 31) + text.charCodeAt(n)) >>> 0;
  }
  return total;
}
function count(lines) {
  let seen = {};
  for (let turn = 0; turn < turns(20); turn++) {
    seen = {};
    for (const line of lines) for (let n = 0; n < 6; n++) seen[line[n]] = (seen[line[n]] || 0) + 1;
  }
  return Object.keys(seen).length;
}
function order(records) {
  let ordered;
  for (let turn = 0; turn < turns(20); turn++) ordered = records.slice().sort((a, b) => a.value - b.value);
  return ordered[7].number;
}
function encode(records) {
  let length = 0;
  for (let turn = 0; turn < turns(10); turn++) length += JSON.parse(JSON.stringify(records)).length;
  return length;
}
function readStage(turn) {
  const lines = generate(turn);
  const text = lines.join("");
  let total = checksum(text); // call
  return { lines, records: parse(lines), sum: total };
}
function workStage({ lines, records }) {
  return count(lines) + order(records) + encode(records) + render(smooth(group(records))).length;
}
function main() {
  let total = 0;
  for (let turn = 0; turn < +process.argv[2]; turn++) {
    const read = readStage(turn);
    total += read.sum + workStage(read);
  }
  console.log(total);
}
main();
