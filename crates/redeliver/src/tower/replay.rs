/// Makes the copy of a request that an attempt sends, so that the request itself is kept for the next. A closure
/// `Fn(&Request) -> Option<Request>` does too.
pub trait Replay<Q> {
    /// A copy, or `None` if this request can be sent once only: then there is one attempt.
    fn replay(&self, request: &Q) -> Option<Q>;
}

/// Clones the request. The default.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByClone;

impl<Q: Clone> Replay<Q> for ByClone {
    fn replay(&self, request: &Q) -> Option<Q> {
        Some(request.clone())
    }
}

impl<Q, F: Fn(&Q) -> Option<Q>> Replay<Q> for F {
    fn replay(&self, request: &Q) -> Option<Q> {
        self(request)
    }
}
