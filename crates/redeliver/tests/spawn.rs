//! Calls as tasks of their own: what `tokio::spawn` asks of their futures.

use std::{io, sync::Arc, time::Duration};

use redeliver::{Attempt, Pipeline, prelude::*};
use tokio::task::yield_now;

const POLICY: Policy = Policy::exponential(Duration::from_millis(10), Duration::from_millis(80))
    .jitter(Jitter::None)
    .max_attempts(4);

fn third_time_lucky(number: u32) -> Result<u32, io::Error> {
    if number < 3 {
        return Err(io::Error::from(io::ErrorKind::ConnectionRefused));
    }
    Ok(number)
}

struct Client {
    name: String,
}

impl Client {
    async fn get(&self, url: &str, attempt: Attempt) -> Result<String, io::Error> {
        yield_now().await;
        let number = third_time_lucky(attempt.number)?;
        Ok(format!("{} {url} {number}", self.name))
    }

    /// What nearly every caller looks like: a method that borrows itself and its arguments.
    async fn get_with_retries(&self, url: &str) -> Result<String, GaveUp<io::Error>> {
        POLICY.run(async |attempt| self.get(url, attempt).await).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_is_a_task_as_it_is() {
    let task = tokio::spawn(POLICY.run(async |attempt| {
        yield_now().await;
        third_time_lucky(attempt.number)
    }));
    assert_eq!(task.await.unwrap().unwrap(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_closure_may_borrow_from_its_task() {
    let task = tokio::spawn(async {
        let (policy, text) = (POLICY, String::from("order 42"));
        let result = policy
            .run(async |attempt| {
                yield_now().await;
                third_time_lucky(attempt.number).map(|_| text.as_str())
            })
            .await;
        result.map(str::to_owned)
    });
    assert_eq!(task.await.unwrap().unwrap(), "order 42");

    let task = tokio::spawn(async {
        let client = Client {
            name: "shop".to_owned(),
        };
        client.get_with_retries("/orders").await
    });
    assert_eq!(task.await.unwrap().unwrap(), "shop /orders 3");
}

#[tokio::test(start_paused = true)]
async fn a_plain_closure_may_count_in_its_task() {
    let task = tokio::spawn(async {
        let mut tries = 0;
        let result = POLICY
            .run(|_| {
                tries += 1;
                let number = tries;
                async move {
                    yield_now().await;
                    third_time_lucky(number)
                }
            })
            .await;
        (result.unwrap(), tries)
    });
    assert_eq!(task.await.unwrap(), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn a_closure_that_owns_what_it_changes_is_a_task() {
    let task = tokio::spawn(async {
        let mut tries = 0;
        POLICY
            .run_mut(async move |_| {
                tries += 1;
                yield_now().await;
                third_time_lucky(tries)
            })
            .await
    });
    assert_eq!(task.await.unwrap().unwrap(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_operation_with_retry_is_a_task() {
    async fn fetch() -> Result<u32, io::Error> {
        yield_now().await;
        Ok(42)
    }
    let task = tokio::spawn(async { fetch.retry(&POLICY).await });
    assert_eq!(task.await.unwrap().unwrap(), 42);

    let task = tokio::spawn(async {
        let (client, tries) = (
            Client {
                name: "shop".to_owned(),
            },
            std::sync::atomic::AtomicU32::new(0),
        );
        let operation = async || {
            yield_now().await;
            let number = tries.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            third_time_lucky(number).map(|number| format!("{} {number}", client.name))
        };
        operation.retry(&POLICY).await
    });
    assert_eq!(task.await.unwrap().unwrap(), "shop 3");
}

#[tokio::test(start_paused = true)]
async fn a_pipeline_with_all_its_extras_is_a_task() {
    let pipeline = Arc::new(Pipeline::new().timeout(Duration::from_secs(9)).retry(POLICY));
    let (_stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let task = tokio::spawn(async move {
        let client = Client {
            name: "shop".to_owned(),
        };
        pipeline
            .retrier()
            .classify(|_: &io::Error| Class::Transient)
            .until(async {
                let _ = stopped.await;
            })
            .run(async |attempt| client.get("/orders", attempt).await)
            .await
    });
    assert_eq!(task.await.unwrap().unwrap(), "shop /orders 3");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_that_move_between_threads_keep_their_count() {
    let policy = Policy::fixed(Duration::from_micros(50)).max_attempts(4);
    let tasks: Vec<_> = (0..200)
        .map(|_| {
            tokio::spawn(async move {
                policy
                    .run(async |attempt| {
                        for _ in 0..8 {
                            yield_now().await;
                        }
                        third_time_lucky(attempt.number)
                    })
                    .await
            })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap().unwrap(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn a_future_that_cannot_move_runs_where_it_is() {
    let tries = std::rc::Rc::new(std::cell::Cell::new(0));
    let result = POLICY
        .run(async |_| {
            let tries = std::rc::Rc::clone(&tries);
            tries.set(tries.get() + 1);
            yield_now().await;
            third_time_lucky(tries.get())
        })
        .await;
    assert_eq!(result.unwrap(), 3);
    let local = tokio::task::LocalSet::new();
    let counted = local.run_until(async {
        let task = tokio::task::spawn_local(async move {
            POLICY
                .run(async |_| {
                    tries.set(tries.get() + 1);
                    yield_now().await;
                    third_time_lucky(tries.get())
                })
                .await
        });
        task.await.unwrap().unwrap()
    });
    assert_eq!(counted.await, 4);
}
