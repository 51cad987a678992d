//! Operations that change what they have borrowed or own.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

use crate::{Attempt, Classifier, GaveUp, Observer, Plan, Retrier};

impl<P: Plan, C, O> Retrier<'_, P, C, O> {
    /// Runs an operation that changes what it has borrowed or owns; see [`Run::run_mut`](crate::Run::run_mut).
    ///
    /// # Errors
    /// [`GaveUp`], with the last real error and the reason.
    pub async fn run_mut<T, E, F>(self, operation: F) -> Result<T, GaveUp<E>>
    where
        F: AsyncFnMut(Attempt) -> Result<T, E>,
        E: fmt::Display,
        C: Classifier<E>,
        O: Observer,
    {
        let home = Mutex::new(Some(operation));
        self.run(async |attempt| {
            let mut lent = Lent::new(&home);
            match &mut lent.operation {
                Some(operation) => operation(attempt).await,
                // The attempt before has ended or was dropped, and with it its loan.
                None => std::future::pending().await,
            }
        })
        .await
    }
}

/// The operation, lent to one attempt after the other: each future is a type of its own that borrows nothing from the driver, which
/// is what lets the compiler see that a driven call is `Send`.
struct Lent<'a, F> {
    operation: Option<F>,
    home: &'a Mutex<Option<F>>,
}

impl<'a, F> Lent<'a, F> {
    fn new(home: &'a Mutex<Option<F>>) -> Self {
        let operation = home.lock().unwrap_or_else(PoisonError::into_inner).take();
        Self { operation, home }
    }
}

impl<F> Drop for Lent<'_, F> {
    fn drop(&mut self) {
        *self.home.lock().unwrap_or_else(PoisonError::into_inner) = self.operation.take();
    }
}
