"""An order and the message about it, in one transaction: psycopg."""

import psycopg

import arguments


def enqueue(connection, destination, payload, lane=None, deduplication_key=None):
    """Inserts a message as a part of the transaction; False if its de-duplication key is known."""
    if deduplication_key is not None:
        remembered = connection.execute(
            "INSERT INTO redeliver_deduplication (deduplication_key, number, salt) VALUES (%s, 0, 0) ON CONFLICT DO NOTHING",
            (deduplication_key,),
        )
        if remembered.rowcount == 0:
            return False
    text, binary = (payload, None) if isinstance(payload, str) else (None, payload)
    connection.execute(
        "INSERT INTO redeliver_outbox (destination, lane, payload, payload_binary) VALUES (%s, %s, %s, %s)",
        (destination, lane, text, binary),
    )
    return True


def main():
    told = arguments.read()
    with psycopg.connect(told.database) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS example_orders (id bigint GENERATED ALWAYS AS IDENTITY)")
        connection.commit()
        with connection.transaction():  # commits, or rolls back when an error leaves the block
            connection.execute("INSERT INTO example_orders DEFAULT VALUES")
            inserted = enqueue(connection, told.destination, told.payload, told.lane, told.deduplication_key)
            if told.fail:
                raise SystemExit("failed before the commit, as told: neither the order nor the message is there")
    print("enqueued" if inserted else "known already")


if __name__ == "__main__":
    main()
