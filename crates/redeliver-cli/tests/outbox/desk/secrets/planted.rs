//! What must not come out, and where everything that came out is searched for it.

use std::{cell::RefCell, collections::BTreeMap};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};

/// Secrets by the place where each was planted, and every text that a person or a machine could read.
#[derive(Default)]
pub(super) struct Planted {
    secrets: RefCell<BTreeMap<&'static str, String>>,
    texts: RefCell<Vec<(String, String)>>,
}

/// So much of a secret is a leak: what is long is cut somewhere.
const PART: usize = 12;

impl Planted {
    /// The secret of this place: a random word, the same each time.
    pub(super) fn at(&self, place: &'static str) -> String {
        let mut secrets = self.secrets.borrow_mut();
        let secret = secrets.entry(place).or_insert_with(|| {
            format!(
                "{:016x}{:016x}",
                redeliver::entropy::draw(),
                redeliver::entropy::draw()
            )
        });
        secret.clone()
    }

    /// A secret that somebody else made up.
    pub(super) fn known(&self, place: &'static str, secret: &str) {
        self.secrets.borrow_mut().insert(place, secret.to_owned());
    }

    pub(super) fn count(&self) -> usize {
        self.secrets.borrow().len()
    }

    /// Something came out.
    pub(super) fn heard(&self, whence: impl Into<String>, text: impl Into<String>) {
        self.texts.borrow_mut().push((whence.into(), text.into()));
    }

    /// What came out from there, to see that something did.
    pub(super) fn said(&self, whence: &str) -> String {
        let texts = self.texts.borrow();
        let from_there = texts.iter().filter(|(from, _)| from.starts_with(whence));
        from_there
            .map(|(_, text)| text.as_str())
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// Every secret that came out, and where.
    pub(super) fn leaks(&self) -> Vec<String> {
        let (secrets, texts) = (self.secrets.borrow(), self.texts.borrow());
        let mut leaks = Vec::new();
        for (place, secret) in secrets.iter() {
            for (whence, text) in texts.iter() {
                if let Some(found) = forms(secret).iter().find_map(|form| text.find(form.as_str())) {
                    let around: String = text[..found].chars().rev().take(60).collect();
                    let around: String = around.chars().rev().collect();
                    leaks.push(format!("{place} in {whence}, behind {around:?}"));
                }
            }
        }
        leaks
    }
}

/// The beginning and the end of a secret, as it is and as `Basic` sends it, whatever of three bytes it begins at.
fn forms(secret: &str) -> Vec<String> {
    let mut forms = vec![
        secret[..PART].to_owned(),
        secret[secret.len() - PART..].to_owned(),
    ];
    for before in ["", ":", "::"] {
        let packed = BASE64.encode(format!("{before}{secret}"));
        forms.push(packed[4..4 + PART].to_owned());
    }
    forms
}

#[test]
fn a_leak_is_found_whole_cut_or_packed() {
    let planted = Planted::default();
    let secret = planted.at("here");
    planted.heard("nowhere", "nothing of it");
    assert_eq!(planted.leaks(), [""; 0]);
    for text in [
        secret.clone(),
        format!("a {} b", &secret[..PART]),
        format!("a {}", &secret[secret.len() - PART..]),
        BASE64.encode(format!("shop:{secret}")),
        BASE64.encode(format!("shops:{secret}")),
        BASE64.encode(format!("ashops:{secret}")),
    ] {
        let planted = Planted::default();
        planted.known("here", &secret);
        planted.heard("somewhere", &text);
        assert_eq!(planted.leaks().len(), 1, "{text}");
    }
}
