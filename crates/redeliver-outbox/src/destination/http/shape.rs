//! From what was asked to the shape of requests, or to what is wrong with it.

use http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use serde::de::IgnoredAny;

use super::{
    InvalidHttp, Shape,
    auth::{Auth, Proof},
    builder::{address, invalid},
    cloudevents::{self, CloudEvents},
    oauth::Tokens,
    target::{self, Target},
    template::{Format, Place, Template, is_template},
    webhook::Secret,
};

/// What a builder was told of the requests, as it was told.
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<String>,
    pub(super) secrets: Vec<String>,
    pub(super) auth: Option<Auth>,
    pub(super) events: Option<cloudevents::Asked>,
}

impl Asked {
    pub(super) const NOTHING: Self = Self {
        method: String::new(),
        headers: Vec::new(),
        body: None,
        secrets: Vec::new(),
        auth: None,
        events: None,
    };
}

/// The shape, and the tokens that requests of it need.
pub(super) fn of(asked: Asked, target: Target) -> Result<(Shape, Option<Box<Tokens>>), InvalidHttp> {
    let mut shape = Shape {
        method: method(&asked.method)?,
        target,
        fixed: HeaderMap::with_capacity(asked.headers.len()),
        rendered: Vec::new(),
        body: None,
        events: asked.events.as_ref().map(CloudEvents::new).transpose()?,
        secrets: signing(&asked.secrets)?,
    };
    fix(&mut shape, asked.headers)?;
    if let Some(events) = &shape.events {
        if asked.body.is_some() {
            return Err(invalid("body", "is made by cloudevents: leave one of them out"));
        }
        if events.is_structured() && shape.has(&CONTENT_TYPE) {
            return Err(invalid(
                "headers",
                "content-type is set by cloudevents: leave one of them out",
            ));
        }
    }
    shape.body = asked.body.map(|text| body(&text, &shape)).transpose()?;
    let tokens = match asked.auth.map(Auth::proof).transpose()? {
        None => return Ok((shape, None)),
        Some(_) if shape.has(&AUTHORIZATION) => {
            let rule = "authorization is set by auth: leave one of them out";
            return Err(invalid("headers", rule));
        }
        Some(Proof::Fixed(value)) => {
            shape.fixed.insert(AUTHORIZATION, value);
            None
        }
        Some(Proof::Tokens(tokens)) => Some(tokens),
    };
    Ok((shape, tokens))
}

fn method(name: &str) -> Result<Method, InvalidHttp> {
    match name {
        "" | "POST" => Ok(Method::POST),
        "PUT" => Ok(Method::PUT),
        "PATCH" => Ok(Method::PATCH),
        "DELETE" => Ok(Method::DELETE),
        _ => Err(invalid("method", "must be one of POST, PUT, PATCH, DELETE")),
    }
}

/// Where requests go, and its scheme, host and port.
pub(super) fn goal(text: &str) -> Result<(Target, String), InvalidHttp> {
    if !is_template(text) {
        return address(text).map(|(url, origin)| (Target::fixed(url), origin));
    }
    let (template, host) = target::parse(text.trim()).map_err(|rule| invalid("url", rule))?;
    let (base, origin) = address(host)?;
    let target = Target::rendered(template, base).map_err(|rule| invalid("url", rule))?;
    Ok((target, origin))
}

/// A template of a body, for the content type that the headers say.
fn body(text: &str, shape: &Shape) -> Result<Template, InvalidHttp> {
    if shape.rendered.iter().any(|(name, _)| name == CONTENT_TYPE) {
        let rule = "cannot be read while the header content-type is a template: how values are written depends on it";
        return Err(invalid("body", rule));
    }
    let content_type = shape
        .fixed
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let format = content_type.map_or(Format::Json, Format::of);
    let template =
        Template::parse(text, Place::Body(format)).map_err(|error| invalid("body", error.to_string()))?;
    if format == Format::Json
        && let Err(error) = serde_json::from_str::<IgnoredAny>(&template.sample("x", "0"))
    {
        let rule =
            "is no JSON with values in it; if it is not meant to be, say so with the header content-type";
        return Err(invalid("body", format!("{rule}: {error}")));
    }
    Ok(template)
}

fn signing(texts: &[String]) -> Result<Vec<Secret>, InvalidHttp> {
    let wrong = |place: usize, rule: &str| invalid("webhook", format!("secret {} {rule}", place + 1));
    let secret = |(place, text): (usize, &String)| {
        let secret: Secret = text
            .trim()
            .parse()
            .map_err(|error| wrong(place, &format!("{error}")))?;
        match secret.signs() {
            true => Ok(secret),
            false => Err(wrong(
                place,
                "is the public half of a key, which cannot sign; the private one begins with whsk_",
            )),
        }
    };
    texts.iter().enumerate().map(secret).collect()
}

fn fix(shape: &mut Shape, headers: Vec<(String, String)>) -> Result<(), InvalidHttp> {
    for (name, value) in headers {
        let known = HeaderName::try_from(&name)
            .map_err(|_| invalid("headers", format!("{name:?} is no name that HTTP allows")))?;
        shape
            .check_name(&known)
            .map_err(|rule| invalid("headers", rule))?;
        if is_template(&value) {
            let template = Template::parse(&value, Place::Header)
                .map_err(|error| invalid("headers", format!("the value of {name}, {error}")))?;
            header_value(&name, template.sample("x", "x"))?;
            shape.rendered.push((known, template));
        } else {
            let mut value = header_value(&name, value)?;
            value.set_sensitive(true);
            shape.fixed.insert(known, value);
        }
    }
    Ok(())
}

fn header_value(name: &str, value: String) -> Result<HeaderValue, InvalidHttp> {
    let visible = value
        .bytes()
        .all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte));
    HeaderValue::try_from(value)
        .ok()
        .filter(|_| visible)
        .ok_or_else(|| {
            let rule = "holds a character that no header may: only visible ASCII, spaces and tabs";
            invalid("headers", format!("the value of {name} {rule}"))
        })
}
