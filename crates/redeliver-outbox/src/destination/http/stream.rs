//! A TCP connection that remembers how the other side began, for whoever has to say what was wrong with it.

use std::{
    io::{self, IoSlice},
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
};

use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// As much as is needed to tell one protocol from another.
const REMEMBERED: usize = 32;

/// The first bytes that came from the other side.
#[derive(Clone, Debug, Default)]
pub(super) struct Beginning(Arc<OnceLock<Vec<u8>>>);

impl Beginning {
    pub(super) fn bytes(&self) -> &[u8] {
        self.0.get().map_or(&[], Vec::as_slice)
    }

    /// Of the connection that this describes.
    pub(super) fn of(connected: &Connected) -> Option<Self> {
        let mut extras = http::Extensions::new();
        connected.get_extras(&mut extras);
        extras.remove()
    }
}

#[derive(Debug)]
pub(super) struct Stream {
    tcp: TcpStream,
    beginning: Beginning,
    read_by_a_proxy: bool,
}

impl Stream {
    pub(super) fn new(tcp: TcpStream) -> Self {
        Self {
            tcp,
            beginning: Beginning::default(),
            read_by_a_proxy: false,
        }
    }

    /// Who is at its other end: the server, or the proxy on the way there.
    pub(super) fn peer(&self) -> io::Result<SocketAddr> {
        self.tcp.peer_addr()
    }

    /// What is said on it is read by a proxy, which needs the whole URL of each request.
    pub(super) const fn read_by_a_proxy(mut self) -> Self {
        self.read_by_a_proxy = true;
        self
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        let connected = self.tcp.connected().proxy(self.read_by_a_proxy);
        connected.extra(self.beginning.clone())
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.tcp).poll_read(context, buffer);
        let new = &buffer.filled()[before..];
        if !new.is_empty() && self.beginning.0.get().is_none() {
            let start = new[..new.len().min(REMEMBERED)].to_vec();
            self.beginning.0.get_or_init(|| start);
        }
        read
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(context)
    }
}
