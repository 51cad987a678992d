//! `/ws`: the log over WebSocket.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use hyper::header::{CONNECTION, HeaderValue, SEC_WEBSOCKET_ACCEPT, UPGRADE};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper::{Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::body;
use super::drops::{DropKind, Step, StreamPlan, refused};
use super::exchange::Exchange;
use super::reply::{Refusal, Reply};
use super::request::Call;
use super::socket::FaultSocket;
use super::wait::Pace;

const GOODBYE: Duration = Duration::from_secs(1);
const LARGEST_CLIENT_MESSAGE: usize = 64 * 1024;

type Connection = WebSocketStream<TokioIo<Upgraded>>;

/// A connection that has been promised and begins once hyper lets go of the socket.
pub(crate) struct WebSocketSession {
    plan: StreamPlan,
    upgrade: OnUpgrade,
    rng: fastrand::Rng,
}

/// Answers the handshake.
pub(crate) fn accept(call: &mut Call, exchange: &Exchange) -> Result<Reply, Refusal> {
    let plan = StreamPlan::draw(call, exchange, None)?;
    if let Some(reply) = refused(call)? {
        return Ok(reply);
    }
    let says = |name, word: &str| {
        let mut values = call
            .headers
            .get_all(name)
            .iter()
            .filter_map(|value| value.to_str().ok());
        values.any(|value| value.to_ascii_lowercase().contains(word))
    };
    let key = call.headers.get("sec-websocket-key");
    let asks =
        says("upgrade", "websocket") && says("connection", "upgrade") && says("sec-websocket-version", "13");
    let (Some(key), Some(upgrade), true) = (key, call.upgrade.take(), asks) else {
        return Err(Refusal::new(
            StatusCode::UPGRADE_REQUIRED,
            "this path speaks WebSocket version 13 only; connect to it with ws://".to_owned(),
        ));
    };
    let mut response = Response::new(body::full(""));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(accept) = HeaderValue::from_str(&derive_accept_key(key.as_bytes())) {
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    }
    let session = WebSocketSession {
        plan,
        upgrade,
        rng: call.rng.clone(),
    };
    Ok(Reply::Upgrade {
        response,
        session: Box::new(session),
    })
}

impl WebSocketSession {
    /// Sends the log until its end, its drop or the client's leave.
    pub(crate) async fn run(mut self, mut exchange: Exchange, socket: FaultSocket) {
        let Ok(upgraded) = (&mut self.upgrade).await else {
            return;
        };
        let config = WebSocketConfig::default().max_message_size(Some(LARGEST_CLIENT_MESSAGE));
        let mut connection =
            WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await;
        // An error here is the client's leave, which the account tells by itself.
        let _ = self.send_log(&mut connection, &mut exchange, &socket).await;
    }

    async fn send_log(
        &mut self,
        connection: &mut Connection,
        exchange: &mut Exchange,
        socket: &FaultSocket,
    ) -> Result<(), Error> {
        let mut pace = Pace::new(self.plan.every);
        let mut sent = 0;
        loop {
            let id = match self.plan.step(sent) {
                Step::Send(id) => id,
                Step::Drop => return self.drop_connection(connection, exchange, socket, sent).await,
                Step::End => {
                    exchange.tell(None, Some(101));
                    return say_goodbye(connection, CloseCode::Normal, "end of the log").await;
                }
            };
            tokio::select! {
                () = pace.step() => {
                    connection.send(Message::text(self.plan.item(id))).await?;
                    exchange.count_item();
                    sent += 1;
                }
                message = connection.next() => match message {
                    Some(Ok(Message::Close(_))) | None => return Err(Error::ConnectionClosed),
                    Some(Err(error)) => return Err(error),
                    Some(Ok(_)) => {}
                },
            }
        }
    }

    async fn drop_connection(
        &mut self,
        connection: &mut Connection,
        exchange: &mut Exchange,
        socket: &FaultSocket,
        sent: u64,
    ) -> Result<(), Error> {
        exchange.tell(Some(self.plan.kind.name()), Some(101));
        match self.plan.kind {
            DropKind::Clean => say_goodbye(connection, CloseCode::Away, "dropped on purpose").await,
            DropKind::Silent | DropKind::BeforeFirst => Ok(()),
            DropKind::Reset => Ok(socket.reset_on_close()?),
            DropKind::MidItem => {
                let frame = text_frame(&self.plan.item(self.plan.after + sent + 1));
                let cut = self.rng.usize(1..frame.len());
                Ok(socket.send(&frame[..cut]).await?)
            }
        }
    }
}

/// Closes as the protocol says, waiting for the client's own close frame for a moment at most.
async fn say_goodbye(
    connection: &mut Connection,
    code: CloseCode,
    reason: &'static str,
) -> Result<(), Error> {
    connection
        .close(Some(CloseFrame {
            code,
            reason: reason.into(),
        }))
        .await?;
    let rest = async { while let Some(Ok(_)) = connection.next().await {} };
    let _ = tokio::time::timeout(GOODBYE, rest).await;
    Ok(())
}

/// A server's unmasked text frame. An item is far below the 126 bytes from which the length takes another form.
fn text_frame(item: &str) -> Vec<u8> {
    const FINAL_TEXT: u8 = 0x81;
    let length = u8::try_from(item.len().min(125)).unwrap_or(125);
    let mut frame = vec![FINAL_TEXT, length];
    frame.extend_from_slice(&item.as_bytes()[..usize::from(length)]);
    frame
}
