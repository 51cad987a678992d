//! `/sse`: the log as server-sent events, written past hyper so that it can end in the middle of anything.

use std::io;

use hyper::header::CONTENT_LENGTH;
use hyper::{Response, StatusCode};

use super::body;
use super::drops::{DropKind, Step, StreamPlan, refused, seen_id};
use super::exchange::Exchange;
use super::reply::{Refusal, Reply};
use super::request::Call;
use super::socket::FaultSocket;
use super::wait::Pace;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-store\r\n\
                    transfer-encoding: chunked\r\nconnection: close\r\n\r\n";
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

pub(crate) async fn serve(
    call: &mut Call,
    exchange: &mut Exchange,
    socket: &FaultSocket,
) -> Result<Reply, Refusal> {
    let seen = call.header("last-event-id").filter(|id| !id.is_empty());
    let resumed = seen.map(|id| seen_id("Last-Event-ID", id)).transpose()?;
    let retry = call
        .query
        .text("retry")
        .map(|_| call.query.number("retry", 0_u64, 0..=3_600_000))
        .transpose()?;
    let plan = StreamPlan::draw(call, exchange, resumed)?;
    if let Some(reply) = refused(call)? {
        return Ok(reply);
    }
    if plan.after >= plan.until {
        return Ok(Reply::Answer {
            fault: None,
            response: no_more(),
        });
    }
    match send_log(&plan, retry, &mut call.rng, exchange, socket).await {
        Ok(fault) => Ok(Reply::Cut {
            fault,
            status: Some(200),
        }),
        Err(_) => Ok(Reply::Cut {
            fault: Some("client-gone"),
            status: Some(200),
        }),
    }
}

/// What tells an event source to stop reconnecting.
fn no_more() -> Response<body::Body> {
    let mut response = Response::new(body::full(""));
    *response.status_mut() = StatusCode::NO_CONTENT;
    response.headers_mut().remove(CONTENT_LENGTH);
    response
}

async fn send_log(
    plan: &StreamPlan,
    retry: Option<u64>,
    rng: &mut fastrand::Rng,
    exchange: &mut Exchange,
    socket: &FaultSocket,
) -> io::Result<Option<&'static str>> {
    socket.send(HEAD.as_bytes()).await?;
    if let Some(retry) = retry {
        socket
            .send(&chunk(format!("retry: {retry}\n\n").as_bytes()))
            .await?;
    }
    let mut pace = Pace::new(plan.every);
    let mut sent = 0;
    loop {
        match plan.step(sent) {
            Step::Send(id) => {
                pace.step().await;
                socket.send(&chunk(event(plan, id).as_bytes())).await?;
                exchange.count_item();
                sent += 1;
            }
            Step::Drop => {
                drop_connection(plan, sent, rng, socket).await?;
                return Ok(Some(plan.kind.name()));
            }
            Step::End => {
                socket.send(LAST_CHUNK).await?;
                return Ok(None);
            }
        }
    }
}

async fn drop_connection(
    plan: &StreamPlan,
    sent: u64,
    rng: &mut fastrand::Rng,
    socket: &FaultSocket,
) -> io::Result<()> {
    match plan.kind {
        DropKind::Clean => socket.send(LAST_CHUNK).await,
        DropKind::Silent | DropKind::BeforeFirst => Ok(()),
        DropKind::Reset => socket.reset_on_close(),
        DropKind::MidItem => {
            let event = event(plan, plan.after + sent + 1);
            // Without its empty line an event is not complete, however much of it has come.
            let cut = rng.usize(1..event.len());
            socket.send(&chunk(&event.as_bytes()[..cut])).await
        }
    }
}

fn event(plan: &StreamPlan, id: u64) -> String {
    format!("id: {id}\ndata: {}\n\n", plan.item(id))
}

fn chunk(bytes: &[u8]) -> Vec<u8> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    chunk
}
