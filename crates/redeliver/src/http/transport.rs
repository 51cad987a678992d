//! The connections underneath.

use std::time::Duration;

use reqwest::redirect;

use crate::tls::choose_provider;

/// Redirects that a GET or a HEAD follows.
const MOST_REDIRECTS: usize = 10;

/// reqwest decides on redirects by client and not by method, so there are two.
#[derive(Clone, Debug)]
pub(crate) struct Transports {
    /// For GET and HEAD.
    pub(crate) following: reqwest::Client,
    /// For all others: a redirect is the caller's to judge.
    pub(crate) staying: reqwest::Client,
}

impl Transports {
    pub(crate) fn new(connect_timeout: Duration) -> Result<Self, String> {
        choose_provider();
        let client = |redirects| {
            reqwest::Client::builder()
                .user_agent(concat!("redeliver/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(connect_timeout)
                .redirect(redirects)
                // Retries happen at one layer, and that is the policy's.
                .retry(reqwest::retry::never())
                .build()
                .map_err(|error| format!("cannot set up the HTTP client: {error}"))
        };
        Ok(Self {
            following: client(redirect::Policy::limited(MOST_REDIRECTS))?,
            staying: client(redirect::Policy::none())?,
        })
    }

    pub(crate) fn given(client: reqwest::Client) -> Self {
        Self {
            following: client.clone(),
            staying: client,
        }
    }
}
