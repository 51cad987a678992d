//! Every path in one table: the router, `GET /`, the check of option names and the command's help all read it.

use std::fmt::Write as _;

use serde::Serialize;

use super::route::Route;

/// One path of the server.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FaultPath {
    /// The method it answers, or `ANY`.
    pub method: &'static str,
    /// The path; a last segment in braces stands for any value.
    pub path: &'static str,
    /// What it does to its client.
    pub does: &'static str,
    /// Query options: name and meaning.
    pub options: &'static [(&'static str, &'static str)],
    #[serde(skip)]
    pub(crate) route: Route,
}

const STATUS: (&str, &str) = ("status", "status of a failure, 400 to 599 (503)");
const RETRY_AFTER: (&str, &str) = (
    "retry_after",
    "text of the Retry-After header, nonsense included; nothing leaves it out",
);
const FAIL_RATE: (&str, &str) = ("fail_rate", "percent that fails");
const MAX_DELAY: (&str, &str) = ("max_delay", "longest random delay before the answer");
const DELAY: (&str, &str) = ("delay", "wait this long before the answer (0)");
const STREAM_EVERY: (&str, &str) = (
    "every",
    "pace of the items (10ms; 0 is as fast as they are taken)",
);
const AFTER: (&str, &str) = ("after", "resume after this item (0)");
const UNTIL: (&str, &str) = ("until", "last item; then the stream is over (none)");
const DROP_AFTER: (&str, &str) = (
    "drop_after",
    "mean number of items before a drop (20; 0 is never)",
);
const DROP: (&str, &str) = (
    "drop",
    "always this drop: clean, silent, reset, mid-item or before-first (by chance)",
);
const REFUSE: (&str, &str) = ("refuse", "percent of connections refused with 503 (0)");

/// All paths of the server, in the order in which `GET /` tells them.
pub const FAULT_PATHS: &[FaultPath] = &[
    row(
        Route::Index,
        "GET",
        "/",
        "this table; as JSON with Accept: application/json",
        &[],
    ),
    row(
        Route::Stats,
        "GET",
        "/stats",
        "requests, faults and idempotency keys so far, as JSON",
        &[],
    ),
    row(
        Route::Payment,
        "POST",
        "/payment/authorize",
        "delay, then 503 at the fail rate, else authorized, once a key",
        &[
            FAIL_RATE,
            MAX_DELAY,
            STATUS,
            RETRY_AFTER,
            ("lose", "percent authorized whose answer is a reset (0)"),
        ],
    ),
    row(Route::Ok, "ANY", "/ok", "200, always", &[DELAY]),
    row(
        Route::Echo,
        "ANY",
        "/echo",
        "method, headers and body as JSON",
        &[DELAY],
    ),
    row(
        Route::FailRate,
        "ANY",
        "/fail-rate/{percent}",
        "fails that often, else echoes",
        &[MAX_DELAY, STATUS, RETRY_AFTER],
    ),
    row(
        Route::Flaky,
        "ANY",
        "/flaky/{times}",
        "fails that many times for each key, then succeeds",
        &[
            ("key", "whose failures to count (one for all)"),
            STATUS,
            RETRY_AFTER,
        ],
    ),
    row(
        Route::Status,
        "ANY",
        "/status/{code}",
        "that status, 200 to 999",
        &[RETRY_AFTER, DELAY],
    ),
    row(
        Route::Throttle,
        "ANY",
        "/throttle",
        "429 with Retry-After in seconds",
        &[RETRY_AFTER],
    ),
    row(
        Route::Limit,
        "ANY",
        "/limit/{per_second}",
        "429 with Retry-After above so many requests a second",
        &[RETRY_AFTER],
    ),
    row(
        Route::Outage,
        "ANY",
        "/outage",
        "up and down by turns, counted from the server's start",
        &[
            ("up", "how long it is up between two outages (20s)"),
            ("down", "how long an outage is (6s)"),
            ("first", "when the first outage begins (as long as it is up)"),
            ("way", "while it is down always status or reset (by chance)"),
            STATUS,
            RETRY_AFTER,
        ],
    ),
    row(
        Route::Picky,
        "ANY",
        "/picky",
        "422 that names the field, unless the JSON body has it",
        &[("field", "the field, or several with commas between them (id)")],
    ),
    row(
        Route::UnavailableDate,
        "ANY",
        "/unavailable-date",
        "503 with Retry-After as a date",
        &[
            (
                "after",
                "seconds from now, negative for a past date (the server's retry_after)",
            ),
            ("form", "imf, rfc850 or asctime (imf)"),
            (
                "skew",
                "seconds by which the server's clock is wrong, in Date and Retry-After alike (0)",
            ),
        ],
    ),
    row(Route::Hang, "ANY", "/hang", "accepts, never answers", &[]),
    row(
        Route::Reset,
        "ANY",
        "/reset",
        "TCP reset as soon as the request's head is read",
        &[],
    ),
    row(
        Route::ResetAfterRead,
        "ANY",
        "/reset-after-read",
        "reads the whole request, then TCP reset",
        &[],
    ),
    row(
        Route::SlowBody,
        "ANY",
        "/slow-body",
        "a body that comes a byte at a time",
        &[("bytes", "length (60)"), ("every", "time between bytes (1s)")],
    ),
    row(
        Route::Truncated,
        "ANY",
        "/truncated",
        "promises a length, sends less, closes",
        &[
            ("bytes", "bytes sent (100)"),
            ("promise", "Content-Length, if larger (1000)"),
        ],
    ),
    row(
        Route::Endless,
        "ANY",
        "/endless",
        "a body without an end",
        &[("every", "time between chunks (0)")],
    ),
    row(
        Route::Huge,
        "ANY",
        "/huge",
        "a very large body",
        &[("bytes", "length (1073741824)")],
    ),
    row(
        Route::WebSocket,
        "GET",
        "/ws",
        "items that drop; resume with ?after=; close code 1000 ends",
        &[STREAM_EVERY, AFTER, UNTIL, DROP_AFTER, DROP, REFUSE, RETRY_AFTER],
    ),
    row(
        Route::Sse,
        "GET",
        "/sse",
        "the same as events; resume with Last-Event-ID; 204 ends",
        &[
            STREAM_EVERY,
            AFTER,
            UNTIL,
            DROP_AFTER,
            DROP,
            REFUSE,
            RETRY_AFTER,
            ("retry", "send a retry: line of so many ms"),
        ],
    ),
];

const fn row(
    route: Route,
    method: &'static str,
    path: &'static str,
    does: &'static str,
    options: &'static [(&'static str, &'static str)],
) -> FaultPath {
    FaultPath {
        method,
        path,
        does,
        options,
        route,
    }
}

/// The table as text, one path a paragraph.
pub fn catalogue_text() -> String {
    let mut text = String::new();
    for row in FAULT_PATHS {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{:4} {:22} {}", row.method, row.path, row.does);
        for (name, meaning) in row.options {
            let _ = writeln!(text, "{:29} ?{name}=  {meaning}", "");
        }
    }
    text
}
