//! What a query or a form says: names and values, some of them several times.

use super::address::decoded;

/// The fields as they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    pub(super) fn of(encoded: &str) -> Self {
        let pairs = encoded.split('&').filter(|pair| !pair.is_empty());
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        };
        Self(pairs.map(pair).collect())
    }

    /// The value, without the space around it; none if there is none, or nothing in it.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    pub(super) fn all<'f, 'n>(&'f self, name: &'n str) -> impl Iterator<Item = &'f str> + use<'f, 'n> {
        self.0
            .iter()
            .filter(move |(given, _)| given == name)
            .map(|(_, value)| value.trim())
            .filter(|value| !value.is_empty())
    }

    /// The value as it was given, with its space and its emptiness.
    pub(super) fn exact(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(given, _)| given == name);
        found.map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_they_were_meant() {
        let fields = Fields::of("status=sent&status=failed&q=+a%26b%20&empty=&odd&broken=%zz%e2%82");
        assert_eq!(fields.all("status").collect::<Vec<_>>(), ["sent", "failed"]);
        assert_eq!(fields.get("q"), Some("a&b"));
        assert_eq!(fields.exact("q"), Some(" a&b "));
        assert_eq!(
            (fields.get("empty"), fields.get("odd"), fields.get("none")),
            (None, None, None)
        );
        assert_eq!(fields.get("broken"), Some("%zz\u{fffd}"));
    }
}
