//! Between a relay and its database server: passes everything on, until it is told to cut, or to let nothing through.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

use super::error::{Result, While as _};

#[derive(Debug)]
pub(super) struct Proxy {
    pub(super) address: SocketAddr,
    line: Arc<watch::Sender<Line>>,
    /// Ends with the arena.
    _passing: JoinSet<()>,
}

/// The state of the line. Connections of an earlier generation have been cut.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    generation: u64,
    refusing: bool,
    silent: bool,
}

impl Proxy {
    pub(super) async fn to(server: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .during("listen as a proxy")?;
        let address = listener.local_addr().during("listen as a proxy")?;
        let line = Arc::new(watch::Sender::new(Line::default()));
        let mut passing = JoinSet::new();
        passing.spawn(accept(listener, server, Arc::clone(&line)));
        Ok(Self {
            address,
            line,
            _passing: passing,
        })
    }

    /// Cuts every connection, and refuses others until the line is restored.
    pub(super) fn cut(&self) {
        self.line.send_modify(|line| {
            line.generation += 1;
            line.refusing = true;
        });
    }

    /// Keeps connections open and lets nothing through, until the line is cut or restored.
    pub(super) fn silence(&self) {
        self.line.send_modify(|line| line.silent = true);
    }

    pub(super) fn restore(&self) {
        self.line
            .send_modify(|line| (line.refusing, line.silent) = (false, false));
    }
}

async fn accept(listener: TcpListener, server: SocketAddr, line: Arc<watch::Sender<Line>>) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((client, _)) = listener.accept().await else {
            continue;
        };
        if line.borrow().refusing {
            continue;
        }
        let line = line.subscribe();
        connections.spawn(pass(client, server, line));
    }
}

async fn pass(client: TcpStream, server: SocketAddr, mut line: watch::Receiver<Line>) {
    let generation = line.borrow().generation;
    let Ok(server) = TcpStream::connect(server).await else {
        return;
    };
    // An answer held back to be sent with others would make every statement slow.
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let (forth, back) = (line.clone(), line.clone());
    tokio::select! {
        () = carry(from_client, to_server, forth) => {}
        () = carry(from_server, to_client, back) => {}
        _ = line.wait_for(|line| line.generation != generation) => {}
    }
}

async fn carry(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut line: watch::Receiver<Line>,
) {
    let mut buffer = vec![0; 16 << 10];
    loop {
        let Ok(length @ 1..) = from.read(&mut buffer).await else {
            return;
        };
        if line.wait_for(|line| !line.silent).await.is_err() || to.write_all(&buffer[..length]).await.is_err()
        {
            return;
        }
    }
}
