//! One attempt: the request, the answer, and the whole of its body.

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use redeliver_policy::{Moment, classify::StatusTable, retry_after};
use reqwest::{
    Method, StatusCode,
    header::{DATE, HeaderMap, RETRY_AFTER},
};

use super::{
    Error, Response,
    client::Shared,
    error::Place,
    holds::Holds,
    request::{Draft, Watcher},
    target::origin,
};
use crate::{Attempt, address::shown, clock};

/// As much of the body of a failure is kept as a person may want to read.
const LARGEST_FAILURE: usize = 64 * 1024;
/// The status says what a failure is; its body is not waited for longer than this.
const LONGEST_FAILURE: Duration = Duration::from_secs(1);

/// One attempt as it went, for those who want more than its end; see
/// [`RequestBuilder::on_exchange`](super::RequestBuilder::on_exchange).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Exchange<'a> {
    /// The attempt, from 1.
    pub attempt: u32,
    /// When it began, by [`clock::now`].
    pub began: Moment,
    /// How long it took, body included.
    pub took: Duration,
    /// The status, if an answer began.
    pub status: Option<StatusCode>,
    /// The wait that the answer's `Retry-After` asked for.
    pub retry_after: Option<Duration>,
    /// What failed. Nothing failed yet if the attempt was cut by its timeout or by the caller.
    pub error: Option<&'a Error>,
    /// Whether it was cut before it could succeed or fail.
    pub cut: bool,
}

/// What a call sends each time, and how its answers are read.
pub(crate) struct Call {
    pub(crate) transport: reqwest::Client,
    pub(crate) draft: Draft,
    pub(crate) place: Place,
    pub(crate) statuses: StatusTable,
    pub(crate) max_body: usize,
    pub(crate) holds: Arc<Holds>,
    pub(crate) began: Moment,
    pub(crate) watcher: Option<Watcher>,
}

impl Call {
    pub(crate) fn new(
        shared: &Shared,
        draft: Draft,
        holds: Arc<Holds>,
        watcher: Option<Watcher>,
    ) -> Result<Self, Error> {
        let transports = shared
            .transports
            .as_ref()
            .map_err(|problem| Error::setup(problem.clone()))?;
        let transport = match draft.method {
            Method::GET | Method::HEAD => &transports.following,
            _ => &transports.staying,
        };
        Ok(Self {
            transport: transport.clone(),
            place: Place {
                method: draft.method.clone(),
                url: shown(draft.target.url.as_str()).into(),
            },
            draft,
            statuses: shared.statuses,
            max_body: shared.max_body,
            holds,
            began: clock::now(),
            watcher,
        })
    }

    /// Sends the request once and reads the answer to its end.
    pub(crate) async fn attempt(&self, attempt: Attempt) -> Result<Response, Error> {
        let mut watched = Watched::new(attempt, self.watcher.clone());
        let result = self.exchange(attempt, &mut watched).await;
        let result = result.map_err(|error| match self.draft.idempotent {
            true => error,
            false => error.unless_sent(),
        });
        watched.finish(result.as_ref().err());
        result
    }

    async fn exchange(&self, attempt: Attempt, watched: &mut Watched) -> Result<Response, Error> {
        let broken = |error| Error::transport(&self.place, error);
        let mut answer = self.transport.execute(self.request()).await.map_err(broken)?;
        let (status, headers) = (answer.status(), std::mem::take(answer.headers_mut()));
        let retry_after = self
            .statuses
            .retries(status.as_u16())
            .then(|| asked_wait(&headers))
            .flatten();
        watched.answered(status, retry_after);
        // Before the body, which may never come.
        if let Some(wait) = retry_after {
            self.holds.keep(&origin(answer.url()), clock::now(), wait);
        }
        let success = status.is_success() || status == StatusCode::NOT_MODIFIED;
        let body = match success {
            true => self.whole_body(&mut answer).await?,
            false => start_of_body(&mut answer, self.max_body.min(LARGEST_FAILURE)).await,
        };
        let response = Response {
            status,
            headers,
            body,
            attempts: attempt.number,
            elapsed: clock::now().since(self.began),
            place: self.place.clone(),
        };
        match success {
            true => Ok(response),
            false => {
                let class = self.statuses.class(status.as_u16(), retry_after);
                Err(Error::status_of(response, class))
            }
        }
    }

    fn request(&self) -> reqwest::Request {
        let draft = &self.draft;
        let mut request = reqwest::Request::new(draft.method.clone(), draft.target.url.clone());
        *request.headers_mut() = draft.headers.clone();
        *request.body_mut() = draft.body.clone().map(Into::into);
        request
    }

    async fn whole_body(&self, answer: &mut reqwest::Response) -> Result<Bytes, Error> {
        let too_large = || Error::too_large(&self.place, self.max_body);
        // The answer to a HEAD promises the length of a body that it does not have.
        let promised = match self.draft.method {
            Method::HEAD => 0,
            _ => answer.content_length().unwrap_or(0),
        };
        let promised = usize::try_from(promised).unwrap_or(usize::MAX);
        if promised > self.max_body {
            return Err(too_large());
        }
        // A promise is cheap: room is made as bytes come.
        let mut body = BytesMut::with_capacity(promised.min(LARGEST_FAILURE));
        loop {
            match answer.chunk().await {
                Ok(Some(chunk)) if chunk.len() > self.max_body - body.len() => return Err(too_large()),
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => return Ok(body.freeze()),
                Err(error) => return Err(Error::transport(&self.place, error)),
            }
        }
    }
}

/// A failure is a failure, however its body ends.
async fn start_of_body(answer: &mut reqwest::Response, limit: usize) -> Bytes {
    let mut body = BytesMut::new();
    let read = async {
        while body.len() < limit
            && let Ok(Some(chunk)) = answer.chunk().await
        {
            let room = limit - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        }
    };
    let _ = tokio::time::timeout(LONGEST_FAILURE, read).await;
    body.freeze()
}

fn asked_wait(headers: &HeaderMap) -> Option<Duration> {
    let date = headers.get(DATE).and_then(|date| date.to_str().ok());
    let asked = headers.get_all(RETRY_AFTER).iter();
    retry_after::longest(asked.filter_map(|value| value.to_str().ok()), date, clock::wall())
}

/// Tells the watcher how an attempt went, also when it is dropped half-way.
struct Watched {
    exchange: Exchange<'static>,
    watcher: Option<Watcher>,
}

impl Watched {
    fn new(attempt: Attempt, watcher: Option<Watcher>) -> Self {
        Self {
            exchange: Exchange {
                attempt: attempt.number,
                began: clock::now(),
                took: Duration::ZERO,
                status: None,
                retry_after: None,
                error: None,
                cut: true,
            },
            watcher,
        }
    }

    fn answered(&mut self, status: StatusCode, retry_after: Option<Duration>) {
        self.exchange.status = Some(status);
        self.exchange.retry_after = retry_after;
    }

    fn finish(mut self, error: Option<&Error>) {
        self.exchange.cut = false;
        self.tell(error);
        self.watcher = None;
    }

    fn tell(&self, error: Option<&Error>) {
        if let Some(watcher) = &self.watcher {
            let took = clock::now().since(self.exchange.began);
            watcher(&Exchange {
                took,
                error,
                ..self.exchange.clone()
            });
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.tell(None);
    }
}
