"""What the three programs are told: a database, a destination and a file whose content is the payload."""

import argparse


def read():
    parser = argparse.ArgumentParser(description="Places an order, and enqueues a file's content in the same transaction.")
    parser.add_argument("database", help="a path or a URL")
    parser.add_argument("destination")
    parser.add_argument("file")
    parser.add_argument("--binary", action="store_true", help="the file holds bytes, not text")
    parser.add_argument("--lane", help="messages with the same destination and lane arrive in order")
    parser.add_argument("--deduplication-key", help="of messages with the same key, only the first is inserted")
    parser.add_argument("--fail", action="store_true", help="fail before the commit")
    arguments = parser.parse_args()
    with open(arguments.file, "rb") as file:
        content = file.read()
    arguments.payload = content if arguments.binary else content.decode("utf-8")
    return arguments
