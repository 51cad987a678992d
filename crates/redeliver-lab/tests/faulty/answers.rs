//! Faults that are well-formed answers.

use std::time::{Duration, SystemTime};

use redeliver_lab::faulty::{FAULT_PATHS, FaultyConfig};

use crate::client::{get, send, start};

#[tokio::test]
async fn the_index_lists_every_path_as_text_and_as_json() {
    let server = start(FaultyConfig::default());
    let text = get(&server, "/").await;
    let json = send(&server, "GET", "/", "accept: application/json\r\n", "")
        .await
        .json();
    for (at, row) in FAULT_PATHS.iter().enumerate() {
        assert!(text.text().contains(row.path), "{}", row.path);
        assert_eq!(json[at]["path"], row.path);
    }
}

#[tokio::test]
async fn any_status_with_any_retry_after() {
    let server = start(FaultyConfig::default());
    for code in [200_u16, 201, 400, 404, 408, 418, 429, 500, 502, 504, 599, 777] {
        let seen = get(&server, &format!("/status/{code}?retry_after=7")).await;
        assert_eq!((seen.status, seen.header("retry-after")), (code, Some("7")));
        assert_eq!(seen.json()["status"], code);
    }
    let nonsense = get(&server, "/status/503?retry_after=-1e30%20soon").await;
    assert_eq!(nonsense.header("retry-after"), Some("-1e30 soon"));
    for none in [
        "/status/503",
        "/status/503?retry_after=",
        "/fail-rate/100?retry_after=",
    ] {
        assert_eq!(get(&server, none).await.header("retry-after"), None, "{none}");
    }
}

#[tokio::test]
async fn throttle_asks_for_the_configured_seconds() {
    let server = start(FaultyConfig {
        retry_after: 17,
        ..FaultyConfig::default()
    });
    let seen = get(&server, "/throttle").await;
    assert_eq!((seen.status, seen.header("retry-after")), (429, Some("17")));
}

#[tokio::test]
async fn retry_after_as_a_date_in_three_forms_and_by_a_wrong_clock() {
    let server = start(FaultyConfig::default());
    for (form, skew) in [
        ("imf", 0_i64),
        ("rfc850", 0),
        ("asctime", 0),
        ("imf", 3600),
        ("rfc850", -7200),
        ("asctime", 86_400),
    ] {
        let seen = get(
            &server,
            &format!("/unavailable-date?form={form}&skew={skew}&after=30"),
        )
        .await;
        assert_eq!(seen.status, 503);
        let date = unix(seen.header("date").unwrap());
        let until = unix(seen.header("retry-after").unwrap());
        assert_eq!(until - date, 30, "{form} {skew}");
        let off = date - skew - now();
        assert!(
            (-5..=1).contains(&off),
            "{form}: the clock is off by {skew} s and {off} s more"
        );
        let commas = seen.header("retry-after").unwrap().matches([',', '-']).count();
        assert_eq!(
            commas,
            match form {
                "imf" => 1,
                "rfc850" => 3,
                _ => 0,
            },
            "{form}"
        );
    }
    let past = get(&server, "/unavailable-date?after=-10").await;
    assert_eq!(
        unix(past.header("retry-after").unwrap()) - unix(past.header("date").unwrap()),
        -10
    );
}

/// Read by our parser and by one that is not ours.
fn unix(date: &str) -> i64 {
    let now = Duration::from_secs(u64::try_from(now()).unwrap());
    let ours = redeliver_policy::http_date::parse(date, now).unwrap();
    let since = httpdate::parse_http_date(date)
        .unwrap()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap();
    assert_eq!(ours, since, "{date}");
    i64::try_from(since.as_secs()).unwrap()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the server's clock is compared with the real one"
)]
fn now() -> i64 {
    i64::try_from(
        SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap()
            .as_secs(),
    )
    .unwrap()
}

#[tokio::test]
async fn flaky_fails_n_times_for_each_key() {
    let server = start(FaultyConfig::default());
    for key in ["a", "b"] {
        let mut statuses = Vec::new();
        for _ in 0..5 {
            statuses.push(
                get(&server, &format!("/flaky/3?key={key}&status=500"))
                    .await
                    .status,
            );
        }
        assert_eq!(statuses, [500, 500, 500, 200, 200], "{key}");
    }
}

#[tokio::test]
async fn fail_rate_fails_that_often_and_echoes_the_rest() {
    let server = start(FaultyConfig::default());
    let failing = send(
        &server,
        "DELETE",
        "/fail-rate/100?status=502&retry_after=3",
        "",
        "",
    )
    .await;
    assert_eq!((failing.status, failing.header("retry-after")), (502, Some("3")));
    let echo = send(
        &server,
        "PUT",
        "/fail-rate/0?max_delay=1ms",
        "x-a: 1\r\nx-a: 2\r\n",
        "héllo",
    )
    .await
    .json();
    assert_eq!(echo["method"], "PUT");
    assert_eq!(echo["headers"]["x-a"], "1, 2");
    assert_eq!(echo["body"], "héllo");
    assert_eq!(echo["body_bytes"], 6);
}

#[tokio::test]
async fn a_bad_request_is_told_what_is_allowed() {
    let server = start(FaultyConfig::default());
    let cases = [
        ("GET", "/nowhere", 404, "GET / lists"),
        ("GET", "/payment/authorize", 405, "takes POST"),
        ("GET", "/status/99", 400, "200 to 999"),
        ("GET", "/status/abc", 400, "200 to 999"),
        ("GET", "/fail-rate/101", 400, "0 to 100"),
        ("GET", "/ok?dealy=1s", 400, "takes delay"),
        ("GET", "/ok?delay=soon", 400, "0 to 1h"),
        ("GET", "/unavailable-date?form=iso", 400, "imf, rfc850, asctime"),
        ("GET", "/status/503?retry_after=%0d%0a", 400, "header"),
        ("GET", "/ws", 426, "ws://"),
        ("GET", "/limit/many", 400, "0 to 1000000"),
        ("GET", "/outage?down=for-ever", 400, "0 to 1h"),
        ("GET", "/outage?way=smoke", 400, "status, reset"),
        ("GET", "/picky?field=a,,b", 400, "commas between"),
        ("GET", "/sse?after=-1", 400, "from 0"),
    ];
    for (method, target, status, words) in cases {
        let seen = send(&server, method, target, "", "").await;
        assert_eq!(seen.status, status, "{target}");
        let error = seen.json()["error"].as_str().unwrap().to_owned();
        assert!(
            error.contains(words) && !error.contains('\n'),
            "{target}: {error}"
        );
    }
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused() {
    let server = start(FaultyConfig {
        max_body: 1000,
        ..FaultyConfig::default()
    });
    assert_eq!(
        send(&server, "POST", "/echo", "", &"x".repeat(1000)).await.status,
        200
    );
    assert_eq!(
        send(&server, "POST", "/echo", "", &"x".repeat(1001)).await.status,
        413
    );
}

#[tokio::test]
async fn a_delay_is_kept() {
    let server = start(FaultyConfig::default());
    let mut records = server.records();
    assert_eq!(get(&server, "/ok?delay=20ms").await.status, 200);
    assert_eq!(records.recv().await.unwrap().delay_ms, 20);
    let endless = crate::client::open(&server, "GET", "/ok?delay=1h", "", "").await;
    assert!(crate::client::still_waits(endless.readable()).await);
    let error = FaultyConfig {
        max_delay: Duration::from_secs(3601),
        ..FaultyConfig::default()
    }
    .validate();
    assert_eq!(error.unwrap_err().field(), "max_delay");
}
