//! Spans of attempts, as a collector and a destination meet them.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, runtime::Runtime};

use crate::{bench::Folder, desk::Desk};

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// What came in.
#[derive(Debug, Default)]
struct Seen {
    /// What destinations were told: the attempt and the trace.
    deliveries: Vec<(String, Option<String>)>,
    requests: Vec<(HeaderMap, Value)>,
}

/// A destination at `/events`, which refuses first attempts at `/refusing`, and a collector beside it.
struct Both {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
    _runtime: Runtime,
}

fn delivered(seen: &Mutex<Seen>, headers: &HeaderMap) -> String {
    let header = |name| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    let attempt = header("redeliver-attempt").unwrap();
    let mut seen = seen.lock().unwrap();
    seen.deliveries.push((attempt.clone(), header("traceparent")));
    attempt
}

async fn answer(listener: TcpListener, router: Router) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let builder = Builder::new(TokioExecutor::new());
            let _gone = builder.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

impl Both {
    fn start() -> Self {
        let runtime = Runtime::new().unwrap();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let router =
            Router::new()
                .route(
                    "/events",
                    post(
                        |State(seen): State<Arc<Mutex<Seen>>>, headers: HeaderMap| async move {
                            delivered(&seen, &headers);
                            StatusCode::NO_CONTENT
                        },
                    ),
                )
                .route(
                    "/refusing",
                    post(
                        |State(seen): State<Arc<Mutex<Seen>>>, headers: HeaderMap| async move {
                            match delivered(&seen, &headers).as_str() {
                                "1" => StatusCode::INTERNAL_SERVER_ERROR,
                                _ => StatusCode::NO_CONTENT,
                            }
                        },
                    ),
                )
                .route(
                    "/v1/traces",
                    post(
                        |State(seen): State<Arc<Mutex<Seen>>>,
                         headers: HeaderMap,
                         Json(body): Json<Value>| async move {
                            seen.lock().unwrap().requests.push((headers, body));
                            Json(json!({}))
                        },
                    ),
                )
                .with_state(Arc::clone(&seen));
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(answer(listener, router));
        Self {
            address,
            seen,
            _runtime: runtime,
        }
    }

    fn configure(&self, folder: &Folder, path: &str, telemetry: &str) {
        let address = self.address;
        folder.write(
            "redeliver.toml",
            format!(
                "[destinations.api]\ntype = \"http\"\nurl = \"http://{address}{path}\"\nallow_private = true\n\
                 policy = {{ base = \"1ms\", max = \"5ms\", max_attempts = 20 }}\n{telemetry}"
            ),
        );
    }

    fn collected(&self) -> String {
        format!("[telemetry]\notlp = \"http://{}\"\n", self.address)
    }

    fn deliveries(&self) -> Vec<(String, Option<String>)> {
        self.seen.lock().unwrap().deliveries.clone()
    }

    /// The spans, in the order of their attempts.
    fn spans(&self) -> Vec<Value> {
        let seen = self.seen.lock().unwrap();
        let mut spans: Vec<Value> = seen
            .requests
            .iter()
            .flat_map(|(_, body)| {
                body["resourceSpans"][0]["scopeSpans"][0]["spans"]
                    .as_array()
                    .unwrap()
                    .clone()
            })
            .collect();
        spans.sort_by_key(|span| attributes(span)["redeliver.attempt"].as_str().map(str::to_owned));
        spans
    }
}

fn attributes(span: &Value) -> BTreeMap<String, Value> {
    let pairs = span["attributes"].as_array().unwrap().iter();
    pairs
        .map(|pair| {
            let (_, value) = pair["value"].as_object().unwrap().iter().next().unwrap();
            (pair["key"].as_str().unwrap().to_owned(), value.clone())
        })
        .collect()
}

/// Puts a row in with plain SQL, as anybody may.
fn insert(folder: &Folder, traceparent: Option<&str>) {
    folder.run(&["migrate"]).done();
    let database = rusqlite::Connection::open(folder.0.join("redeliver.db")).unwrap();
    let row = "INSERT INTO redeliver_outbox (destination, payload, traceparent) VALUES ('api', '{}', ?)";
    database.execute(row, [traceparent]).unwrap();
}

#[test]
fn each_attempt_is_a_span_below_the_insert_and_above_the_request() {
    let (folder, both) = (Folder::new(), Both::start());
    let more = "headers = { x-api-key = \"hunter2\" }\nservice_name = \"shop-outbox\"\nsample = 0\n";
    both.configure(&folder, "/refusing", &(both.collected() + more));
    insert(&folder, Some(PARENT));
    folder.serve();
    let spans = both.spans();
    assert_eq!(spans.len(), 2, "{spans:#?}");
    let told: Vec<(String, Option<String>)> = spans
        .iter()
        .map(|span| {
            let (trace, id) = (
                span["traceId"].as_str().unwrap(),
                span["spanId"].as_str().unwrap(),
            );
            let attempt = attributes(span)["redeliver.attempt"].as_str().unwrap().to_owned();
            (attempt, Some(format!("00-{trace}-{id}-01")))
        })
        .collect();
    assert_eq!(told, both.deliveries());
    for span in &spans {
        assert_eq!(span["traceId"], "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(span["parentSpanId"], "b7ad6b7169203331");
        assert_ne!(span["spanId"], span["parentSpanId"]);
        assert_eq!((&span["name"], &span["kind"]), (&json!("send api"), &json!(3)));
        let nanos = |name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
        assert!(
            nanos("startTimeUnixNano") > 1 << 60 && nanos("endTimeUnixNano") >= nanos("startTimeUnixNano")
        );
    }
    let (failed, arrived) = (attributes(&spans[0]), attributes(&spans[1]));
    let port = both.address.port().to_string();
    for (name, before, after) in [
        ("messaging.system", "redeliver", "redeliver"),
        ("messaging.destination.name", "api", "api"),
        ("messaging.message.body.size", "2", "2"),
        ("http.request.method", "POST", "POST"),
        ("http.response.status_code", "500", "204"),
        ("server.address", "127.0.0.1", "127.0.0.1"),
        ("server.port", &port, &port),
        ("url.scheme", "http", "http"),
        ("network.protocol.version", "1.1", "1.1"),
        ("redeliver.attempt", "1", "2"),
        ("redeliver.outcome", "retried", "delivered"),
        ("redeliver.destination.kind", "http", "http"),
    ] {
        assert_eq!(
            (&failed[name], &arrived[name]),
            (&json!(before), &json!(after)),
            "{name}"
        );
    }
    let message = folder.run(&["list", "--json"]).done().json().remove(0);
    assert_eq!(failed["messaging.message.id"], message["id"]);
    assert_eq!(
        (&failed["error.type"], arrived.get("error.type")),
        (&json!("500"), None)
    );
    assert_eq!(arrived["http.request.resend_count"], "1");
    assert_eq!(
        failed["redeliver.retry_delay_ms"],
        arrived["redeliver.wait_before_ms"]
    );
    assert!(!arrived.contains_key("redeliver.retry_delay_ms"));
    assert_eq!(spans[0]["status"]["code"], 2);
    let said = spans[0]["status"]["message"].as_str().unwrap();
    assert!(said.starts_with("unknown: 500"), "{said}");
    assert!(spans[1].get("status").is_none());
    let seen = both.seen.lock().unwrap();
    let (headers, body) = &seen.requests[0];
    assert_eq!(headers["x-api-key"], "hunter2");
    assert_eq!(headers["content-type"], "application/json");
    assert!(
        body["resourceSpans"][0]["resource"]["attributes"]
            .as_array()
            .unwrap()
            .contains(&json!({ "key": "service.name", "value": { "stringValue": "shop-outbox" } }))
    );
}

#[test]
fn without_a_parent_the_attempts_are_a_trace_of_the_message() {
    let (folder, both) = (Folder::new(), Both::start());
    both.configure(&folder, "/refusing", "");
    insert(&folder, None);
    let mut serving = folder.command(&["serve", "--until-empty", "--for", "2m"]);
    let variable = format!("http://{}/", both.address);
    serving
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", variable)
        .env("OTEL_SERVICE_NAME", "of the environment");
    assert!(serving.status().unwrap().success());
    let spans = both.spans();
    assert_eq!(spans.len(), 2, "{spans:#?}");
    let message = folder.run(&["list", "--json"]).done().json().remove(0);
    let id = message["id"].as_str().unwrap().replace('-', "");
    for (span, (_, told)) in spans.iter().zip(both.deliveries()) {
        assert_eq!(
            (span["traceId"].as_str().unwrap(), span.get("parentSpanId")),
            (&*id, None)
        );
        assert_eq!(
            told,
            Some(format!("00-{id}-{}-01", span["spanId"].as_str().unwrap()))
        );
    }
    let text = both.seen.lock().unwrap().requests[0].1.to_string();
    assert!(text.contains("of the environment"), "{text}");
}

#[test]
fn what_is_not_kept_is_told_on_and_not_collected() {
    let unkept = PARENT.replace("-01", "-00");
    for (traceparent, trace) in [
        (Some(unkept.as_str()), "0af7651916cd43dd8448eb211c80319c"),
        (None, ""),
    ] {
        let (folder, both) = (Folder::new(), Both::start());
        both.configure(&folder, "/events", &(both.collected() + "sample = 0.0\n"));
        insert(&folder, traceparent);
        folder.serve();
        let told = both.deliveries().remove(0).1.unwrap();
        assert!(
            told.starts_with(&format!("00-{trace}")) && told.ends_with("-00"),
            "{told}"
        );
        assert_ne!(Some(told.as_str()), traceparent);
        assert_eq!(both.spans(), Vec::<Value>::new());
    }
}

#[test]
fn without_a_collector_the_trace_goes_on_from_the_insert() {
    for (given, told) in [
        (Some(PARENT), Some(PARENT)),
        (Some("00-1-2-01"), None),
        (None, None),
    ] {
        let (folder, both) = (Folder::new(), Both::start());
        both.configure(&folder, "/events", "");
        insert(&folder, given);
        folder.serve();
        assert_eq!(both.deliveries(), [("1".to_owned(), told.map(str::to_owned))]);
    }
}

/// The collector's address is taken, and nobody answers there; or nobody is there at all.
#[test]
fn a_collector_in_trouble_changes_nothing_for_deliveries() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (hangs, down) = (silent.local_addr().unwrap(), gone.local_addr().unwrap());
    drop(gone);
    for (collector, result) in [(hangs, None), (down, Some("failed"))] {
        let (folder, both) = (Folder::new(), Both::start());
        both.configure(
            &folder,
            "/events",
            &format!("[telemetry]\notlp = \"http://{collector}\"\n"),
        );
        let desk = Desk::open(&folder);
        for number in 0..30 {
            let message = json!({ "destination": "api", "json": number });
            assert_eq!(desk.post("/api/v1/messages", &message).status, 201);
        }
        desk.until("/metrics", |answer| {
            answer
                .body
                .contains("redeliver_delivered_total{destination=\"api\"} 30\n")
        });
        if let Some(result) = result {
            let none = format!("redeliver_spans_total{{result=\"{result}\"}} 0\n");
            desk.until("/metrics", |answer| !answer.body.contains(&none));
        }
        assert_eq!(both.deliveries().len(), 30);
        desk.signal("-TERM");
        assert_eq!(desk.ended(), Some(0));
    }
}
