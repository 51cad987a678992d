//! Redirects, which the fault server does not have.

use redeliver::StopReason;
use redeliver::http::StatusCode;
use tokio::task::JoinHandle;

use crate::seen::{QUICK, client, scripted};

async fn redirecting() -> (String, JoinHandle<Vec<String>>) {
    let redirect = "307 Moved\r\nlocation: /there?token=hunter2\r\ncontent-length: 0\r\n\r\n";
    scripted([redirect, "200 OK\r\ncontent-length: 0\r\n\r\n"]).await
}

#[tokio::test]
async fn a_get_follows_a_redirect() {
    let (url, seen) = redirecting().await;
    let response = client(QUICK).get(&url).send().await.unwrap();
    assert_eq!((response.status, response.attempts), (StatusCode::OK, 1));
    let seen = seen.await.unwrap();
    assert_eq!(seen, ["GET /here HTTP/1.1", "GET /there?token=hunter2 HTTP/1.1"]);
}

#[tokio::test]
async fn anything_else_gets_it_as_an_error_with_the_answer() {
    for (method, idempotent) in [("POST", true), ("POST", false), ("PUT", true)] {
        let (url, seen) = redirecting().await;
        let mut request = client(QUICK).request(method.parse().unwrap(), &url);
        if idempotent {
            request = request.idempotent();
        }
        let gave_up = request.send().await.unwrap_err();
        assert_eq!((gave_up.attempts, gave_up.reason), (1, StopReason::Permanent));
        let text = gave_up.to_string();
        assert!(text.contains("only GET and HEAD follow redirects"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
        let error = gave_up.into_error().unwrap();
        assert_eq!(
            error.response().unwrap().headers["location"],
            "/there?token=hunter2"
        );
        seen.abort();
    }
}
