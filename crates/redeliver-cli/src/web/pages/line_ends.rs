//! How lines end: browsers send every end as `\r\n`, whatever it was.

/// The text with `\n` at the end of every line.
pub(super) fn plain(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// A plain text with its lines ended as those of the other one are; none if those end in several ways.
pub(super) fn like(other: &str, text: &str) -> Option<String> {
    let pairs = other.matches("\r\n").count();
    let (returns, feeds) = (other.matches('\r').count(), other.matches('\n').count());
    match (pairs, returns, feeds) {
        (_, 0, _) => Some(text.to_owned()),
        (_, _, 0) => Some(text.replace('\n', "\r")),
        _ if pairs == returns && pairs == feeds => Some(text.replace('\n', "\r\n")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_as_they_did_before() {
        assert_eq!(plain("a\r\nb\rc\nd"), "a\nb\nc\nd");
        for (before, after) in [
            ("{}", "1\n2"),
            ("a\nb", "1\n2"),
            ("a\r\nb\r\n", "1\r\n2"),
            ("MSH|1\rPID|2", "1\r2"),
        ] {
            assert_eq!(like(before, "1\n2").as_deref(), Some(after), "{before:?}");
        }
        for mixed in ["a\r\nb\n", "a\rb\nc", "a\r\nb\r"] {
            assert_eq!(like(mixed, "1\n2"), None, "{mixed:?}");
        }
    }
}
