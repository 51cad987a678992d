//! What a destination over HTTP says of its connections.

use super::{
    destinations::{LONGEST_TIMEOUT, SHORTEST_TIMEOUT},
    error::ConfigError,
    section::Section,
};
use crate::destination::HttpBuilder;

pub(super) const FIELDS: &[&str] = &[
    "connect_timeout",
    "ca",
    "client_certificate",
    "client_key",
    "allow_private",
    "proxy",
    "http2",
];

pub(super) fn read(section: &Section<'_, '_>, mut builder: HttpBuilder) -> Result<HttpBuilder, ConfigError> {
    for (name, field) in section.fields() {
        builder = match name {
            "connect_timeout" => builder.connect_timeout(field.duration(SHORTEST_TIMEOUT..=LONGEST_TIMEOUT)?),
            "ca" => builder.certificate_authority(field.contents()?),
            "client_certificate" => builder.client_certificate(field.pem()?),
            "client_key" => builder.client_key(field.pem()?),
            "allow_private" => builder.allow_private(field.flag()?),
            "proxy" => builder.proxy(field.secret()?),
            "http2" => builder.http2(field.flag()?),
            _ => builder,
        };
    }
    Ok(builder)
}
