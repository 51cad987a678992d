//! Bodies have to be here within a time: whoever sends a byte now and then would keep a connection from everybody else.

use std::time::Duration;

use axum::{
    BoxError,
    body::{Body, HttpBody as _},
    extract::Request,
    middleware::Next,
    response::Response,
};
use futures_util::{StreamExt as _, stream};
use redeliver::clock;

/// How long the body of a request may take to arrive: the largest one, over a slow line.
const BODY_WITHIN: Duration = Duration::from_secs(60);

pub(super) async fn bound(request: Request, next: Next) -> Response {
    next.run(request.map(within)).await
}

fn within(body: Body) -> Body {
    if body.is_end_stream() {
        return body;
    }
    let until = clock::now().plus(BODY_WITHIN);
    let arriving = stream::try_unfold(body.into_data_stream(), move |mut rest| async move {
        let left = until.since(clock::now());
        match tokio::time::timeout(left, rest.next()).await {
            Ok(Some(piece)) => Ok::<_, BoxError>(Some((piece?, rest))),
            Ok(None) => Ok(None),
            Err(_) => Err(format!("it was not here within {} s", BODY_WITHIN.as_secs()).into()),
        }
    });
    Body::from_stream(arriving)
}

#[cfg(test)]
mod tests {
    use axum::body::{Bytes, to_bytes};

    use super::*;

    fn piece() -> Result<Bytes, BoxError> {
        Ok(Bytes::from_static(b"token="))
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stops_arriving_is_not_waited_for() {
        let begun = clock::now();
        let body = Body::from_stream(stream::iter([piece()]).chain(stream::pending()));
        let error = to_bytes(within(body), 100).await.unwrap_err();
        assert!(format!("{error:?}").contains("not here within 60 s"), "{error:?}");
        assert_eq!(clock::now().since(begun).as_secs(), 60);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_arrives_drop_by_drop_has_no_more_time_for_that() {
        let begun = clock::now();
        let drops = stream::unfold((), |()| async {
            clock::sleep(Duration::from_secs(7)).await;
            Some((piece(), ()))
        });
        assert!(
            to_bytes(within(Body::from_stream(drops)), usize::MAX)
                .await
                .is_err()
        );
        assert_eq!(clock::now().since(begun).as_secs(), 60);
    }

    #[tokio::test]
    async fn one_that_is_here_is_taken_as_it_is() {
        let body = Body::from_stream(stream::iter([piece(), piece()]));
        let taken = to_bytes(within(body), 100).await.unwrap();
        assert_eq!(taken, "token=token=");
        assert!(within(Body::empty()).is_end_stream());
    }
}
