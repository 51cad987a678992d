//! To which name a request is, and from which page: a page of somebody else must not use a browser that can reach us.

use std::net::IpAddr;

use axum::{
    extract::Request,
    http::{HeaderMap, StatusCode, header, uri::Authority},
};

use super::super::problem::Problem;

/// The names that are answered to.
#[derive(Debug)]
pub(super) struct Hosts(Vec<String>);

impl Hosts {
    pub(super) fn new(configured: &[String]) -> Self {
        let mut names = vec!["localhost".to_owned()];
        names.extend_from_slice(configured);
        Self(names)
    }

    /// The host that the request is to, if it is one of ours. An address of digits cannot be made to lead elsewhere by a name server,
    /// so that any of those will do.
    pub(super) fn check<'r>(&self, request: &'r Request) -> Result<&'r str, Problem> {
        let headers = request.headers();
        let mut named = headers.get_all(header::HOST).iter();
        let named = match (named.next(), named.next()) {
            (Some(host), None) => host.to_str().ok(),
            (None, _) => request.uri().authority().map(Authority::as_str),
            _ => None,
        };
        let named = named.filter(|text| !text.contains('@'));
        let host = named.and_then(|text| text.parse::<Authority>().ok());
        let name = host.as_ref().map(|host| host.host().to_ascii_lowercase());
        match (named, name) {
            (Some(named), Some(name)) if self.is_ours(&name) => Ok(named),
            _ => {
                let detail = "this server does not answer to that name; [server] hosts lists the names that it answers to";
                Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, detail))
            }
        }
    }

    fn is_ours(&self, name: &str) -> bool {
        let digits = name.trim_start_matches('[').trim_end_matches(']');
        digits.parse::<IpAddr>().is_ok() || self.0.iter().any(|ours| ours == name)
    }
}

/// That a change comes from our own page, or from no page at all. Browsers say so; programs say nothing.
pub(super) fn same_origin(headers: &HeaderMap, host: &str) -> Result<(), Problem> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let from_ours = match (text("sec-fetch-site"), text("origin")) {
        (Some(site), _) if site != "same-origin" && site != "none" => false,
        (_, Some(origin)) => origin
            .split_once("://")
            .is_some_and(|(_, rest)| rest.eq_ignore_ascii_case(host)),
        _ => true,
    };
    match from_ours {
        true => Ok(()),
        false => Err(Problem::new(
            StatusCode::FORBIDDEN,
            "this came from a page of another site, which may not change anything here",
        )),
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn checked(host: &str) -> bool {
        let request = Request::builder()
            .uri("/")
            .header("host", host)
            .body(Body::empty());
        Hosts::new(&["redeliver.example.com".to_owned()])
            .check(&request.unwrap())
            .is_ok()
    }

    #[test]
    fn names_are_listed_and_addresses_are_not() {
        for ours in [
            "localhost",
            "LOCALHOST:8420",
            "127.0.0.1:8420",
            "[::1]:8420",
            "10.1.2.3",
            "Redeliver.Example.com:443",
        ] {
            assert!(checked(ours), "{ours}");
        }
        for other in [
            "evil.example",
            "localhost.evil.example",
            "",
            "127.0.0.1.evil.example:80",
            "a@localhost",
        ] {
            assert!(!checked(other), "{other}");
        }
    }

    #[test]
    fn a_change_from_another_page_is_refused() {
        let came = |pairs: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(*name, value.parse().unwrap());
            }
            same_origin(&headers, "localhost:8420").is_ok()
        };
        assert!(came(&[]));
        assert!(came(&[
            ("origin", "http://localhost:8420"),
            ("sec-fetch-site", "same-origin")
        ]));
        assert!(!came(&[("origin", "http://evil.example")]));
        assert!(!came(&[("origin", "http://localhost:9999")]));
        assert!(!came(&[("origin", "null")]));
        assert!(!came(&[("sec-fetch-site", "cross-site")]));
        assert!(!came(&[
            ("sec-fetch-site", "same-site"),
            ("origin", "http://localhost:8420")
        ]));
    }
}
