// What the three programs are told: a database, a destination and a file whose content is the payload.

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

export function read() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      binary: { type: "boolean" }, // the file holds bytes, not text
      lane: { type: "string" }, // messages with the same destination and lane arrive in order
      "deduplication-key": { type: "string" }, // of messages with the same key, only the first is inserted
      fail: { type: "boolean" }, // fail before the commit
    },
  });
  const [database, destination, file] = positionals;
  if (!file) {
    console.error("usage: node PROGRAM DATABASE DESTINATION FILE [--binary] [--lane L] [--deduplication-key K] [--fail]");
    process.exit(2);
  }
  const payload = values.binary ? readFileSync(file) : readFileSync(file, "utf8");
  return { database, destination, payload, lane: values.lane, deduplicationKey: values["deduplication-key"], fail: values.fail };
}

export const FAILURE = "failed before the commit, as told: neither the order nor the message is there";
