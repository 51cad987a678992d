//! What pages load besides themselves: everything from here, compressed once.

use std::{
    collections::HashMap,
    io::Write as _,
    sync::{Arc, LazyLock},
};

use axum::{
    Router,
    body::Bytes,
    extract::Path,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::get,
};
use flate2::{Compression, write::GzEncoder};
use ring::digest;

use super::{problem::Problem, site::Site};

/// The files, each under the name by which pages know it.
const FILES: [(&str, &str, &[u8]); 5] = [
    (
        "htmx.js",
        "text/javascript; charset=utf-8",
        include_bytes!("../../assets/htmx.min.js"),
    ),
    (
        "uplot.js",
        "text/javascript; charset=utf-8",
        include_bytes!("../../assets/uplot.min.js"),
    ),
    (
        "desk.js",
        "text/javascript; charset=utf-8",
        include_bytes!("../../assets/desk.js"),
    ),
    (
        "desk.css",
        "text/css; charset=utf-8",
        include_bytes!("../../assets/desk.css"),
    ),
    (
        "icon.svg",
        "image/svg+xml",
        include_bytes!("../../assets/icon.svg"),
    ),
];

struct Asset {
    kind: &'static str,
    plain: &'static [u8],
    compressed: Bytes,
    /// Of the contents: an address that is asked for again always means the same bytes.
    version: String,
}

static ASSETS: LazyLock<HashMap<&'static str, Asset>> = LazyLock::new(|| {
    let asset = |kind, plain: &'static [u8]| Asset {
        kind,
        plain,
        compressed: compressed(plain).into(),
        version: version(plain),
    };
    FILES
        .into_iter()
        .map(|(name, kind, plain)| (name, asset(kind, plain)))
        .collect()
});

fn compressed(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory does not fail.
    let _ = encoder.write_all(plain);
    encoder.finish().unwrap_or_default()
}

fn version(plain: &[u8]) -> String {
    let digest = digest::digest(&digest::SHA256, plain);
    digest
        .as_ref()
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The address of an asset, for templates.
pub(super) fn address(name: &str) -> String {
    let version = ASSETS.get(name).map_or("", |asset| &asset.version);
    format!("/assets/{name}?v={version}")
}

pub(super) fn router() -> Router<Arc<Site>> {
    Router::new().route("/assets/{name}", get(file))
}

async fn file(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let Some(asset) = ASSETS.get(name.as_str()) else {
        return Problem::not_found("there is no such file").into_response();
    };
    let tag = format!("\"{}\"", asset.version);
    let text = |name| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    };
    let common = [
        (header::CONTENT_TYPE, asset.kind),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (header::VARY, "accept-encoding"),
        (header::ETAG, &tag),
    ];
    if text(header::IF_NONE_MATCH).contains(&tag) {
        return (StatusCode::NOT_MODIFIED, common).into_response();
    }
    match text(header::ACCEPT_ENCODING).contains("gzip") {
        true => {
            let encoding = [(header::CONTENT_ENCODING, "gzip")];
            (common, encoding, asset.compressed.clone()).into_response()
        }
        false => (common, asset.plain).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a first visit costs.
    #[test]
    fn all_of_it_is_small() {
        let bytes: usize = ASSETS.values().map(|asset| asset.compressed.len()).sum();
        assert!(bytes < 60 * 1024, "{bytes} bytes");
    }
}
