"use strict";

// Counts the lines, words and bytes of a text, with the helper.

const { readFile } = require("node:fs/promises");
const oarlock = require("./oarlock");

oarlock.job("Count", async (job) => {
  let text;
  try {
    text = job.data.path ? await readFile(job.data.path, { signal: job.signal }) : Buffer.from(job.data.text);
  } catch (error) {
    if (error.code === "ENOENT") throw new oarlock.Fail(error.message, { group: "no-such-file" });
    throw error;
  }
  job.progress(50, `read ${text.length} bytes`);

  // As latin1 a character is a byte, so that words are parted by ASCII space alone.
  const bytes = text.toString("latin1");
  const words = bytes.match(/[^ \t\n\v\f\r]+/g) ?? [];
  job.ack({ data: { lines: bytes.split("\n").length - 1, words: words.length, bytes: text.length } });
});

oarlock.serve();
