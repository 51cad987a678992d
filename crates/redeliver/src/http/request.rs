use std::sync::Arc;

use bytes::Bytes;
use redeliver_policy::StopReason;
use reqwest::{
    Method,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    Client, Error, Exchange, Response,
    exchange::Call,
    holds::HeldPlan,
    idempotency::{IDEMPOTENCY_KEY, is_idempotent, new_key},
    observers::Observers,
    target::Target,
};
use crate::{Ending, GaveUp, Observer, Run as _, address::printable};

pub(crate) type Watcher = Arc<dyn Fn(&Exchange<'_>) + Send + Sync>;

/// Servers take it for no key at all, or for the key of every call that has none: either way the request would be sent twice.
const EMPTY_KEY: &str =
    "header \"idempotency-key\": the value must not be empty; leave it out for a new one in each call";

/// A request to be sent; made by [`Client::get`] and the others. What is wrong with it is told when it is sent.
#[derive(Clone)]
#[must_use = "nothing is sent until `send` or `receive_json`"]
pub struct RequestBuilder {
    client: Client,
    draft: Result<Draft, String>,
    observer: Option<Arc<dyn Observer + Send + Sync>>,
    watcher: Option<Watcher>,
}

/// What is sent.
#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) method: Method,
    pub(crate) target: Target,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
    /// Whether it may be sent again although it was sent.
    pub(crate) idempotent: bool,
}

impl RequestBuilder {
    pub(crate) fn new(client: Client, method: Method, url: &str) -> Self {
        let draft = Target::parse(url).map(|target| Draft {
            idempotent: is_idempotent(&method),
            method,
            target,
            headers: HeaderMap::new(),
            body: None,
        });
        Self {
            client,
            draft,
            observer: None,
            watcher: None,
        }
    }

    fn change(mut self, change: impl FnOnce(&mut Draft) -> Result<(), String>) -> Self {
        if let Ok(draft) = &mut self.draft
            && let Err(problem) = change(draft)
        {
            self.draft = Err(problem);
        }
        self
    }

    /// Adds a header. An `Idempotency-Key` makes the request one that may be sent again.
    pub fn header(self, name: &str, value: &str) -> Self {
        self.change(|draft| {
            let name = header_name(name)?;
            let value = header_value(&name, value)?;
            if name == IDEMPOTENCY_KEY {
                if value.as_bytes().trim_ascii().is_empty() {
                    return Err(EMPTY_KEY.to_owned());
                }
                draft.idempotent = true;
                // Two keys are none.
                draft.headers.insert(name, value);
            } else {
                draft.headers.append(name, value);
            }
            Ok(())
        })
    }

    /// Sends this token as `Authorization: Bearer`.
    pub fn bearer(self, token: &str) -> Self {
        self.change(|draft| {
            let mut value = header_value(&AUTHORIZATION, &format!("Bearer {token}"))?;
            value.set_sensitive(true);
            draft.headers.insert(AUTHORIZATION, value);
            Ok(())
        })
    }

    /// Sends these bytes as the body, the same in each attempt.
    pub fn body(self, body: impl Into<Bytes>) -> Self {
        self.change(|draft| {
            draft.body = Some(body.into());
            Ok(())
        })
    }

    /// Sends this value as a JSON body.
    pub fn json(self, value: &(impl Serialize + ?Sized)) -> Self {
        self.change(|draft| {
            let body = serde_json::to_vec(value)
                .map_err(|error| format!("body: cannot be written as JSON: {error}"))?;
            draft.body = Some(body.into());
            draft
                .headers
                .entry(CONTENT_TYPE)
                .or_insert(HeaderValue::from_static("application/json"));
            Ok(())
        })
    }

    /// Says that sending this request twice does no harm.
    ///
    /// A POST, a PATCH or a method unknown to HTTP then carries an `Idempotency-Key`: the one given, or a new one for this call,
    /// the same in all its attempts. Without this or a key, such a request is sent again only if it never left
    /// (a refused connection, a connect timeout); everything later, a 503 included, ends with
    /// [`StopReason::UnknownOutcome`]. So does an attempt that its own timeout cuts, wherever it was.
    pub fn idempotent(self) -> Self {
        self.change(|draft| {
            draft.idempotent = true;
            Ok(())
        })
    }

    /// Sends this `Idempotency-Key`: your own name for what the call does, so that the same call made again later is known, too.
    pub fn idempotency_key(self, key: &str) -> Self {
        self.header(IDEMPOTENCY_KEY, key)
    }

    /// Tells this observer what happens to this call.
    pub fn observe(mut self, observer: impl Observer + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Calls this after each attempt, before what follows is decided.
    pub fn on_exchange(mut self, watcher: impl Fn(&Exchange<'_>) + Send + Sync + 'static) -> Self {
        self.watcher = Some(Arc::new(watcher));
        self
    }

    /// Checks the request without sending it.
    ///
    /// # Errors
    /// What is wrong with its URL, a header or its body, in one line.
    pub fn check(&self) -> Result<(), Error> {
        match &self.draft {
            Ok(_) => Ok(()),
            Err(problem) => Err(Error::request(problem.clone())),
        }
    }

    /// Sends the request, again if need be, and reads the answer to its end.
    ///
    /// # Errors
    /// [`GaveUp`], with the last real error and the reason. An answer that is no success (2xx or 304) is one; it is in
    /// [`Error::response`].
    pub async fn send(self) -> Result<Response, GaveUp<Error>> {
        self.receive(Ok).await
    }

    /// Sends the request as [`send`](RequestBuilder::send) does, and reads the answer as JSON.
    ///
    /// # Errors
    /// [`GaveUp`], with the last real error and the reason; JSON of another shape is an error that is not retried.
    pub async fn receive_json<T: DeserializeOwned>(self) -> Result<T, GaveUp<Error>> {
        self.receive(|response| response.json()).await
    }

    async fn receive<T>(
        self,
        read: impl Fn(Response) -> Result<T, Error> + Clone,
    ) -> Result<T, GaveUp<Error>> {
        let Self {
            client,
            draft,
            observer,
            watcher,
        } = self;
        let shared = &*client.shared;
        let mut draft = draft.map_err(|problem| refused(Error::request(problem)))?;
        draft.add_key();
        // Even a call on its own keeps to what it was told in an attempt that was cut.
        let holds = shared.holds.clone().unwrap_or_default();
        let plan = HeldPlan {
            pipeline: Arc::clone(match draft.idempotent {
                true => &shared.repeatable,
                false => &shared.once,
            }),
            holds: Arc::clone(&holds),
            origin: draft.target.origin.clone(),
        };
        let told = Observers([shared.observer.clone(), observer]);
        let call = Arc::new(Call::new(shared, draft, holds, watcher).map_err(refused)?);
        let attempts = plan.retrier().observe(told);
        // On the heap: what is underneath is larger than a future should be.
        let attempts = attempts.run(move |attempt| {
            let (call, read) = (Arc::clone(&call), read.clone());
            async move { read(call.attempt(attempt).await?) }
        });
        Box::pin(attempts).await
    }
}

impl Draft {
    /// One key for all attempts, if the method needs one to be repeated.
    fn add_key(&mut self) {
        if !self.idempotent || is_idempotent(&self.method) || self.headers.contains_key(IDEMPOTENCY_KEY) {
            return;
        }
        if let Ok(key) = HeaderValue::from_str(&new_key()) {
            self.headers.insert(IDEMPOTENCY_KEY, key);
        }
    }
}

fn refused(error: Error) -> GaveUp<Error> {
    GaveUp::new(Ending {
        attempts: 0,
        elapsed: std::time::Duration::ZERO,
        reason: StopReason::Permanent,
        last_error: Some(error),
        timed_out: false,
    })
}

fn header_name(name: &str) -> Result<HeaderName, String> {
    let known = HeaderName::from_bytes(name.as_bytes());
    known.map_err(|_| {
        let name = printable(name);
        format!("header {name:?}: the name must be letters, digits and -, such as X-Request-Id")
    })
}

/// The value is not shown: it may be a secret.
fn header_value(name: &HeaderName, value: &str) -> Result<HeaderValue, String> {
    let checked = HeaderValue::from_str(value);
    checked.map_err(|_| {
        format!("header \"{name}\": the value must not have line breaks or other control characters")
    })
}

#[cfg(test)]
mod tests {
    use redeliver_policy::Policy;

    use super::*;

    fn client() -> Client {
        Client::new(Policy::INTERACTIVE)
    }

    #[test]
    fn a_call_can_be_spawned() {
        fn is_send<T: Send>(_: &T) {}
        is_send(&client().get("http://localhost").send());
        is_send(&client().get("http://localhost").receive_json::<Vec<u8>>());
    }

    #[test]
    fn what_is_wrong_is_told_in_one_line_without_the_value() {
        let get = || client().get("http://localhost");
        for (request, words) in [
            (client().get("localhost:1"), "must start with http:// or https://"),
            (get().header("na me", "x"), "\"na me\""),
            (get().header("a\nb", "x"), "letters, digits"),
            (get().header("x-key", "hunter2\r\nx: y"), "\"x-key\": the value"),
            (get().header("Idempotency-Key", ""), "must not be empty"),
            (get().idempotency_key(" "), "must not be empty"),
            (get().bearer("hunter2\n"), "\"authorization\": the value"),
            (
                get().json(&std::collections::HashMap::from([((1, 2), "hunter2")])),
                "body: cannot be written as JSON",
            ),
        ] {
            let error = request.check().unwrap_err();
            assert_eq!(error.kind(), super::super::ErrorKind::Request);
            let text = format!("{error} {error:?}");
            assert!(text.contains(words), "{text}");
            assert!(!text.contains("hunter2") && !text.contains('\n'), "{text}");
        }
    }

    #[tokio::test]
    async fn a_request_that_cannot_be_made_is_not_attempted() {
        let gave_up = client().get("ftp://localhost").send().await.unwrap_err();
        assert_eq!((gave_up.attempts, gave_up.reason), (0, StopReason::Permanent));
    }

    #[test]
    fn a_key_is_made_only_where_the_method_needs_one() {
        let keys = |request: RequestBuilder| {
            let mut draft = request.draft.unwrap();
            draft.add_key();
            let keys = draft.headers.get_all(IDEMPOTENCY_KEY).iter();
            keys.map(|key| key.to_str().unwrap().len()).collect::<Vec<_>>()
        };
        let post = || client().post("http://localhost");
        assert!(keys(post()).is_empty());
        assert_eq!(keys(post().idempotent()), [36]);
        assert_eq!(keys(post().idempotency_key("order-1").idempotent()), [7]);
        assert_eq!(
            keys(
                post()
                    .header("Idempotency-Key", "first")
                    .idempotency_key("order-2")
            ),
            [7]
        );
        assert!(keys(client().put("http://localhost").idempotent()).is_empty());
    }
}
