"""An order and the message about it, in one transaction: PyMySQL, on MariaDB and MySQL."""

from urllib.parse import unquote, urlsplit

import pymysql

import arguments


def enqueue(cursor, destination, payload, lane=None, deduplication_key=None):
    """Inserts a message as a part of the transaction; False if its de-duplication key is known."""
    if deduplication_key is not None:
        try:  # not INSERT IGNORE, which cuts a key that is too long
            cursor.execute(
                "INSERT INTO redeliver_deduplication (deduplication_key, number, salt) VALUES (%s, 0, 0)",
                (deduplication_key,),
            )
        except pymysql.err.IntegrityError as error:
            if error.args[0] != pymysql.constants.ER.DUP_ENTRY:
                raise
            return False
    text, binary = (payload, None) if isinstance(payload, str) else (None, payload)
    cursor.execute(
        "INSERT INTO redeliver_outbox (destination, lane, payload, payload_binary) VALUES (%s, %s, %s, %s)",
        (destination, lane, text, binary),
    )
    return True


def connect(url):
    parts = urlsplit(url)
    return pymysql.connect(
        host=parts.hostname,
        port=parts.port or 3306,
        user=unquote(parts.username or "root"),
        password=unquote(parts.password or ""),
        database=parts.path.lstrip("/"),
        charset="utf8mb4",  # all of Unicode; "utf8" is a part of it
        binary_prefix=True,  # so that bytes are sent as bytes, not as text that is none
    )


def main():
    told = arguments.read()
    connection = connect(told.database)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE IF NOT EXISTS example_orders (id BIGINT AUTO_INCREMENT PRIMARY KEY)")
        connection.begin()
        try:
            cursor.execute("INSERT INTO example_orders () VALUES ()")
            inserted = enqueue(cursor, told.destination, told.payload, told.lane, told.deduplication_key)
            if told.fail:
                raise SystemExit("failed before the commit, as told: neither the order nor the message is there")
            connection.commit()
        except BaseException:
            connection.rollback()
            raise
    print("enqueued" if inserted else "known already")
    connection.close()


if __name__ == "__main__":
    main()
