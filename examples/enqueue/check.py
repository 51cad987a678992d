"""Runs every example program and looks at the tables: each byte as it was given, and nothing of what was rolled back.

scripts/client-examples installs the clients and starts this.
"""

import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "python"))

import psycopg
import mariadb  # the example's connect, not a package

MIGRATIONS = HERE / "../../crates/redeliver-outbox/src/store"
TABLES = ("redeliver_outbox", "redeliver_deduplication")
SHARD = {
    "sqlite": "0",
    "postgres": "((CASE WHEN lane IS NULL THEN number ELSE hashtext(lane) & 2147483647 END) % 64)::smallint",
    "mysql": "CASE WHEN lane IS NULL THEN FLOOR(RAND() * 16) ELSE CRC32(lane) % 16 END",
}
TEXT = '{"note":"\\"ça va?\\" it\'s 5 % off; C:\\\\temp\\\\new\\u0041","emoji":"🦀🏳️‍🌈","raw":"line\\nfeed"}\r\n\t? $1 %s :x \\'.encode()
BINARY = bytes(range(256)) + b"\x00\xff\xfe\x00"


def tables(folder):
    """The statements of the first migration that make what an application writes to."""
    migration = (MIGRATIONS / folder / "migrations/0001_outbox.up.sql").read_text()
    migration = re.sub(r"--.*", "", migration).replace("local_redeliver_", "redeliver_")
    for statement in migration.split(";"):
        statement = statement[max(statement.find("CREATE "), 0) :]
        if statement.startswith("CREATE ") and any(table in statement.splitlines()[0] for table in TABLES):
            yield statement.replace("{shard_of_row}", SHARD[folder])


class Sqlite:
    program, folder = "sqlite", "sqlite"

    def __init__(self, cache, name):
        self.url = str(cache / f"{name}.db")
        Path(self.url).unlink(missing_ok=True)

    def connect(self):
        return sqlite3.connect(self.url, isolation_level=None)

    def drop(self):
        Path(self.url).unlink()


class Server:
    def __init__(self, _cache, name):
        self.name = name
        self.server = os.environ[self.variable]
        self.url = re.sub(r"/[^/]*$", f"/{name}", self.server)
        self.administer(f"CREATE DATABASE {name}")

    def administer(self, statement):
        connection = self.open(self.server)
        connection.cursor().execute(statement)
        connection.close()

    def connect(self):
        return self.open(self.url)

    def drop(self):
        self.administer(f"DROP DATABASE {self.name}")


class Postgres(Server):
    program, folder, variable = "postgres", "postgres", "REDELIVER_TEST_POSTGRES"

    @staticmethod
    def open(url):
        return psycopg.connect(url, autocommit=True)


class Mariadb(Server):
    program, folder, variable = "mariadb", "mysql", "REDELIVER_TEST_MARIADB"

    @staticmethod
    def open(url):
        return mariadb.connect(url)


class Mysql(Mariadb):
    variable = "REDELIVER_TEST_MYSQL"


def check(language, command, database, cache):
    connection = database.connect()
    cursor = connection.cursor()
    for statement in tables(database.folder):
        cursor.execute(statement)
    text, binary = cache / "payload.json", cache / "payload.bin"
    text.write_bytes(TEXT)
    binary.write_bytes(BINARY)

    def run(*arguments, fails=False, says=None):
        done = subprocess.run([*command, database.url, *map(str, arguments)], capture_output=True, text=True)
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        assert not fails or "failed before the commit, as told" in done.stderr, done.stderr
        assert says is None or done.stdout.strip() == says, done.stdout

    run("billing", text, "--lane", "order-7", says="enqueued")
    run("pictures", binary, "--binary", says="enqueued")
    run("never", text, "--fail", fails=True)
    run("never", text, "--fail", "--deduplication-key", "k 🦀", fails=True)
    run("once", text, "--deduplication-key", "k 🦀", says="enqueued")
    run("once", text, "--deduplication-key", "k 🦀", says="known already")

    connection.commit()
    cursor.execute("SELECT destination, lane, payload, payload_binary, attempts FROM redeliver_outbox ORDER BY number")
    found = [
        (destination, lane, payload and payload.encode(), blob and bytes(blob), attempts)
        for destination, lane, payload, blob, attempts in cursor.fetchall()
    ]
    expected = [
        ("billing", "order-7", TEXT, None, 0),
        ("pictures", None, None, BINARY, 0),
        ("once", None, TEXT, None, 0),
    ]
    assert found == expected, f"{found}\nis not\n{expected}"
    cursor.execute("SELECT count(*) FROM example_orders")
    assert cursor.fetchone()[0] == 4, "an order of a failed transaction is there"
    connection.close()
    print(f"test {language} on {database.program} ... ok")


def excerpts():
    """The document shows parts of the programs: they must be parts of them."""
    document = (HERE / "../../docs/tables.md").read_text()
    for language, folder in (("python", "python"), ("js", "node")):
        programs = [program.read_text() for program in (HERE / folder).iterdir() if program.is_file()]
        shown = re.findall(rf"^```{language}\n(.*?)^```$", document, re.DOTALL | re.MULTILINE)
        assert shown, f"docs/tables.md shows no {language}"
        for excerpt in shown:
            assert any(excerpt in program for program in programs), f"docs/tables.md shows what is in no program:\n{excerpt}"


def main():
    excerpts()
    cache = Path(sys.argv[1])
    commands = {
        "python": lambda program: [sys.executable, str(HERE / f"python/{program}.py")],
        "node": lambda program: ["node", str(cache / f"node/{program}.js")],
    }
    passed = failed = 0
    for language, command in commands.items():
        for kind in (Sqlite, Postgres, Mariadb, Mysql):
            database = kind(cache, f"client_examples_{language}_{os.getpid()}")
            try:
                check(language, command(kind.program), database, cache)
                passed += 1
            except Exception as error:
                print(f"test {language} on {kind.__name__} ... FAILED\n{error}")
                failed += 1
            finally:
                database.drop()
    print(f"test result: {'FAILED' if failed else 'ok'}. {passed} passed; {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
