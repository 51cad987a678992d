// An order and the message about it, in one transaction: mysql2, on MariaDB and MySQL.

import mysql from "mysql2/promise";
import { FAILURE, read } from "./arguments.js";

/** Inserts a message as a part of the transaction; false if its de-duplication key is known. */
export async function enqueue(connection, { destination, payload, lane, deduplicationKey }) {
  if (deduplicationKey !== undefined) {
    // Not INSERT IGNORE, which cuts a key that is too long.
    try {
      await connection.execute(
        "INSERT INTO redeliver_deduplication (deduplication_key, number, salt) VALUES (?, 0, 0)",
        [deduplicationKey],
      );
    } catch (error) {
      if (error.code === "ER_DUP_ENTRY") return false;
      throw error;
    }
  }
  const [text, binary] = typeof payload === "string" ? [payload, null] : [null, payload];
  await connection.execute(
    "INSERT INTO redeliver_outbox (destination, lane, payload, payload_binary) VALUES (?, ?, ?, ?)",
    [destination, lane ?? null, text, binary],
  );
  return true;
}

const told = read();
const connection = await mysql.createConnection({ uri: told.database, charset: "utf8mb4" });
try {
  await connection.query("CREATE TABLE IF NOT EXISTS example_orders (id BIGINT AUTO_INCREMENT PRIMARY KEY)");
  await connection.beginTransaction();
  await connection.query("INSERT INTO example_orders () VALUES ()");
  const inserted = await enqueue(connection, told);
  if (told.fail) throw new Error(FAILURE);
  await connection.commit();
  console.log(inserted ? "enqueued" : "known already");
} catch (error) {
  await connection.rollback();
  throw error;
} finally {
  await connection.end();
}
