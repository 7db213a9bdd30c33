"use strict";

// Takes jobs as they come in one message, and writes them to a file with one write.
//
// A job: {"file": "/path/to/list", "line": "one more line"}

const fs = require("node:fs/promises");
const oarlock = require("./oarlock");

async function main() {
  for await (const batch of oarlock.batches()) {
    const files = new Map();
    for (const job of batch) {
      if (job.data?.line === undefined) {
        job.fail("there is no line in it", { group: "no-line" });
        continue;
      }
      files.set(job.data.file, [...(files.get(job.data.file) ?? []), job.data.line]);
    }
    for (const [path, lines] of files) {
      await fs.appendFile(path, `${lines.length}: ${lines.join(" ")}\n`);
    }
  }
}

main();
