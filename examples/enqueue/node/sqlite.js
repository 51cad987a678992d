// An order and the message about it, in one transaction: better-sqlite3.

import Database from "better-sqlite3";
import { FAILURE, read } from "./arguments.js";

/** Inserts a message as a part of the transaction; false if its de-duplication key is known. */
export function enqueue(database, { destination, payload, lane, deduplicationKey }) {
  if (deduplicationKey !== undefined) {
    const remembered = database
      .prepare("INSERT INTO redeliver_deduplication (deduplication_key, number, salt) VALUES (?, 0, 0) ON CONFLICT DO NOTHING")
      .run(deduplicationKey);
    if (remembered.changes === 0) return false;
  }
  const [text, binary] = typeof payload === "string" ? [payload, null] : [null, payload];
  database
    .prepare("INSERT INTO redeliver_outbox (destination, lane, payload, payload_binary) VALUES (?, ?, ?, ?)")
    .run(destination, lane ?? null, text, binary);
  return true;
}

const told = read();
const database = new Database(told.database);
database.exec("CREATE TABLE IF NOT EXISTS example_orders (id INTEGER PRIMARY KEY)");
// Commits, or rolls back when an error leaves the function.
const placeOrder = database.transaction(() => {
  database.prepare("INSERT INTO example_orders DEFAULT VALUES").run();
  const inserted = enqueue(database, told);
  if (told.fail) throw new Error(FAILURE);
  return inserted;
});
console.log(placeOrder() ? "enqueued" : "known already");
database.close();
