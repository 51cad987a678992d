use std::{fmt, sync::Arc, time::Duration};

use redeliver_policy::{Pipeline, Policy, Stage, classify::StatusTable};
use reqwest::Method;
use serde::de::DeserializeOwned;

use super::{Error, RequestBuilder, holds::Holds, transport::Transports};
use crate::{GaveUp, Observer};

/// The longest body that is read unless the builder says otherwise: 8 MiB.
pub const DEFAULT_MAX_BODY_BYTES: usize = 8 * 1024 * 1024;
/// The time for a connection to come about unless the builder says otherwise.
pub const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The time of an attempt where neither the policy nor the pipeline limits anything: no call lasts for ever.
pub const DEFAULT_ATTEMPT_TIMEOUT: Duration = Duration::from_secs(30);

/// An HTTP client whose calls are retried by a policy. Cheap to clone; clones share connections and what servers asked for.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/answers.rs"));
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let url = answers(&[(503, "busy"), (200, r#"{"id":42}"#)]).await?;
/// use redeliver::{Policy, http::Client};
///
/// #[derive(serde::Deserialize)]
/// struct Order { id: u64 }
///
/// let client = Client::new(Policy::INTERACTIVE);
/// let order: Order = client.get_json(&url).await?; // the first answer was 503
/// assert_eq!(order.id, 42);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Client {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    /// Why there is none is told by the first call, so that `new` cannot fail.
    pub(crate) transports: Result<Transports, String>,
    /// For requests that may be sent again although they were sent.
    pub(crate) repeatable: Arc<Pipeline>,
    /// For the others.
    pub(crate) once: Arc<Pipeline>,
    pub(crate) statuses: StatusTable,
    pub(crate) max_body: usize,
    pub(crate) holds: Option<Arc<Holds>>,
    pub(crate) observer: Option<Arc<dyn Observer + Send + Sync>>,
}

impl Client {
    /// A client with this policy and the defaults for everything else.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self::builder().policy(policy).finish()
    }

    /// A client to be set up.
    pub fn builder() -> ClientBuilder {
        ClientBuilder {
            pipeline: Pipeline::new().retry(Policy::default()),
            statuses: StatusTable::DEFAULT,
            max_body: DEFAULT_MAX_BODY_BYTES,
            connect_timeout: DEFAULT_CONNECT_TIMEOUT,
            share_retry_after: true,
            observer: None,
            transport: None,
        }
    }

    /// A request of any method.
    pub fn request(&self, method: Method, url: &str) -> RequestBuilder {
        RequestBuilder::new(self.clone(), method, url)
    }

    /// A GET request.
    pub fn get(&self, url: &str) -> RequestBuilder {
        self.request(Method::GET, url)
    }

    /// A HEAD request.
    pub fn head(&self, url: &str) -> RequestBuilder {
        self.request(Method::HEAD, url)
    }

    /// A POST request. It is sent again only with an idempotency key; see [`RequestBuilder::idempotent`].
    pub fn post(&self, url: &str) -> RequestBuilder {
        self.request(Method::POST, url)
    }

    /// A PUT request.
    pub fn put(&self, url: &str) -> RequestBuilder {
        self.request(Method::PUT, url)
    }

    /// A PATCH request. It is sent again only with an idempotency key; see [`RequestBuilder::idempotent`].
    pub fn patch(&self, url: &str) -> RequestBuilder {
        self.request(Method::PATCH, url)
    }

    /// A DELETE request.
    pub fn delete(&self, url: &str) -> RequestBuilder {
        self.request(Method::DELETE, url)
    }

    /// Gets a URL and reads the answer as JSON.
    ///
    /// # Errors
    /// [`GaveUp`], with the last real error and the reason.
    pub async fn get_json<T: DeserializeOwned>(&self, url: &str) -> Result<T, GaveUp<Error>> {
        self.get(url).receive_json().await
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("pipeline", &format_args!("{}", self.shared.repeatable))
            .field("max_body_bytes", &self.shared.max_body)
            .finish_non_exhaustive()
    }
}

/// Sets up a [`Client`].
#[must_use = "there is no client until `build`"]
pub struct ClientBuilder {
    pipeline: Pipeline,
    statuses: StatusTable,
    max_body: usize,
    connect_timeout: Duration,
    share_retry_after: bool,
    observer: Option<Arc<dyn Observer + Send + Sync>>,
    transport: Option<reqwest::Client>,
}

impl ClientBuilder {
    /// Retries by this policy.
    pub fn policy(self, policy: Policy) -> Self {
        self.pipeline(Pipeline::new().retry(policy))
    }

    /// Retries by the policy of this pipeline, with its budget, breakers and timeouts.
    ///
    /// Whether a request that may have executed is repeated is the request's to say, whatever the policy says.
    pub fn pipeline(mut self, pipeline: Pipeline) -> Self {
        self.pipeline = pipeline;
        self
    }

    /// Which statuses are worth a retry.
    pub fn statuses(mut self, statuses: StatusTable) -> Self {
        self.statuses = statuses;
        self
    }

    /// The longest body that is read; a longer one is an error, and no retry mends it.
    pub fn max_body_bytes(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    /// The time for a connection to come about, within the attempt's own. A reqwest client of your own keeps its.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Whether a host's `Retry-After` to one call holds back all calls of this client to that host (scheme, name and port). Yes by
    /// default; say no where every path or every account of a host has limits of its own.
    pub fn share_retry_after(mut self, share: bool) -> Self {
        self.share_retry_after = share;
        self
    }

    /// Tells this observer what happens to every call.
    pub fn observer(mut self, observer: impl Observer + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Sends through this client, with its own proxies, certificates, redirects and pool. Switch its own retries off
    /// (`reqwest::retry::never()`), or they multiply the policy's.
    pub fn reqwest(mut self, client: reqwest::Client) -> Self {
        self.transport = Some(client);
        self
    }

    /// The client.
    ///
    /// # Errors
    /// A policy or a pipeline that makes no sense, or a TLS set-up that this machine does not have.
    pub fn build(self) -> Result<Client, Error> {
        self.pipeline
            .validate()
            .map_err(|error| Error::setup(format!("pipeline: {error}")))?;
        for stage in self.pipeline.stages() {
            if let Stage::Retry(policy) = stage {
                policy
                    .validate()
                    .map_err(|error| Error::setup(format!("policy: {error}")))?;
            }
        }
        let client = self.finish();
        match &client.shared.transports {
            Ok(_) => Ok(client),
            Err(problem) => Err(Error::setup(problem.clone())),
        }
    }

    fn finish(self) -> Client {
        let connect_timeout = self.connect_timeout;
        let transports = match self.transport {
            Some(client) => Ok(Transports::given(client)),
            None => Transports::new(connect_timeout),
        };
        let pipeline = limited(self.pipeline);
        Client {
            shared: Arc::new(Shared {
                transports,
                repeatable: Arc::new(with_idempotent(&pipeline, true)),
                once: Arc::new(with_idempotent(&pipeline, false)),
                statuses: self.statuses,
                max_body: self.max_body,
                holds: self.share_retry_after.then(Arc::default),
                observer: self.observer,
            }),
        }
    }
}

/// The same pipeline, with a time for each attempt if nothing limits anything.
fn limited(pipeline: Pipeline) -> Pipeline {
    let limits = |stage: &Stage| match stage {
        Stage::Timeout(_) => true,
        Stage::Retry(policy) => policy.deadline.is_some() || policy.attempt_timeout.is_some(),
        _ => false,
    };
    match pipeline.stages().iter().any(limits) {
        true => pipeline,
        false => pipeline.timeout(DEFAULT_ATTEMPT_TIMEOUT),
    }
}

/// The same stages around a policy that says this about repeating what may have executed.
fn with_idempotent(pipeline: &Pipeline, idempotent: bool) -> Pipeline {
    let stages = pipeline.stages().iter();
    stages.fold(Pipeline::new(), |built, stage| match stage {
        Stage::Timeout(timeout) => built.timeout(*timeout),
        Stage::Retry(policy) => built.retry(policy.idempotent(idempotent)),
        Stage::Budget(budget) => built.budget(Arc::clone(budget)),
        Stage::Breaker(breaker) => built.breaker(Arc::clone(breaker)),
        // A stage of a later version is none that this client can take apart.
        _ => built,
    })
}
