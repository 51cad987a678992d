//! What a destination over HTTP says of its requests.

use super::{
    error::ConfigError,
    section::{Field, Section},
};
use crate::destination::{ClientCredentials, HttpBuilder};

pub(super) const FIELDS: &[&str] = &["method", "body", "webhook", "auth", "cloudevents"];

pub(super) fn read(section: &Section<'_, '_>, mut builder: HttpBuilder) -> Result<HttpBuilder, ConfigError> {
    for (name, field) in section.fields() {
        builder = match name {
            "method" => builder.method(field.word(&["POST", "PUT", "PATCH", "DELETE"])?),
            "body" => builder.body(field.secret()?),
            "webhook" => signed(builder, &field.section()?)?,
            "auth" => authorized(builder, &field)?,
            "cloudevents" => events(builder, &field.section()?)?,
            _ => builder,
        };
    }
    Ok(builder)
}

fn signed(mut builder: HttpBuilder, webhook: &Section<'_, '_>) -> Result<HttpBuilder, ConfigError> {
    webhook.only(&["secrets"])?;
    let secrets = webhook.require("secrets", "what signs, such as [\"$WEBHOOK_SECRET\"]")?;
    for secret in secrets.secrets()? {
        builder = builder.webhook_secret(secret);
    }
    Ok(builder)
}

fn events(builder: HttpBuilder, events: &Section<'_, '_>) -> Result<HttpBuilder, ConfigError> {
    events.only(&["mode", "source", "type"])?;
    let mode = events
        .require("mode", "structured or binary")?
        .word(&["structured", "binary"])?;
    let source = events.require("source", "who sends the events, such as \"/shop\"")?;
    let kind = match events.get("type") {
        Some(kind) => kind.text()?,
        None => "{{topic}}",
    };
    Ok(builder.cloudevents(mode, source.text()?, kind))
}

/// One of the ways to prove who we are.
fn authorized(builder: HttpBuilder, field: &Field<'_, '_>) -> Result<HttpBuilder, ConfigError> {
    let section = field.section()?;
    section.only(&["bearer", "basic", "oauth2"])?;
    let mut ways = section.fields();
    let (Some((way, field)), None) = (ways.next(), ways.next()) else {
        return Err(field.refuse("must hold one of bearer, basic, oauth2"));
    };
    if way == "bearer" {
        return Ok(builder.bearer(field.secret()?));
    }
    let table = field.section()?;
    let required = |name: &str| {
        table
            .require(name, "a text, \"$NAME\" or { file = \"NAME\" }")?
            .secret()
    };
    let optional = |name: &str| table.get(name).map(|field| field.secret()).transpose();
    if way == "basic" {
        table.only(&["user", "password"])?;
        return Ok(builder.basic(required("user")?, required("password")?));
    }
    table.only(&["token_url", "client_id", "client_secret", "scope", "audience"])?;
    let mut client = ClientCredentials::new(
        required("token_url")?,
        required("client_id")?,
        required("client_secret")?,
    );
    if let Some(scope) = optional("scope")? {
        client = client.scope(scope);
    }
    if let Some(audience) = optional("audience")? {
        client = client.audience(audience);
    }
    Ok(builder.oauth2(client))
}
