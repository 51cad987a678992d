// An order and the message about it, in one transaction: pg.

import pg from "pg";
import { FAILURE, read } from "./arguments.js";

/** Inserts a message as a part of the transaction; false if its de-duplication key is known. */
export async function enqueue(client, { destination, payload, lane, deduplicationKey }) {
  if (deduplicationKey !== undefined) {
    const remembered = await client.query(
      "INSERT INTO redeliver_deduplication (deduplication_key, number, salt) VALUES ($1, 0, 0) ON CONFLICT DO NOTHING",
      [deduplicationKey],
    );
    if (remembered.rowCount === 0) return false;
  }
  const [text, binary] = typeof payload === "string" ? [payload, null] : [null, payload];
  await client.query(
    "INSERT INTO redeliver_outbox (destination, lane, payload, payload_binary) VALUES ($1, $2, $3, $4)",
    [destination, lane ?? null, text, binary],
  );
  return true;
}

const told = read();
const client = new pg.Client({ connectionString: told.database });
await client.connect();
try {
  await client.query("CREATE TABLE IF NOT EXISTS example_orders (id bigint GENERATED ALWAYS AS IDENTITY)");
  await client.query("BEGIN");
  await client.query("INSERT INTO example_orders DEFAULT VALUES");
  const inserted = await enqueue(client, told);
  if (told.fail) throw new Error(FAILURE);
  await client.query("COMMIT");
  console.log(inserted ? "enqueued" : "known already");
} catch (error) {
  await client.query("ROLLBACK");
  throw error;
} finally {
  await client.end();
}
