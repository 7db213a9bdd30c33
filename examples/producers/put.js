"use strict";

// Puts a job: node put.js QUEUE KLASS DATA. No package is needed.
//
// The protocol is one script in Redis; oarlock.lua beside this file is it (see
// README.md). A call is EVALSHA with the script's SHA, a 0 for "no keys", the command,
// the time, and the command's own arguments.

const crypto = require("node:crypto");
const fs = require("node:fs");
const net = require("node:net");

/** As much of a Redis client as this takes: one call at a time. */
class Redis {
  constructor(host, port) {
    this.socket = net.createConnection({ host, port });
    this.socket.setTimeout(5000, () => this.socket.destroy(new Error("Redis does not answer")));
  }

  call(...args) {
    const parts = args.map((arg) => `$${Buffer.byteLength(String(arg))}\r\n${arg}\r\n`);
    return new Promise((resolve, reject) => {
      let reply = Buffer.alloc(0);
      const done = (settle, value) => {
        this.socket.off("data", read).off("error", reject);
        settle(value);
      };
      const read = (chunk) => {
        reply = Buffer.concat([reply, chunk]);
        const end = reply.indexOf("\r\n");
        if (end < 0) return;
        const rest = reply.toString("utf8", 1, end);
        const kind = String.fromCharCode(reply[0]);
        if (kind === "-") return done(reject, new Error(rest));
        if (kind !== "$" || rest === "-1") return done(resolve, rest);
        const size = Number(rest);
        if (reply.length >= end + 2 + size + 2) done(resolve, reply.toString("utf8", end + 2, end + 2 + size));
      };
      this.socket.on("data", read).on("error", reject);
      this.socket.write(`*${args.length}\r\n${parts.join("")}`);
    });
  }
}

/**
 * Puts a job and resolves to its id.
 *
 * data is JSON text. Options are priority, retries, and as JSON text tags and
 * depends. After an error of the network call it again with the same jid: the
 * second put takes the place of the first.
 */
async function put(redis, script, queue, klass, data, { jid, delay = 0, ...options } = {}) {
  jid ??= crypto.randomUUID().replaceAll("-", "");
  const now = (Date.now() / 1000).toFixed(3);
  const args = ["put", now, "producer", queue, jid, klass, data, delay, ...Object.entries(options).flat()];
  const sha = crypto.createHash("sha1").update(script).digest("hex");
  try {
    await redis.call("EVALSHA", sha, 0, ...args);
  } catch (error) {
    if (!error.message.startsWith("NOSCRIPT")) throw error;
    await redis.call("SCRIPT", "LOAD", script); // the first call since Redis started
    await redis.call("EVALSHA", sha, 0, ...args);
  }
  await redis.call("PUBLISH", "ql:oarlock:wake", queue); // optional: an idle pool looks at once
  return jid;
}

async function main([queue, klass, data]) {
  const lua = fs.readFileSync(process.env.OARLOCK_LUA ?? "oarlock.lua", "utf8");
  const server = new Redis(process.env.REDIS_HOST ?? "127.0.0.1", Number(process.env.REDIS_PORT ?? 6379));
  console.log(await put(server, lua, queue, klass, data));
  server.socket.end();
}

main(process.argv.slice(2));
