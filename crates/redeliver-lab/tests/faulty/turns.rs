//! Faults that depend on the time, on how many come, and on what they bring.

use std::io::ErrorKind;

use redeliver_lab::faulty::FaultyConfig;

use crate::client::{get, send, soon, start};

#[tokio::test]
async fn limit_takes_so_many_a_second_and_says_when_to_come_again() {
    let server = start(FaultyConfig::default());
    let refused = soon(async {
        loop {
            let seen = get(&server, "/limit/2").await;
            if seen.status != 200 {
                return seen;
            }
        }
    });
    let refused = refused.await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")));
    assert_eq!(refused.json()["per_second"], 2);
    let route = &server.stats().routes["/limit/{per_second}"];
    assert!(route.successes >= 2, "{route:?}");
    assert_eq!(route.faults["limit"], 1);

    let never = get(&server, "/limit/0?retry_after=7").await;
    assert_eq!((never.status, never.header("retry-after")), (429, Some("7")));
    assert_eq!(
        get(&server, "/limit/1000000").await.status,
        200,
        "each number is counted apart"
    );
}

#[tokio::test]
async fn an_outage_begins_after_its_first_time_and_is_seen_as_it_is_asked() {
    let server = start(FaultyConfig::default());
    for up in ["/outage", "/outage?first=1h", "/outage?first=0&down=0"] {
        assert_eq!(get(&server, up).await.status, 200, "{up}");
    }
    let down = "/outage?first=0&down=1h";
    for (options, status, retry_after) in [
        ("", 503, None),
        ("&status=502", 502, None),
        ("&retry_after=3", 503, Some("3")),
    ] {
        let seen = get(&server, &format!("{down}&way=status{options}")).await;
        assert_eq!((seen.status, seen.header("retry-after")), (status, retry_after));
    }
    let seen = get(&server, &format!("{down}&way=reset")).await;
    assert_eq!(seen.end.unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn an_outage_is_seen_in_both_ways_by_chance_and_alike_with_the_same_seed() {
    let mut seen = Vec::new();
    for _ in 0..2 {
        let server = start(FaultyConfig::default());
        let mut statuses = Vec::new();
        for _ in 0..16 {
            statuses.push(get(&server, "/outage?first=0&down=1h").await.status);
        }
        seen.push(statuses);
    }
    assert_eq!(seen[0], seen[1]);
    assert!(seen[0].contains(&503) && seen[0].contains(&0), "{seen:?}");
}

#[tokio::test]
async fn picky_names_what_it_misses() {
    let server = start(FaultyConfig::default());
    let post = async |target: &str, body: &str| send(&server, "POST", target, "", body).await;
    assert_eq!(post("/picky", r#"{"id":7}"#).await.status, 200);
    let target = "/picky?field=name,email";
    assert_eq!(
        post(target, r#"{"name":"Ada","email":"ada@example.com"}"#)
            .await
            .status,
        200
    );
    let lacking = post(target, r#"{"name":"Ada"}"#).await;
    assert_eq!(lacking.status, 422);
    assert_eq!(
        lacking.text(),
        r#"{"error":"a field is missing","field":"email","ok":false}"#
    );
    assert_eq!(post(target, "no JSON").await.status, 422);
    assert_eq!(server.stats().routes["/picky"].faults["picky"], 2);
}
