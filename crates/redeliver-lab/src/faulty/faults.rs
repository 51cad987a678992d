//! One function per plain fault.

use std::time::Duration;

use hyper::header::{CONTENT_LENGTH, DATE, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::{Map, Value, json};

use super::body::{self, Body};
use super::chance::happens;
use super::config::LONGEST_RETRY_AFTER;
use super::date::{DateForm, http_date};
use super::exchange::Exchange;
use super::payment::OVERLOADED;
use super::query::number;
use super::reply::{Refusal, Reply, json_response, json_value, with_retry_after};
use super::request::Call;
use super::socket::FaultSocket;
use super::wait::since_epoch;

const LARGEST_ANSWER: u64 = 1 << 40;

/// The status of a failure: 503 unless the request asks for another.
pub(crate) fn failure_status(call: &Call) -> Result<StatusCode, Refusal> {
    let code = call.query.number("status", 503, 400..=599)?;
    Ok(StatusCode::from_u16(code).unwrap_or(StatusCode::SERVICE_UNAVAILABLE))
}

pub(crate) fn random_delay(rng: &mut fastrand::Rng, longest: Duration) -> Duration {
    let longest = u64::try_from(longest.as_micros()).unwrap_or(u64::MAX);
    Duration::from_micros(rng.u64(0..=longest))
}

fn overloaded(call: &Call, exchange: &Exchange, fault: &'static str) -> Result<Reply, Refusal> {
    let configured = exchange.lab().config.retry_after.to_string();
    let retry_after = call.query.text("retry_after").unwrap_or(&configured);
    let response = json_response(failure_status(call)?, OVERLOADED.to_owned());
    Ok(Reply::fault(fault, with_retry_after(response, retry_after)?))
}

async fn asked_delay(call: &Call, exchange: &mut Exchange) -> Result<(), Refusal> {
    let delay = call.query.duration("delay", Duration::ZERO)?;
    exchange.delay(delay).await;
    Ok(())
}

pub(crate) async fn ok(call: &Call, exchange: &mut Exchange) -> Result<Reply, Refusal> {
    asked_delay(call, exchange).await?;
    Ok(Reply::success(r#"{"ok":true}"#))
}

pub(crate) async fn echo(call: &Call, exchange: &mut Exchange) -> Result<Reply, Refusal> {
    asked_delay(call, exchange).await?;
    Ok(echoed(call))
}

fn echoed(call: &Call) -> Reply {
    let mut headers = Map::new();
    for name in call.headers.keys() {
        let values = call
            .headers
            .get_all(name)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()));
        headers.insert(
            name.to_string(),
            Value::String(values.collect::<Vec<_>>().join(", ")),
        );
    }
    let body = json!({
        "method": call.method.as_str(),
        "path": call.uri.path(),
        "query": call.uri.query(),
        "headers": headers,
        "body": String::from_utf8_lossy(&call.body),
        "body_bytes": call.body.len(),
    });
    Reply::success(&body.to_string())
}

pub(crate) async fn fail_rate(call: &mut Call, exchange: &mut Exchange) -> Result<Reply, Refusal> {
    let percent = number("percent", &call.value, 0..=100)?;
    let max_delay = call.query.duration("max_delay", Duration::ZERO)?;
    let fails = happens(&mut call.rng, percent);
    let delay = random_delay(&mut call.rng, max_delay);
    exchange.delay(delay).await;
    if fails {
        overloaded(call, exchange, "overload")
    } else {
        Ok(echoed(call))
    }
}

pub(crate) fn flaky(call: &Call, exchange: &Exchange) -> Result<Reply, Refusal> {
    let failures = number("times", &call.value, 0..=1_000_000)?;
    let key = call.query.text("key").unwrap_or_default();
    if key.len() > 255 {
        return Err(Refusal::bad_request(format!(
            "key: {} bytes are not allowed; give up to 255",
            key.len()
        )));
    }
    let before = exchange.lab().flaky_calls_before(&format!("{failures}/{key}"));
    if before < failures {
        return overloaded(call, exchange, "flaky");
    }
    Ok(Reply::success(
        &json!({ "ok": true, "failures_before": failures }).to_string(),
    ))
}

pub(crate) async fn status(call: &Call, exchange: &mut Exchange) -> Result<Reply, Refusal> {
    // A status below 200 is not an answer: a client would wait for the one that follows it.
    let code = number("code", &call.value, 200..=999)?;
    asked_delay(call, exchange).await?;
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::OK);
    let mut response = json_value(status, &json!({ "ok": code < 400, "status": code }));
    if let Some(retry_after) = call.query.text("retry_after") {
        response = with_retry_after(response, retry_after)?;
    }
    Ok(Reply::Answer {
        fault: (code >= 400).then_some("status"),
        response,
    })
}

pub(crate) fn throttle(call: &Call, exchange: &Exchange) -> Result<Reply, Refusal> {
    let configured = exchange.lab().config.retry_after.to_string();
    let body = json!({ "ok": false, "reason": "too many requests" });
    let response = json_value(StatusCode::TOO_MANY_REQUESTS, &body);
    let retry_after = call.query.text("retry_after").unwrap_or(&configured);
    Ok(Reply::fault("throttle", with_retry_after(response, retry_after)?))
}

pub(crate) fn unavailable_date(call: &Call, exchange: &Exchange) -> Result<Reply, Refusal> {
    let year = i64::try_from(LONGEST_RETRY_AFTER).unwrap_or(i64::MAX);
    let configured = i64::try_from(exchange.lab().config.retry_after).unwrap_or(year);
    let after = call.query.number("after", configured, -year..=year)?;
    let skew = call.query.number("skew", 0, -10 * year..=10 * year)?;
    let forms = [
        ("imf", DateForm::Imf),
        ("rfc850", DateForm::Rfc850),
        ("asctime", DateForm::Asctime),
    ];
    let form = call.query.choice("form", &forms)?.unwrap_or(DateForm::Imf);

    let servers_now = i64::try_from(since_epoch().as_secs())
        .unwrap_or(0)
        .saturating_add(skew);
    let response = json_response(StatusCode::SERVICE_UNAVAILABLE, OVERLOADED.to_owned());
    let mut response = with_retry_after(response, &http_date(servers_now.saturating_add(after), form))?;
    if let Ok(date) = HeaderValue::from_str(&http_date(servers_now, DateForm::Imf)) {
        response.headers_mut().insert(DATE, date);
    }
    Ok(Reply::fault("unavailable-date", response))
}

pub(crate) fn reset(socket: &FaultSocket) -> Result<Reply, Refusal> {
    let _ = socket.reset_on_close();
    Ok(Reply::Cut {
        fault: Some("reset"),
        status: None,
    })
}

fn sized(body: Body, bytes: u64) -> Response<Body> {
    let mut response = Response::new(body);
    response
        .headers_mut()
        .insert(CONTENT_LENGTH, HeaderValue::from(bytes));
    response
}

pub(crate) fn slow_body(call: &Call) -> Result<Reply, Refusal> {
    let bytes = call.query.number("bytes", 60, 0..=LARGEST_ANSWER)?;
    let every = call.query.duration("every", Duration::from_secs(1))?;
    Ok(Reply::fault("slow-body", sized(body::slow(bytes, every), bytes)))
}

pub(crate) async fn truncated(call: &Call, socket: &FaultSocket) -> Result<Reply, Refusal> {
    let bytes = call.query.number("bytes", 100, 0..=1024 * 1024)?;
    let promise = call.query.number("promise", 1000, 1..=LARGEST_ANSWER)?;
    let promise = promise.max(bytes as u64 + 1);
    let mut answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {promise}\r\n\r\n").into_bytes();
    answer.resize(answer.len() + bytes, b'x');
    // A client that is gone already has got its truncated answer.
    let _ = socket.send(&answer).await;
    Ok(Reply::Cut {
        fault: Some("truncated"),
        status: Some(200),
    })
}

pub(crate) fn endless(call: &Call) -> Result<Reply, Refusal> {
    let every = call.query.duration("every", Duration::ZERO)?;
    Ok(Reply::fault("endless", Response::new(body::endless(every))))
}

pub(crate) fn huge(call: &Call) -> Result<Reply, Refusal> {
    let bytes = call.query.number("bytes", 1 << 30, 0..=LARGEST_ANSWER)?;
    Ok(Reply::fault("huge", sized(body::huge(bytes), bytes)))
}
