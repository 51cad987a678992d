//! Where a request goes.

use std::borrow::Cow;

use http::{Uri, uri};

use super::{
    Delivery,
    template::{Place, Template},
};

/// A URL, or a template of one whose scheme, host and port are fixed.
pub(super) enum Target {
    Fixed { url: Uri, path: Uri },
    Rendered { template: Template, base: Uri },
}

/// Scheme, host and port of a template, up to where the path or the query begins.
pub(super) fn parse(text: &str) -> Result<(Template, &str), String> {
    let template = Template::parse(text, Place::Url).map_err(|error| error.to_string())?;
    let host = text.find("://").map_or(0, |scheme| scheme + "://".len());
    match text[host..].find(['/', '?', '#']) {
        Some(end) if host + end < template.start().len() => Ok((template, &text[..host + end])),
        _ => Err(
            "a message must not choose the host: {{…}} may stand in the path and the query only".to_owned(),
        ),
    }
}

/// What a server is asked for at a URL: its path and its query.
pub(super) fn path(url: &Uri) -> Uri {
    let mut parts = uri::Parts::default();
    parts.path_and_query = url.path_and_query().cloned();
    // A path alone is a URL to HTTP.
    Uri::from_parts(parts).unwrap_or_default()
}

impl Target {
    pub(super) fn fixed(url: Uri) -> Self {
        let path = path(&url);
        Self::Fixed { url, path }
    }

    pub(super) fn rendered(template: Template, base: Uri) -> Result<Self, String> {
        let sample = template.sample("x", "x");
        within(&base, sample)?;
        Ok(Self::Rendered { template, base })
    }

    /// A URL on the host that all of them are on.
    pub(super) const fn base(&self) -> &Uri {
        match self {
            Self::Fixed { url, .. } => url,
            Self::Rendered { base, .. } => base,
        }
    }

    /// The path and the query for a message, or why there are none.
    pub(super) fn path(&self, delivery: Delivery<'_>) -> Result<Uri, String> {
        match self {
            Self::Fixed { path, .. } => Ok(path.clone()),
            Self::Rendered { .. } => Ok(path(&*self.url(delivery)?)),
        }
    }

    /// The URL for a message, or why there is none.
    pub(super) fn url(&self, delivery: Delivery<'_>) -> Result<Cow<'_, Uri>, String> {
        match self {
            Self::Fixed { url, .. } => Ok(Cow::Borrowed(url)),
            Self::Rendered { template, base } => {
                let url = within(base, template.render_text(delivery)?)?;
                Ok(Cow::Owned(url))
            }
        }
    }
}

/// The URL, which must be one on the same host and stay where its template put it.
fn within(base: &Uri, text: String) -> Result<Uri, String> {
    let length = text.len();
    let url = Uri::try_from(text).map_err(|error| format!("the URL, of {length} bytes, is none: {error}"))?;
    if (url.scheme(), url.authority()) != (base.scheme(), base.authority()) {
        return Err("the URL is on another host".to_owned());
    }
    // Whoever reads it would take the segment before it away.
    if url
        .path()
        .split('/')
        .any(|segment| segment == "." || segment == "..")
    {
        return Err("the URL has a segment that is . or .., which would make it another URL".to_owned());
    }
    Ok(url)
}
