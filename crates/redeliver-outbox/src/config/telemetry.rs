//! Where traces go: the table `[telemetry]`.

use std::fmt;

use super::{
    error::ConfigError,
    section::{Field, Section},
};
use crate::enqueue;

/// The traces of attempts.
#[derive(Clone, PartialEq)]
pub struct TelemetrySettings {
    /// The collector, if the file says one.
    pub otlp: Option<Otlp>,
    /// What is sent with every request, secrets among it.
    pub headers: Vec<(String, String)>,
    /// What the process is called there, if the file says so.
    pub service_name: Option<String>,
    /// How large a share of the traces is kept that begin here, from 0 to 1. Those that began elsewhere are kept if they are there.
    pub sample: f64,
}

/// Where spans are sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Otlp {
    /// Nowhere, whatever the environment says.
    Off,
    /// To the collector at this URL, over HTTP.
    To(String),
}

/// What is no collector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be the URL of a collector that takes OTLP over HTTP, such as http://localhost:4318, without user, password, query and fragment \
     (secrets go into headers), or off"
)]
pub struct NoOtlp;

impl std::str::FromStr for Otlp {
    type Err = NoOtlp;

    fn from_str(text: &str) -> Result<Self, NoOtlp> {
        if text == "off" {
            return Ok(Self::Off);
        }
        let rest = text
            .strip_prefix("http://")
            .or_else(|| text.strip_prefix("https://"));
        let host = rest.and_then(|rest| rest.split('/').next()).unwrap_or_default();
        let plain = text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !b"?#@\"<>\\^`{|}".contains(&byte));
        match !host.is_empty() && !host.starts_with(':') && plain {
            true => Ok(Self::To(text.trim_end_matches('/').to_owned())),
            false => Err(NoOtlp),
        }
    }
}

impl Default for TelemetrySettings {
    fn default() -> Self {
        Self {
            otlp: None,
            headers: Vec::new(),
            service_name: None,
            sample: 1.0,
        }
    }
}

/// Without the values of headers.
impl fmt::Debug for TelemetrySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("TelemetrySettings")
            .field("otlp", &self.otlp)
            .field("headers", &headers)
            .field("service_name", &self.service_name)
            .field("sample", &self.sample)
            .finish()
    }
}

pub(super) fn telemetry(section: Option<Section<'_, '_>>) -> Result<TelemetrySettings, ConfigError> {
    let mut telemetry = TelemetrySettings::default();
    let Some(section) = section else {
        return Ok(telemetry);
    };
    section.only(&["otlp", "headers", "service_name", "sample"])?;
    for (name, field) in section.fields() {
        match name {
            "otlp" => {
                let otlp = field.secret()?.parse();
                telemetry.otlp = Some(otlp.map_err(|error: NoOtlp| field.refuse(error.to_string()))?);
            }
            "headers" => telemetry.headers = headers(&field.section()?)?,
            "service_name" => telemetry.service_name = Some(service_name(&field)?),
            _ => telemetry.sample = field.number(0.0..=1.0)?,
        }
    }
    Ok(telemetry)
}

fn headers(section: &Section<'_, '_>) -> Result<Vec<(String, String)>, ConfigError> {
    let headers = section.fields().map(|(name, field)| {
        let value = field.secret()?;
        enqueue::header_name(name)
            .and_then(|()| enqueue::header("headers", &value))
            .map_err(|error| field.refuse(error.to_string()))?;
        Ok((name.to_owned(), value))
    });
    headers.collect()
}

fn service_name(field: &Field<'_, '_>) -> Result<String, ConfigError> {
    let name = field.text()?;
    match (1..=200).contains(&name.len()) && !name.chars().any(char::is_control) {
        true => Ok(name.to_owned()),
        false => Err(field.refuse("must have 1 to 200 bytes without control characters")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Config;

    fn parsed(text: &str) -> Result<TelemetrySettings, String> {
        let variables = |name: &str| (name == "KEY").then(|| "hunter2".to_owned());
        let config = Config::parse(text, Path::new("redeliver.toml"), &variables);
        config
            .map(|config| config.telemetry)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn everything_can_be_said() {
        let telemetry = parsed(
            "[telemetry]\notlp = \"https://collector.example.com:4318/otlp/\"\nservice_name = \"outbox\"\nsample = 0.25\n\
             headers = { x-api-key = \"$KEY\" }",
        )
        .unwrap();
        let url = "https://collector.example.com:4318/otlp".to_owned();
        assert_eq!(telemetry.otlp, Some(Otlp::To(url)));
        assert_eq!(telemetry.service_name.as_deref(), Some("outbox"));
        assert_eq!(
            telemetry.headers,
            [("x-api-key".to_owned(), "hunter2".to_owned())]
        );
        assert!(!format!("{telemetry:?}").contains("hunter2"));
        assert_eq!(
            parsed("[telemetry]\notlp = \"off\"").unwrap().otlp,
            Some(Otlp::Off)
        );
        assert_eq!(parsed("").unwrap(), TelemetrySettings::default());
    }

    #[test]
    fn what_is_wrong_is_named_and_never_shown() {
        for (text, part) in [
            ("otlp = \"collector:4318\"", "telemetry.otlp"),
            ("otlp = \"http://\"", "telemetry.otlp"),
            ("otlp = \"http://user:hunter2@collector\"", "without user"),
            ("otlp = \"http://collector/?key=hunter2\"", "without user"),
            ("otlp = \"grpc://collector:4317\"", "OTLP over HTTP"),
            ("sample = 1.5", "telemetry.sample"),
            ("service_name = \"\"", "telemetry.service_name"),
            ("headers = { \"x y\" = \"hunter2\" }", "telemetry.headers"),
            ("headers = { x = \"hunter2\\nz\" }", "telemetry.headers.x"),
            ("endpoint = \"x\"", "service_name"),
        ] {
            let error = parsed(&format!("[telemetry]\n{text}")).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
