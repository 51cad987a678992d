//! From a path to what serves it.

use std::future::pending;

use hyper::{Response, StatusCode};

use super::catalogue::{FAULT_PATHS, FaultPath, catalogue_text};
use super::exchange::Exchange;
use super::reply::{Refusal, Reply, json_response};
use super::request::Call;
use super::socket::FaultSocket;
use super::{body, faults, limit, outage, payment, picky, sse, websocket};

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Index,
    Stats,
    Payment,
    Ok,
    Echo,
    FailRate,
    Flaky,
    Status,
    Throttle,
    Limit,
    Outage,
    Picky,
    UnavailableDate,
    Hang,
    Reset,
    ResetAfterRead,
    SlowBody,
    Truncated,
    Endless,
    Huge,
    WebSocket,
    Sse,
}

/// The row that a path belongs to, with the value of its last segment where the row has one in braces.
pub(crate) fn find(path: &str) -> Option<(&'static FaultPath, &str)> {
    FAULT_PATHS.iter().find_map(|row| {
        let Some((prefix, _)) = row.path.split_once('{') else {
            return (row.path == path).then_some((row, ""));
        };
        let value = path.strip_prefix(prefix)?;
        (!value.is_empty() && !value.contains('/')).then_some((row, value))
    })
}

/// Serves one request that has found its row.
pub(crate) async fn serve(
    row: &'static FaultPath,
    call: &mut Call,
    exchange: &mut Exchange,
    socket: &FaultSocket,
) -> Result<Reply, Refusal> {
    if row.method != "ANY" && row.method != call.method.as_str() {
        return Err(Refusal::new(
            StatusCode::METHOD_NOT_ALLOWED,
            format!(
                "{} is not answered here; {} takes {}",
                call.method, row.path, row.method
            ),
        ));
    }
    call.query.check_names(row)?;
    match row.route {
        Route::Index => Ok(index(call)),
        Route::Stats => Ok(Reply::success(&exchange.lab().stats_json())),
        Route::Payment => payment::authorize(call, exchange, socket).await,
        Route::Ok => faults::ok(call, exchange).await,
        Route::Echo => faults::echo(call, exchange).await,
        Route::FailRate => faults::fail_rate(call, exchange).await,
        Route::Flaky => faults::flaky(call, exchange),
        Route::Status => faults::status(call, exchange).await,
        Route::Throttle => faults::throttle(call, exchange),
        Route::Limit => limit::limit(call, exchange),
        Route::Outage => outage::outage(call, exchange, socket),
        Route::Picky => picky::picky(call),
        Route::UnavailableDate => faults::unavailable_date(call, exchange),
        Route::Hang => {
            exchange.tell(Some("hang"), None);
            pending().await
        }
        Route::Reset | Route::ResetAfterRead => faults::reset(socket),
        Route::SlowBody => faults::slow_body(call),
        Route::Truncated => faults::truncated(call, socket).await,
        Route::Endless => faults::endless(call),
        Route::Huge => faults::huge(call),
        Route::WebSocket => websocket::accept(call, exchange),
        Route::Sse => sse::serve(call, exchange, socket).await,
    }
}

/// The faults whose point is that the request is not read.
pub(crate) fn leaves_body_unread(route: Route) -> bool {
    matches!(route, Route::Hang | Route::Reset)
}

fn index(call: &Call) -> Reply {
    if call
        .header("accept")
        .is_some_and(|accept| accept.contains("application/json"))
    {
        let table = serde_json::to_string(FAULT_PATHS).unwrap_or_default();
        return Reply::Answer {
            fault: None,
            response: json_response(StatusCode::OK, table),
        };
    }
    Reply::Answer {
        fault: None,
        response: Response::new(body::full(catalogue_text())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_by_its_own_path() {
        for row in FAULT_PATHS {
            let path = row
                .path
                .replace("{percent}", "40")
                .replace("{times}", "3")
                .replace("{per_second}", "5")
                .replace("{code}", "503");
            let (found, value) = find(&path).unwrap();
            assert_eq!(found.route, row.route, "{path}");
            assert_eq!(value.is_empty(), !row.path.contains('{'), "{path}");
        }
    }

    #[test]
    fn near_misses_are_not_found() {
        for path in ["/okay", "/status/", "/status/503/x", "/status", "//", "/payment"] {
            assert!(find(path).is_none(), "{path}");
        }
    }
}
