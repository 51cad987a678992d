use std::{boxed::Box, error::Error, io, string::String};

use super::{
    by_text,
    text::{LOOKUP, contains},
};
use crate::{Class, Classify};

impl Classify for io::Error {
    fn class(&self) -> Class {
        use io::ErrorKind as Kind;
        match self.kind() {
            // Nothing was sent.
            Kind::ConnectionRefused
            | Kind::NotConnected
            | Kind::AddrNotAvailable
            | Kind::HostUnreachable
            | Kind::NetworkUnreachable
            | Kind::NetworkDown
            | Kind::ResourceBusy
            | Kind::WouldBlock
            | Kind::Interrupted => Class::Transient,
            // Something may have been.
            Kind::ConnectionReset
            | Kind::ConnectionAborted
            | Kind::BrokenPipe
            | Kind::TimedOut
            | Kind::UnexpectedEof => Class::Unknown,
            Kind::Other => self.get_ref().map_or(Class::Permanent, |inner| chain(inner)),
            _ if is_lookup(self) => Class::Transient,
            _ => Class::Permanent,
        }
    }

    /// The kind's own name for what is retried, because "Error" says nothing in a log.
    fn kind(&self) -> &str {
        use io::ErrorKind as Kind;
        match io::Error::kind(self) {
            Kind::ConnectionRefused => "ConnectionRefused",
            Kind::NotConnected => "NotConnected",
            Kind::AddrNotAvailable => "AddrNotAvailable",
            Kind::HostUnreachable => "HostUnreachable",
            Kind::NetworkUnreachable => "NetworkUnreachable",
            Kind::NetworkDown => "NetworkDown",
            Kind::ResourceBusy => "ResourceBusy",
            Kind::WouldBlock => "WouldBlock",
            Kind::Interrupted => "Interrupted",
            Kind::ConnectionReset => "ConnectionReset",
            Kind::ConnectionAborted => "ConnectionAborted",
            Kind::BrokenPipe => "BrokenPipe",
            Kind::TimedOut => "TimedOut",
            Kind::UnexpectedEof => "UnexpectedEof",
            _ if is_lookup(self) => "NameLookup",
            _ => "IoError",
        }
    }
}

fn is_lookup(error: &io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(|inner| contains(&std::string::ToString::to_string(inner), LOOKUP))
}

impl Classify for Box<dyn Error + Send + Sync> {
    fn class(&self) -> Class {
        chain(self.as_ref())
    }
}

impl Classify for Box<dyn Error> {
    fn class(&self) -> Class {
        chain(self.as_ref())
    }
}

impl Classify for String {
    fn class(&self) -> Class {
        by_text(self)
    }
}

impl Classify for str {
    fn class(&self) -> Class {
        by_text(self)
    }
}

/// A cause this deep is a cycle in somebody's `source()`.
const DEEPEST_CAUSE: usize = 16;

/// The first error of the chain that says something about retries decides.
fn chain(error: &(dyn Error + 'static)) -> Class {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    for cause in causes.take(DEEPEST_CAUSE) {
        if let Some(io) = cause.downcast_ref::<io::Error>() {
            return io.class();
        }
        let class = by_text(&std::string::ToString::to_string(cause));
        if class != Class::Permanent {
            return class;
        }
    }
    Class::Permanent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_what_was_sent() {
        assert_eq!(
            io::Error::from(io::ErrorKind::ConnectionRefused).class(),
            Class::Transient
        );
        assert_eq!(
            io::Error::from(io::ErrorKind::ConnectionReset).class(),
            Class::Unknown
        );
        assert_eq!(
            io::Error::from(io::ErrorKind::InvalidData).class(),
            Class::Permanent
        );
        assert_eq!(
            io::Error::other("ECONNREFUSED 10.0.0.1").class(),
            Class::Transient
        );
    }

    #[test]
    fn a_name_that_cannot_be_looked_up_may_be_in_a_moment() {
        use std::net::ToSocketAddrs as _;
        // Longer than a name can be, so that nobody is asked.
        let error = ("x".repeat(300).as_str(), 80).to_socket_addrs().unwrap_err();
        assert_eq!(error.class(), Class::Transient, "{error}");
        assert_eq!(Classify::kind(&error), "NameLookup");
        assert_eq!(
            by_text(&std::string::ToString::to_string(&error)),
            Class::Transient
        );
    }

    #[test]
    fn a_boxed_error_is_judged_by_its_cause() {
        #[derive(Debug)]
        struct Wrapped(io::Error);
        impl std::fmt::Display for Wrapped {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("could not load")
            }
        }
        impl Error for Wrapped {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                Some(&self.0)
            }
        }
        let boxed: Box<dyn Error + Send + Sync> = Box::new(Wrapped(io::ErrorKind::TimedOut.into()));
        assert_eq!(boxed.class(), Class::Unknown);
    }
}
