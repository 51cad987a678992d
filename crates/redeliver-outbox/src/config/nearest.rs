//! What somebody may have meant.

/// What to say of a name that is not among the allowed ones.
pub(super) fn unknown(name: &str, allowed: &[&str]) -> String {
    let list = allowed.join(", ");
    match nearest(name, allowed) {
        Some(meant) => format!("is unknown; did you mean {meant}? Allowed are {list}"),
        None => format!("is unknown; allowed are {list}"),
    }
}

/// The allowed name that the fewest mistakes lead to, if they are few for its length.
fn nearest<'a>(name: &str, allowed: &[&'a str]) -> Option<&'a str> {
    // Nobody mistypes this much, and the table below grows with the length.
    if name.len() > 64 {
        return None;
    }
    let name = name.to_lowercase().replace('-', "_");
    allowed
        .iter()
        .map(|&candidate| (mistakes(&name, candidate), candidate))
        .min()
        .filter(|(mistakes, candidate)| *mistakes <= candidate.len().div_ceil(3))
        .map(|(_, candidate)| candidate)
}

/// Characters added, lost, changed, or swapped with their neighbour.
fn mistakes(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut table = vec![vec![0; to.len() + 1]; from.len() + 1];
    for i in 0..=from.len() {
        for j in 0..=to.len() {
            table[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let changed = usize::from(from[i - 1] != to[j - 1]);
                let mut least = (table[i - 1][j] + 1)
                    .min(table[i][j - 1] + 1)
                    .min(table[i - 1][j - 1] + changed);
                if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                    least = least.min(table[i - 2][j - 2] + 1);
                }
                least
            };
        }
    }
    table[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_understood_and_a_stranger_is_not() {
        let allowed = ["timeout", "type", "url", "payload_limit"];
        for (name, meant) in [
            ("tiemout", Some("timeout")),
            ("Timeout", Some("timeout")),
            ("payload-limit", Some("payload_limit")),
            ("uri", Some("url")),
            ("tpye", Some("type")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, &allowed), meant, "{name}");
        }
        assert_eq!(nearest(&"timeout".repeat(1000), &allowed), None);
    }
}
