"""Has the relay deliver real messages, and gives what it sent to the example receivers, which check it with the reference libraries.

scripts/client-examples installs the libraries, builds the relay and starts this.
"""

import http.client
import json
import subprocess
import sys
import threading
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

from cloudevents.core.bindings.http import HTTPMessage, from_http_event

HERE = Path(__file__).parent
OLD = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NEW = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
PRIVATE = "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
PUBLIC = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="
PAYLOAD = '{"note":"ça va? 🦀","raw":"line\\nfeed", "spaces" : [ 1 ]}'.encode()
# How a rotation goes: what signs, and which receivers believe it.
ROTATION = (
    ("before", [OLD], {OLD: True, NEW: False, PUBLIC: False}),
    ("during", [OLD, NEW, PRIVATE], {OLD: True, NEW: True, PUBLIC: True}),
    ("after", [NEW, PRIVATE], {OLD: False, NEW: True, PUBLIC: True}),
)


class Delivered:
    """What the relay sends to a destination that is configured like this."""

    def __init__(self, redeliver, cache):
        self.redeliver, self.cache = redeliver, cache
        self.seen = []
        delivered = self

        class Endpoint(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                delivered.seen.append(({name.lower(): value for name, value in self.headers.items()}, body))
                # The first attempt fails, so that there is a second one.
                self.send_response(503 if len(delivered.seen) == 1 else 204)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def requests(self, settings, payload=PAYLOAD, *options):
        """Both attempts: headers and body of each."""
        config, database, body = (self.cache / f"webhooks.{kind}" for kind in ("toml", "db", "payload"))
        for file in self.cache.glob("webhooks.db*"):
            file.unlink()
        self.seen.clear()
        body.write_bytes(payload)
        config.write_text(
            f"""
            database = "sqlite://{database}"
            [destinations.shop]
            type = "http"
            allow_private = true
            url = "http://127.0.0.1:{self.server.server_port}/events"
            policy = {{ base = "1ms", max = "1ms" }}
            {settings}
            """
        )
        self.run("migrate", config)
        self.run("send", config, "--to", "shop", "--payload", f"@{body}", *options)
        self.run("serve", config, "--until-empty", "--for", "30s")
        assert len(self.seen) == 2, f"{len(self.seen)} attempts instead of 2"
        return list(self.seen)

    def run(self, command, config, *arguments):
        done = subprocess.run([self.redeliver, command, "--config", config, *arguments], capture_output=True, text=True)
        assert done.returncode == 0, f"redeliver {command}:\n{done.stdout}{done.stderr}"


@contextmanager
def receiver(command, secret):
    process = subprocess.Popen([*command, secret], stdout=subprocess.PIPE, text=True)
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def believes(port, headers, body):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    given = {name: value for name, value in headers.items() if name not in ("host", "content-length")}
    connection.request("POST", "/", body, given)
    status = connection.getresponse().status
    connection.close()
    assert status in (204, 401), status
    return status == 204


def check_signatures(delivered, command, kinds):
    for when, signing, receivers in ROTATION:
        first, second = delivered.requests(f"webhook = {{ secrets = {json.dumps(signing)} }}")
        assert first[0]["webhook-id"] == second[0]["webhook-id"], "the id is another one on the second attempt"
        for secret, expected in receivers.items():
            if not secret.startswith(kinds):
                continue
            with receiver(command, secret) as port:
                for headers, body in (first, second):
                    assert body == PAYLOAD, body
                    assert believes(port, headers, body) == expected, f"{when}: {secret[:6]}… believed: {not expected}"
                    for changed in (body.replace(b"1", b"2"), body + b" "):
                        assert not believes(port, headers, changed), f"{when}: believes a body that was changed"
                    for name in ("webhook-id", "webhook-timestamp"):
                        last = str((int(headers[name][-1], 16) + 1) % 10)
                        other = {**headers, name: headers[name][:-1] + last}
                        assert not believes(port, other, body), f"{when}: believes another {name}"


def check_events(delivered):
    """What the library reads is what was enqueued, in both modes, for JSON and for bytes."""
    key = 'order "7" 50 % ü€'
    for mode in ("structured", "binary"):
        settings = f'cloudevents = {{ mode = "{mode}", source = "/shop/{{{{key}}}}", type = "order.{{{{payload.note}}}}" }}'
        payload = '{"note":"100 % \\"ü\\"","total":1}'.encode()
        (headers, body), _ = delivered.requests(settings, payload, "--key", key)
        event = from_http_event(HTTPMessage(headers, body))
        assert event.get_specversion() == "1.0"
        assert event.get_id() == headers["idempotency-key"]
        assert event.get_source() == "/shop/" + quote(key, safe=""), event.get_source()
        assert event.get_type() == 'order.100 % "ü"', event.get_type()
        assert event.get_subject() == key, event.get_subject()
        assert event.get_datacontenttype() == "application/json"
        assert abs(datetime.now(timezone.utc) - event.get_time()) < timedelta(minutes=5), event.get_time()
        assert event.get_data() == json.loads(payload), event.get_data()

        settings = f'cloudevents = {{ mode = "{mode}", source = "/shop", type = "picture" }}'
        payload = bytes(range(256))
        (headers, body), _ = delivered.requests(settings, payload, "--content-type", "image/png")
        event = from_http_event(HTTPMessage(headers, body))
        assert (event.get_datacontenttype(), event.get_data()) == ("image/png", payload), event.get_data()


def main():
    cache, redeliver = Path(sys.argv[1]), sys.argv[2]
    delivered = Delivered(redeliver, cache)
    python = [sys.executable, str(HERE / "python/receive.py")]
    node = ["node", str(cache / "webhooks-node/receive.js")]
    checks = {
        "signatures with python's standardwebhooks": lambda: check_signatures(delivered, python, ("whsec_",)),
        "signatures with npm's standardwebhooks": lambda: check_signatures(delivered, node, ("whsec_", "whpk_")),
        "events with python's cloudevents": lambda: check_events(delivered),
    }
    passed = failed = 0
    for name, check in checks.items():
        try:
            check()
            print(f"test {name} ... ok")
            passed += 1
        except Exception as error:
            print(f"test {name} ... FAILED\n{error}")
            failed += 1
    print(f"test result: {'FAILED' if failed else 'ok'}. {passed} passed; {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
