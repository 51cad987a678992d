//! Up and down by turns, counted from the server's start.

use std::time::Duration;

use hyper::StatusCode;

use super::exchange::Exchange;
use super::faults::{failure_status, reset};
use super::payment::OVERLOADED;
use super::reply::{Refusal, Reply, json_response, with_retry_after};
use super::request::Call;
use super::socket::FaultSocket;

/// How it is seen that nobody is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Down {
    Status,
    Reset,
}

const WAYS: [(&str, Down); 2] = [("status", Down::Status), ("reset", Down::Reset)];

/// How long it is up and down.
#[derive(Clone, Copy, Debug)]
struct Turns {
    /// Before the first outage.
    first: Duration,
    down: Duration,
    /// Between two outages.
    up: Duration,
}

impl Turns {
    fn is_down(self, now: Duration) -> bool {
        let Some(since_first) = now.checked_sub(self.first) else {
            return false;
        };
        let turn = self.down.saturating_add(self.up).as_nanos();
        match since_first.as_nanos().checked_rem(turn) {
            Some(into_turn) => into_turn < self.down.as_nanos(),
            // Neither up nor down for any time.
            None => false,
        }
    }
}

pub(crate) fn outage(call: &mut Call, exchange: &Exchange, socket: &FaultSocket) -> Result<Reply, Refusal> {
    let up = call.query.duration("up", Duration::from_secs(20))?;
    let turns = Turns {
        first: call.query.duration("first", up)?,
        down: call.query.duration("down", Duration::from_secs(6))?,
        up,
    };
    let asked = call.query.choice("way", &WAYS)?;
    let drawn = WAYS[call.rng.usize(0..WAYS.len())].1;
    let status: StatusCode = failure_status(call)?;
    if !turns.is_down(exchange.lab().age()) {
        return Ok(Reply::success(r#"{"ok":true}"#));
    }
    if asked.unwrap_or(drawn) == Down::Reset {
        return reset(socket);
    }
    let mut response = json_response(status, OVERLOADED.to_owned());
    if let Some(retry_after) = call.query.text("retry_after") {
        response = with_retry_after(response, retry_after)?;
    }
    Ok(Reply::fault("outage", response))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn down_at(turns: Turns, seconds: impl IntoIterator<Item = u64>) -> Vec<u64> {
        seconds
            .into_iter()
            .filter(|second| turns.is_down(Duration::from_secs(*second)))
            .collect()
    }

    #[test]
    fn it_goes_down_after_its_first_time_and_then_by_turns() {
        let turns = Turns {
            first: Duration::from_secs(4),
            down: Duration::from_secs(2),
            up: Duration::from_secs(3),
        };
        assert_eq!(down_at(turns, 0..15), [4, 5, 9, 10, 14]);
    }

    #[test]
    fn it_may_be_always_up_and_always_down() {
        let turns = |down, up| Turns {
            first: Duration::ZERO,
            down: Duration::from_secs(down),
            up: Duration::from_secs(up),
        };
        assert_eq!(down_at(turns(1, 0), 0..3), [0, 1, 2]);
        assert!(down_at(turns(0, 1), 0..3).is_empty());
        assert!(down_at(turns(0, 0), 0..3).is_empty());
    }
}
