//! A destination that tells everything it was sent, one thing an attempt: what no receiver should do, and many do.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Router,
    extract::{Request, State},
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::post,
};
use http_body_util::BodyExt as _;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use tokio::{net::TcpListener, runtime::Runtime, sync::mpsc};

/// More than it is ever sent: the last attempts tell the body.
pub(super) const THINGS: usize = 24;

/// A destination, a place for tokens, a proxy and a collector in one.
pub(super) struct Echo {
    pub(super) address: SocketAddr,
    /// What the collector was sent.
    pub(super) spans: mpsc::UnboundedReceiver<String>,
    _runtime: Runtime,
}

#[derive(Clone)]
struct Told {
    token: Arc<str>,
    spans: mpsc::UnboundedSender<String>,
}

impl Echo {
    /// It gives out this token.
    pub(super) fn start(token: &str) -> Self {
        let runtime = Runtime::new().unwrap();
        let (sender, spans) = mpsc::unbounded_channel();
        let told = Told {
            token: token.into(),
            spans: sender,
        };
        let router = Router::new()
            .route("/token", post(give))
            .route("/v1/traces", post(collect))
            .fallback(echo)
            .with_state(told);
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let service = TowerToHyperService::new(router.clone());
                tokio::spawn(async move {
                    let builder = Builder::new(TokioExecutor::new());
                    let _gone = builder.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self {
            address,
            spans,
            _runtime: runtime,
        }
    }
}

async fn give(State(told): State<Told>) -> Response {
    let token = format!(
        r#"{{"access_token":"{}","token_type":"Bearer","expires_in":3600}}"#,
        told.token
    );
    ([(header::CONTENT_TYPE, "application/json")], token).into_response()
}

async fn collect(State(told): State<Told>, body: String) -> &'static str {
    let _nobody_listens = told.spans.send(body);
    "{}"
}

/// The thing whose turn it is with this attempt: the address, each header, the body; or the body at once.
async fn echo(request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let attempt = head
        .headers
        .get("redeliver-attempt")
        .map_or(1, |attempt| attempt.to_str().unwrap().parse().unwrap());
    let mut things = vec![head.uri.to_string()];
    things.extend(
        head.headers
            .iter()
            .map(|(name, value)| format!("{name} {}", value.to_str().unwrap_or("?"))),
    );
    assert!(things.len() < THINGS, "{things:?}");
    let body = String::from_utf8_lossy(&body).into_owned();
    let turn = if head.headers.contains_key("redeliver-tell") {
        THINGS
    } else {
        attempt
    };
    let thing = things.into_iter().nth(turn - 1).unwrap_or(body);
    (
        StatusCode::INTERNAL_SERVER_ERROR,
        format!("I do not like {thing}"),
    )
        .into_response()
}
