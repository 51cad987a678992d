//! The versions the table names, read from the lock file this program was built with.

const LOCK: &str = include_str!("../Cargo.lock");

/// The version of a package that is locked once.
pub(crate) fn locked(package: &str) -> Option<&'static str> {
    let mut lines = LOCK
        .lines()
        .skip_while(|line| *line != format!("name = \"{package}\""));
    lines.next()?;
    lines.next()?.strip_prefix("version = \"")?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::locked;

    #[test]
    fn every_row_has_a_locked_version_and_each_package_only_one() {
        for entry in crate::peers::all() {
            assert!(
                locked(entry.package).is_some(),
                "{} is not in Cargo.lock",
                entry.package
            );
            let name = format!("name = \"{}\"", entry.package);
            let times = super::LOCK.lines().filter(|line| *line == name).count();
            assert_eq!(times, 1, "{} is locked {times} times", entry.package);
        }
    }

    #[test]
    fn a_package_that_is_not_there_has_none() {
        assert_eq!(locked("no-such-package"), None);
    }
}
