//! Where a destination may not be.

use std::{collections::BTreeSet, net::Ipv6Addr};

use redeliver_outbox::destination::Http;

const REFUSED: &str = include_str!("ssrf.txt");
const PUBLIC: &str = include_str!("public.txt");

fn lines(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("# "))
        .collect();
    let different: BTreeSet<&&str> = lines.iter().collect();
    assert_eq!(different.len(), lines.len(), "one stands there twice");
    lines
}

fn url(text: &str) -> String {
    match text {
        text if text.parse::<Ipv6Addr>().is_ok() => format!("http://[{text}]:8080/events"),
        text if text.contains('/') || text.contains("http:") => text.to_owned(),
        text => format!("http://{text}:8080/events"),
    }
}

#[test]
fn every_way_into_a_private_network_is_refused_with_its_reason() {
    let lines = lines(REFUSED);
    assert!(lines.len() >= 150, "{}", lines.len());
    let through: Vec<String> = lines.into_iter().filter_map(let_through).collect();
    assert!(through.is_empty(), "{through:#?}");
}

/// What is wrong with how a line is answered.
fn let_through(line: &str) -> Option<String> {
    let (text, words) = line.split_once("  ").unwrap();
    match Http::to(url(text)).build() {
        Ok(_) => Some(text.to_owned()),
        Err(error) if error.field == "url" && error.rule.contains(words) => None,
        Err(error) => Some(format!("{line}: {error}")),
    }
}

#[test]
fn no_public_address_is_refused() {
    let lines = lines(PUBLIC);
    assert!(lines.len() >= 50, "{}", lines.len());
    for text in lines {
        let url = url(text);
        if let Err(error) = Http::to(&url).build() {
            panic!("{url}: {error}");
        }
    }
}

#[test]
fn a_refusal_names_the_address_the_range_and_what_to_do() {
    let error = Http::to("http://0x7f.1:9200/hunter2").build().unwrap_err();
    assert_eq!(
        error.to_string(),
        "url: \"http://0x7f.1:9200/…\" is at 127.0.0.1, which is loopback (127.0.0.0/8); \
         if messages may go there, set allow_private = true on this destination"
    );
    let error = Http::to("http://134744072/").build().unwrap_err();
    assert_eq!(
        error.to_string(),
        "url: \"http://134744072/\" has an unusual way to write an address; if 8.8.8.8 is meant, write it so"
    );
    assert!(Http::to("http://0x7f.1/").allow_private(true).build().is_ok());
}
