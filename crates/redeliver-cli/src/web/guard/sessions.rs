//! Browsers that have shown a token: they are known by a cookie, which says nothing but that.

use std::{collections::HashMap, sync::Mutex, time::Duration};

use axum::http::HeaderMap;
use redeliver::{Moment, clock};
use ring::rand::{SecureRandom as _, SystemRandom};

use super::Caller;
use crate::web::cookies;

/// The name of the cookie.
pub(crate) const COOKIE: &str = "redeliver_session";
/// How long a browser is known.
pub(crate) const SESSION_FOR: Duration = Duration::from_secs(12 * 3600);
/// The most that are known at a time; the oldest goes first.
const MOST: usize = 1_000;

/// Who is known by which cookie, until when.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<HashMap<String, (Caller, Moment)>>);

impl Sessions {
    /// The name of a new session; none where the system has no chance to offer.
    pub(super) fn begin(&self, caller: Caller) -> Option<String> {
        let name = secret()?;
        let now = clock::now();
        let mut sessions = self.lock();
        sessions.retain(|_, (_, until)| *until > now);
        if sessions.len() >= MOST {
            let oldest = sessions.iter().min_by_key(|(_, (_, until))| *until);
            if let Some(name) = oldest.map(|(name, _)| name.clone()) {
                sessions.remove(&name);
            }
        }
        sessions.insert(name.clone(), (caller, now.plus(SESSION_FOR)));
        Some(name)
    }

    pub(super) fn of(&self, name: &str) -> Option<Caller> {
        let now = clock::now();
        let sessions = self.lock();
        let (caller, until) = sessions.get(name)?;
        (*until > now).then(|| caller.clone())
    }

    pub(super) fn end(&self, name: &str) {
        self.lock().remove(name);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, (Caller, Moment)>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The session that a request names.
pub(super) fn named(headers: &HeaderMap) -> Option<&str> {
    cookies::named(headers, COOKIE)
}

/// 256 bits that nobody can guess.
fn secret() -> Option<String> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use axum::http::header;

    use super::*;

    #[test]
    fn a_session_is_known_until_it_ends() {
        let sessions = Sessions::default();
        let name = sessions.begin(Caller::anybody()).unwrap();
        assert_eq!(name.len(), 64);
        assert!(sessions.of(&name).is_some() && sessions.of("").is_none());
        let mut headers = HeaderMap::new();
        headers.insert(
            header::COOKIE,
            format!("theme=dark; {COOKIE}={name}").parse().unwrap(),
        );
        assert_eq!(named(&headers), Some(&*name));
        sessions.end(&name);
        assert!(sessions.of(&name).is_none());
    }

    #[test]
    fn so_many_and_no_more() {
        let sessions = Sessions::default();
        for _ in 0..MOST + 10 {
            sessions.begin(Caller::anybody());
        }
        assert_eq!(sessions.lock().len(), MOST);
    }
}
