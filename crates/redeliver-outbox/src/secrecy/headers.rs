//! Headers whose names say that their values are secret.

use serde_json::Value;

use super::MARK;
use crate::members::{Members, member};

const NAMES: [&str; 6] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "x-api-key",
    "api-key",
];
const ENDS: [&str; 4] = ["-token", "-secret", "-signature", "-password"];

/// Whether the value of a header of this name is shown to nobody.
#[must_use]
pub fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NAMES.contains(&name.as_str()) || ENDS.iter().any(|end| name.ends_with(end))
}

/// A message's headers as they are shown; what is no object is not shown, as nobody knows what is in it.
pub(crate) fn shown(headers: &str) -> String {
    let Ok(Members(members)) = serde_json::from_str(headers) else {
        return Value::from(MARK).to_string();
    };
    let mark = Value::from(MARK).to_string();
    let members: Vec<String> = members
        .iter()
        .map(|(name, value)| {
            member(
                name,
                if is_secret_header(name) {
                    &mark
                } else {
                    value.get()
                },
            )
        })
        .collect();
    format!("{{{}}}", members.join(","))
}

/// The values that are shown to nobody.
pub(super) fn values(headers: &str) -> Vec<String> {
    let Ok(Members(members)) = serde_json::from_str(headers) else {
        return Vec::new();
    };
    let secret = members.into_iter().filter(|(name, _)| is_secret_header(name));
    secret
        .filter_map(|(_, value)| serde_json::from_str(value.get()).ok())
        .collect()
}

fn is_mark(raw: &str) -> bool {
    serde_json::from_str::<String>(raw).is_ok_and(|text| text == MARK)
}

/// The first header that is given as it was shown, and not as it is.
pub(super) fn marked(headers: &str) -> Option<String> {
    if is_mark(headers) {
        return Some(MARK.to_owned());
    }
    let Members(members) = serde_json::from_str(headers).ok()?;
    let mut secret = members.into_iter().filter(|(name, _)| is_secret_header(name));
    secret
        .find(|(_, value)| is_mark(value.get()))
        .map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_its_name_says_is_secret_is_hidden() {
        let headers =
            r#"{"X-Source":"shop","Authorization":"Bearer a","x-csrf-token":1,"Cookie":"b","token":"c"}"#;
        assert_eq!(
            shown(headers),
            r#"{"X-Source":"shop","Authorization":"…","x-csrf-token":"…","Cookie":"…","token":"c"}"#
        );
        assert_eq!(values(headers), ["Bearer a", "b"]);
        assert_eq!(shown("no object"), r#""…""#);
        assert_eq!(marked(&shown(headers)).as_deref(), Some("Authorization"));
        assert_eq!(marked(headers), None);
    }
}
