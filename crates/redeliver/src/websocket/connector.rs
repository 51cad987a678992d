use std::{fmt, pin::Pin, sync::Arc, time::Duration};

use futures_util::SinkExt;
use redeliver_policy::Policy;
use rustls::ClientConfig;
use tokio_tungstenite::{
    Connector as TlsConnector, connect_async_tls_with_config,
    tungstenite::{
        handshake::client::Request,
        http::{HeaderName, HeaderValue},
        protocol::WebSocketConfig,
    },
};

use super::{
    Handshake, Message, Socket, WebSocketError, WebSocketHandle,
    connection::Vigilance,
    handle::Shared,
    handshake::{check_url, parse_header},
};
use crate::{
    address::shown,
    stream::{Connect, Connector, Reconnecting, limited},
    tls::choose_provider,
};

/// A message may have this many bytes unless one says otherwise.
pub const DEFAULT_MAX_MESSAGE_SIZE: usize = 1024 * 1024;
/// A ping is sent this often unless one says otherwise.
pub const DEFAULT_KEEP_ALIVE: Duration = Duration::from_secs(20);
/// A connection on which nothing comes for this long, pongs included, was lost, unless one says otherwise.
pub const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// The messages of a WebSocket, over as many connections as it takes.
pub type WebSocketStream = Reconnecting<WebSocketConnector>;

type Resume = Box<dyn FnMut(Option<&Message>, &mut Handshake) + Send>;

/// A WebSocket that reconnects; [`stream`](WebSocket::stream) begins it.
#[must_use = "nothing is connected until its stream is polled"]
pub struct WebSocket {
    policy: Policy,
    refused: Option<String>,
    connector: WebSocketConnector,
}

impl WebSocket {
    /// A WebSocket at this address, `ws://` or `wss://`.
    pub fn connect(url: impl Into<String>) -> Self {
        Self {
            policy: Policy::RECONNECT,
            refused: None,
            connector: WebSocketConnector {
                url: url.into(),
                headers: Vec::new(),
                resume: None,
                tls: None,
                shared: Arc::default(),
                max_message_size: DEFAULT_MAX_MESSAGE_SIZE,
                vigilance: Vigilance {
                    ping_every: Some(DEFAULT_KEEP_ALIVE),
                    idle_timeout: Some(DEFAULT_IDLE_TIMEOUT),
                },
            },
        }
    }

    /// How it reconnects; [`Policy::RECONNECT`] unless said otherwise.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sends this header with each handshake.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        match parse_header(name, value) {
            Ok(header) => self.connector.headers.push(header),
            Err(words) => self.refused = Some(words),
        }
        self
    }

    /// Is asked before each connection what to ask for and what to say first, given the last item seen: `None` at first.
    pub fn resume(mut self, resume: impl FnMut(Option<&Message>, &mut Handshake) + Send + 'static) -> Self {
        self.connector.resume = Some(Box::new(resume));
        self
    }

    /// Makes `wss://` connections with this configuration: a private authority, a client certificate. Without it, the usual public authorities are
    /// trusted.
    pub fn tls(mut self, config: Arc<ClientConfig>) -> Self {
        self.connector.tls = Some(config);
        self
    }

    /// The largest message that is taken, in bytes. A larger one is permanent: it would come again.
    pub const fn max_message_size(mut self, bytes: usize) -> Self {
        self.connector.max_message_size = bytes;
        self
    }

    /// Sends a ping this often, so that the other side, and whatever is between, knows that someone listens.
    pub const fn keep_alive(mut self, every: Duration) -> Self {
        self.connector.vigilance.ping_every = Some(every);
        self
    }

    /// A connection on which nothing comes for this long, pongs included, was lost. Choose it longer than the keep-alive.
    pub const fn idle_timeout(mut self, longest: Duration) -> Self {
        self.connector.vigilance.idle_timeout = Some(longest);
        self
    }

    /// Neither pings nor looks for silence.
    pub const fn without_keep_alive(mut self) -> Self {
        self.connector.vigilance = Vigilance {
            ping_every: None,
            idle_timeout: None,
        };
        self
    }

    /// Sends on whichever connection is up.
    #[must_use]
    pub fn handle(&self) -> WebSocketHandle {
        WebSocketHandle {
            shared: Arc::clone(&self.connector.shared),
        }
    }

    /// The stream of its messages. Nothing is connected until it is polled.
    ///
    /// # Errors
    /// [`WebSocketError::Invalid`] for an address or a header that makes no sense.
    pub fn stream(self) -> Result<WebSocketStream, WebSocketError> {
        check_url(&self.connector.url)?;
        match self.refused {
            Some(words) => Err(WebSocketError::Invalid(words)),
            None => Ok(Reconnecting::new(limited(self.policy), self.connector)),
        }
    }
}

impl fmt::Debug for WebSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.connector.fmt(f)
    }
}

/// Makes the connections of a [`WebSocket`].
pub struct WebSocketConnector {
    url: String,
    headers: Vec<(HeaderName, HeaderValue)>,
    resume: Option<Resume>,
    tls: Option<Arc<ClientConfig>>,
    shared: Arc<Shared>,
    max_message_size: usize,
    vigilance: Vigilance,
}

impl fmt::Debug for WebSocketConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebSocketConnector")
            .field("url", &shown(&self.url))
            .finish_non_exhaustive()
    }
}

impl Connector for WebSocketConnector {
    type Item = Message;
    type Error = WebSocketError;
    type Stream = Socket;
    type Connecting = Pin<Box<dyn Future<Output = Result<Socket, WebSocketError>> + Send>>;

    fn connect(&mut self, _connect: Connect) -> Self::Connecting {
        let mut next = Handshake::new(self.url.clone(), self.headers.clone());
        if let Some(resume) = &mut self.resume {
            resume(self.shared.last().as_ref(), &mut next);
        }
        let (request, first) = (next.request(), next.first);
        let config = WebSocketConfig::default()
            .max_message_size(Some(self.max_message_size))
            .max_frame_size(Some(self.max_message_size));
        let (shared, remembers) = (Arc::clone(&self.shared), self.resume.is_some());
        let (vigilance, tls) = (self.vigilance, self.tls.clone());
        Box::pin(async move {
            let wire = open(request?, config, tls, first).await?;
            Ok(Socket::new(wire, shared, remembers, vigilance))
        })
    }
}

async fn open(
    request: Request,
    config: WebSocketConfig,
    tls: Option<Arc<ClientConfig>>,
    first: Vec<Message>,
) -> Result<super::connection::Wire, WebSocketError> {
    choose_provider();
    let tls = tls.map(TlsConnector::Rustls);
    let connecting = connect_async_tls_with_config(request, Some(config), true, tls);
    let (mut wire, _) = Box::pin(connecting).await.map_err(WebSocketError::connecting)?;
    for message in first {
        wire.send(message).await.map_err(WebSocketError::up)?;
    }
    Ok(wire)
}
