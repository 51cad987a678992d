// An order and the message about it, in one transaction: node-sqlite3-wasm, which needs no compiler.

import sqlite from "node-sqlite3-wasm";
import { FAILURE, read } from "./arguments.js";

/** Inserts a message as a part of the transaction; false if its de-duplication key is known. */
export function enqueue(database, { destination, payload, lane, deduplicationKey }) {
  if (deduplicationKey !== undefined) {
    const remembered = database.run(
      "INSERT INTO redeliver_deduplication (deduplication_key, number, salt) VALUES (?, 0, 0) ON CONFLICT DO NOTHING",
      [deduplicationKey],
    );
    if (remembered.changes === 0) return false;
  }
  const [text, binary] = typeof payload === "string" ? [payload, null] : [null, payload];
  database.run(
    "INSERT INTO redeliver_outbox (destination, lane, payload, payload_binary) VALUES (?, ?, ?, ?)",
    [destination, lane ?? null, text, binary],
  );
  return true;
}

const told = read();
const database = new sqlite.Database(told.database);
try {
  database.exec("CREATE TABLE IF NOT EXISTS example_orders (id INTEGER PRIMARY KEY)");
  database.exec("BEGIN IMMEDIATE");
  database.run("INSERT INTO example_orders DEFAULT VALUES");
  const inserted = enqueue(database, told);
  if (told.fail) throw new Error(FAILURE);
  database.exec("COMMIT");
  console.log(inserted ? "enqueued" : "known already");
} catch (error) {
  if (database.inTransaction) database.exec("ROLLBACK");
  throw error;
} finally {
  database.close();
}
