/// The URL without what may be secret: user, password, the values of its query.
pub(crate) fn shown(url: &str) -> String {
    let url: String = url.chars().filter(|c| !c.is_control()).take(200).collect();
    let (address, query) = url.split_once('?').unwrap_or((&url, ""));
    let address = match address.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = authority.rsplit('@').next().unwrap_or(authority);
            format!("{scheme}://{host}{path}")
        }
        None => address.to_owned(),
    };
    if query.is_empty() {
        return address;
    }
    let names = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) => format!("{name}=…"),
        None => "…".to_owned(),
    });
    format!("{address}?{}", names.collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_secret_is_not_shown() {
        for (url, expected) in [
            (
                "ws://user:word@host:1/p@th?token=a&b#c",
                "ws://host:1/p@th?token=…&…",
            ),
            ("https://host", "https://host"),
            ("nonsense", "nonsense"),
            ("a\nb", "ab"),
            ("", ""),
        ] {
            assert_eq!(shown(url), expected);
        }
    }
}
