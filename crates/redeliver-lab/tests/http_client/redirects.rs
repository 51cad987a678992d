//! Redirects, which the fault server does not have.

use redeliver::StopReason;
use redeliver::http::StatusCode;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::seen::{QUICK, client};

/// Redirects its first request and answers its second; the request lines it saw.
async fn redirecting() -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/here", listener.local_addr().unwrap());
    let answers = ["307 Moved\r\nlocation: /there?token=hunter2", "200 OK"];
    let seen = tokio::spawn(async move {
        let mut lines = Vec::new();
        for answer in answers {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = BufReader::new(stream);
            let mut line = String::new();
            stream.read_line(&mut line).await.unwrap();
            lines.push(line.trim_end().to_owned());
            while line != "\r\n" {
                line.clear();
                stream.read_line(&mut line).await.unwrap();
            }
            let answer = format!("HTTP/1.1 {answer}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        lines
    });
    (url, seen)
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
