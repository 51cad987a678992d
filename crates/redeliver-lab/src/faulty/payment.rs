//! The documents' payment API: slow at random, overloaded at random, and never charging one key twice.

use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderValue};

use super::chance::happens;
use super::exchange::Exchange;
use super::faults::{failure_status, random_delay};
use super::reply::{Refusal, Reply, json_response, with_retry_after};
use super::request::Call;
use super::socket::FaultSocket;

const AUTHORIZED: &str = r#"{"ok":true,"authorized":true}"#;
pub(crate) const OVERLOADED: &str = r#"{"ok":false,"reason":"temporary overload"}"#;
const LONGEST_KEY: usize = 255;

/// What is known of one idempotency key.
#[derive(Default)]
pub(crate) struct KeyState {
    pub(crate) requests: u64,
    authorized: bool,
}

enum Decision {
    Authorized,
    Replayed,
    Overloaded,
}

pub(crate) async fn authorize(
    call: &mut Call,
    exchange: &mut Exchange,
    socket: &FaultSocket,
) -> Result<Reply, Refusal> {
    let config = &exchange.lab().config;
    let fail_rate = call.query.percent("fail_rate", config.fail_rate)?;
    let lose = call.query.percent("lose", 0)?;
    let max_delay = call.query.duration("max_delay", config.max_delay)?;
    let status = failure_status(call)?;
    let retry_after = call
        .query
        .text("retry_after")
        .map_or(config.retry_after.to_string(), str::to_owned);
    let key = idempotency_key(call)?;

    let fails = happens(&mut call.rng, fail_rate);
    let delay: Duration = random_delay(&mut call.rng, max_delay);
    let loses = happens(&mut call.rng, lose);
    if let Some(key) = &key {
        exchange.lab().with_key(key, |state| state.requests += 1);
    }
    exchange.delay(delay).await;

    // Decided after the delay and in one step: of two requests in flight with one key, only one is charged.
    let decision = match &key {
        Some(key) => exchange
            .lab()
            .with_key(key, |state| decide(fails, &mut state.authorized)),
        None => decide(fails, &mut false),
    };
    match decision {
        Decision::Overloaded => {
            let response = json_response(status, OVERLOADED.to_owned());
            Ok(Reply::fault(
                "overload",
                with_retry_after(response, &retry_after)?,
            ))
        }
        Decision::Replayed => {
            exchange.lab().count(|stats| stats.payments.replayed += 1);
            let mut response = json_response(StatusCode::OK, AUTHORIZED.to_owned());
            response
                .headers_mut()
                .insert("idempotent-replayed", HeaderValue::from_static("true"));
            Ok(Reply::Answer {
                fault: None,
                response,
            })
        }
        Decision::Authorized => {
            exchange.lab().count(|stats| {
                stats.payments.authorized += 1;
                stats.payments.answers_lost += u64::from(loses);
            });
            if !loses {
                return Ok(Reply::success(AUTHORIZED));
            }
            let _ = socket.reset_on_close();
            Ok(Reply::Cut {
                fault: Some("answer-lost"),
                status: None,
            })
        }
    }
}

fn decide(fails: bool, authorized: &mut bool) -> Decision {
    match (*authorized, fails) {
        (true, _) => Decision::Replayed,
        (false, true) => Decision::Overloaded,
        (false, false) => {
            *authorized = true;
            Decision::Authorized
        }
    }
}

fn idempotency_key(call: &Call) -> Result<Option<String>, Refusal> {
    let Some(value) = call.headers.get("idempotency-key") else {
        return Ok(None);
    };
    let refusal = || {
        Refusal::bad_request(format!(
            "Idempotency-Key: {} bytes are not allowed; give 1 to {LONGEST_KEY} visible ASCII characters",
            value.len()
        ))
    };
    key_of(&call.headers)
        .map(|key| Some(key.to_owned()))
        .ok_or_else(refusal)
}

/// The request's idempotency key, if it is one.
pub(crate) fn key_of(headers: &HeaderMap) -> Option<&str> {
    let key = headers.get("idempotency-key")?.to_str().ok();
    key.filter(|key| (1..=LONGEST_KEY).contains(&key.len()))
}
