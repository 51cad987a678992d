//! Where messages go: a server that records every request before it does anything about it, and misbehaves on purpose.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use fastrand::Rng;
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, Response, StatusCode, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use redeliver::clock;
use tokio::{net::TcpListener, task::JoinSet};

use super::{
    error::{Result, While as _},
    record::Record,
};
use crate::history::{Answer, Arrival, Fate};

/// How long a relay waits for an answer.
pub(super) const TIMEOUT: Duration = Duration::from_millis(1500);
pub(super) const TICKET: &str = "x-ticket";
pub(super) const RUN: &str = "x-relay-run";

#[derive(Debug)]
pub(super) struct Destination {
    pub(super) address: SocketAddr,
    conduct: Arc<Conduct>,
    /// Ends with the arena.
    _serving: JoinSet<()>,
}

#[derive(Debug)]
struct Conduct {
    record: Arc<Record>,
    rng: Mutex<Rng>,
    calm: AtomicBool,
}

impl Destination {
    pub(super) async fn start(record: &Arc<Record>, seed: u64) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .during("listen as a destination")?;
        let address = listener.local_addr().during("listen as a destination")?;
        let conduct = Arc::new(Conduct {
            record: Arc::clone(record),
            rng: Mutex::new(Rng::with_seed(seed)),
            calm: AtomicBool::new(false),
        });
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, Arc::clone(&conduct)));
        Ok(Self {
            address,
            conduct,
            _serving: serving,
        })
    }

    /// From now on it behaves.
    pub(super) fn calm_down(&self) {
        self.conduct.calm.store(true, Ordering::Relaxed);
    }
}

async fn serve(listener: TcpListener, conduct: Arc<Conduct>) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let conduct = Arc::clone(&conduct);
        connections.spawn(async move {
            let service = service_fn(|request| receive(request, &conduct));
            // A connection that breaks is what this server is for.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

/// An error cuts the connection without an answer.
async fn receive(request: Request<Incoming>, conduct: &Conduct) -> io::Result<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let header = |name: &str| {
        let value = head.headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let number = |name: &str| header(name).parse().unwrap_or(0);
    // What did not arrive in full did not arrive.
    let payload = body
        .collect()
        .await
        .map_err(io::Error::other)?
        .to_bytes()
        .to_vec();
    let ticket = header(TICKET).parse().unwrap_or(0);
    let (answer, wait) = conduct.decide(conduct.record.fate(ticket));
    let arrival = Arrival {
        at: 0,
        answered_at: 0,
        ticket,
        id: header("idempotency-key"),
        attempt: number("redeliver-attempt"),
        relay: number(RUN),
        payload,
        // Until it is answered, or for ever if its relay ends before that.
        answer: if answer == Answer::Accepted {
            Answer::TakenUnheard
        } else {
            answer
        },
    };
    let noted = conduct.record.arrived(arrival, wait.min(TIMEOUT));
    clock::sleep(wait).await;
    conduct.record.answered(noted, answer);
    let status = match answer {
        Answer::Accepted => StatusCode::OK,
        Answer::PutOff => StatusCode::SERVICE_UNAVAILABLE,
        Answer::Rejected => StatusCode::BAD_REQUEST,
        Answer::TakenUnheard | Answer::Cut => return Err(io::ErrorKind::ConnectionReset.into()),
    };
    let mut response = Response::new(Full::new(Bytes::new()));
    *response.status_mut() = status;
    Ok(response)
}

impl Conduct {
    fn decide(&self, fate: Option<Fate>) -> (Answer, Duration) {
        let mut rng = self.rng.lock().unwrap_or_else(PoisonError::into_inner);
        let right = match fate {
            Some(Fate::Rejected) => Answer::Rejected,
            Some(Fate::PutOff) => Answer::PutOff,
            _ => Answer::Accepted,
        };
        let at_once = Duration::ZERO;
        if self.calm.load(Ordering::Relaxed) || right == Answer::PutOff {
            return (right, at_once);
        }
        let slow = Duration::from_millis(rng.u64(10..150));
        let too_slow = TIMEOUT + Duration::from_millis(rng.u64(200..1000));
        // Out of a thousand.
        match rng.u32(0..1000) {
            0..70 => (Answer::PutOff, at_once),
            70..90 => (Answer::Cut, at_once),
            90..110 => (Answer::TakenUnheard, at_once),
            110..114 => (Answer::TakenUnheard, too_slow),
            114..214 => (right, slow),
            _ => (right, at_once),
        }
    }
}
