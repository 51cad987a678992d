//! So many requests a second, and no more.

use std::time::Duration;

use hyper::StatusCode;
use serde_json::json;

use super::exchange::Exchange;
use super::query::number;
use super::reply::{Refusal, Reply, json_value, with_retry_after};
use super::request::Call;

const MOST_A_SECOND: u64 = 1_000_000;
const SECOND: Duration = Duration::from_secs(1);

/// What was taken in one second, counted from the server's start.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    second: u64,
    requests: u64,
}

impl Taken {
    /// Takes one more, or says how long until the next second.
    pub(crate) fn one_more(&mut self, most: u64, now: Duration) -> Result<(), Duration> {
        if now.as_secs() != self.second {
            *self = Self {
                second: now.as_secs(),
                requests: 0,
            };
        }
        if self.requests < most {
            self.requests += 1;
            return Ok(());
        }
        Err(SECOND.saturating_sub(Duration::from_nanos(now.subsec_nanos().into())))
    }
}

pub(crate) fn limit(call: &Call, exchange: &Exchange) -> Result<Reply, Refusal> {
    let most = number("per_second", &call.value, 0..=MOST_A_SECOND)?;
    let Err(wait) = exchange.lab().take_one_of(most) else {
        return Ok(Reply::success(r#"{"ok":true}"#));
    };
    let body = json!({ "ok": false, "reason": "too many requests", "per_second": most });
    let response = json_value(StatusCode::TOO_MANY_REQUESTS, &body);
    // Whole seconds are what the header can say; a shorter word would be too soon.
    let seconds = wait.as_millis().div_ceil(1000).max(1).to_string();
    let retry_after = call.query.text("retry_after").unwrap_or(&seconds);
    Ok(Reply::fault("limit", with_retry_after(response, retry_after)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_has_room_for_as_many_again() {
        let mut taken = Taken::default();
        let mut at = |millis| taken.one_more(2, Duration::from_millis(millis));
        assert_eq!([at(0), at(400)], [Ok(()), Ok(())]);
        assert_eq!(at(400), Err(Duration::from_millis(600)));
        assert_eq!(at(999), Err(Duration::from_millis(1)));
        assert_eq!([at(1_000), at(1_999)], [Ok(()), Ok(())]);
        assert!(at(1_999).is_err());
        assert_eq!(at(7_000), Ok(()));
    }

    #[test]
    fn nothing_is_taken_where_nothing_is_allowed() {
        assert_eq!(Taken::default().one_more(0, Duration::ZERO), Err(SECOND));
    }
}
