//! Where spans go: what the configuration says, and the standard variables where it says nothing.

use std::time::Duration;

use redeliver::{Class, Classify as _, Policy, http};
use redeliver_outbox::config::{NoOtlp, Otlp, TelemetrySettings};

use crate::exit::BadInput;

/// How long a collector may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const SERVICE_NAME: &str = "OTEL_SERVICE_NAME";

/// A collector that takes OTLP over HTTP, as JSON.
#[derive(Debug)]
pub(crate) struct Collector {
    client: http::Client,
    url: String,
    headers: Vec<(String, String)>,
    service_name: String,
    share: f64,
}

impl Collector {
    /// The one that is configured, if there is one. The file goes before the environment.
    pub(crate) fn choose(
        settings: &TelemetrySettings,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, BadInput> {
        let variable = |name| variable(name).filter(|text| !text.is_empty());
        let otlp = match (&settings.otlp, variable(ENDPOINT)) {
            (Some(otlp), _) => Some(otlp.clone()),
            (None, Some(text)) => {
                let otlp = text.parse();
                Some(otlp.map_err(|error: NoOtlp| BadInput(format!("{ENDPOINT} {error}")))?)
            }
            (None, None) => None,
        };
        let Some(Otlp::To(base)) = otlp else {
            return Ok(None);
        };
        let service_name = settings.service_name.clone().or_else(|| variable(SERVICE_NAME));
        // Its own retries would be told as if they were those of messages.
        let once = Policy::fixed(TIMEOUT).max_attempts(1).attempt_timeout(TIMEOUT);
        let client = http::Client::builder()
            .policy(once)
            .share_retry_after(false)
            .build();
        let client = client.map_err(|error| BadInput(format!("no client for the collector: {error}")))?;
        let collector = Self {
            client,
            url: format!("{base}/v1/traces"),
            headers: settings.headers.clone(),
            service_name: service_name.unwrap_or_else(|| "redeliver".to_owned()),
            share: settings.sample,
        };
        let checked = collector.request(Vec::new()).check();
        checked.map_err(|error| BadInput(format!("the collector cannot be asked: {error}")))?;
        Ok(Some(collector))
    }

    pub(super) const fn share(&self) -> f64 {
        self.share
    }

    pub(super) fn service_name(&self) -> &str {
        &self.service_name
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    fn request(&self, body: Vec<u8>) -> http::RequestBuilder {
        let request = self
            .client
            .post(&self.url)
            .header("content-type", "application/json");
        let headers = self.headers.iter();
        headers
            .fold(request, |request, (name, value)| request.header(name, value))
            .body(body)
    }

    /// Tries once.
    pub(super) async fn take(&self, body: Vec<u8>) -> Result<(), (Class, String)> {
        match self.request(body).send().await {
            Ok(_) => Ok(()),
            Err(gave_up) => {
                let told = gave_up.to_string();
                match gave_up.into_error() {
                    Some(error) => Err((error.class(), error.to_string())),
                    None => Err((Class::Transient, told)),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(otlp: Option<Otlp>, endpoint: &str) -> Result<Option<String>, String> {
        let settings = TelemetrySettings {
            otlp,
            ..TelemetrySettings::default()
        };
        let variable = |name: &str| {
            Some(match name {
                ENDPOINT => endpoint.to_owned(),
                _ => "shop".to_owned(),
            })
        };
        let collector = Collector::choose(&settings, variable).map_err(|error| error.0)?;
        Ok(collector.map(|collector| format!("{} {}", collector.url(), collector.service_name())))
    }

    #[test]
    fn the_file_goes_before_the_environment() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let file = Otlp::To("http://file:4318".to_owned());
        let at_file = Some("http://file:4318/v1/traces shop".to_owned());
        assert_eq!(chosen(Some(file), "http://other:4318"), Ok(at_file));
        let elsewhere = Some("http://other:4318/v1/traces shop".to_owned());
        assert_eq!(chosen(None, "http://other:4318/"), Ok(elsewhere));
        assert_eq!(chosen(Some(Otlp::Off), "http://other:4318"), Ok(None));
        assert_eq!(chosen(None, ""), Ok(None));
        let wrong = chosen(None, "http://user:hunter2@other").unwrap_err();
        assert!(
            wrong.starts_with(ENDPOINT) && !wrong.contains("hunter2"),
            "{wrong}"
        );
    }
}
