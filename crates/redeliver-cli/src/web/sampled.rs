//! What takes long to count is counted in the background, only while somebody looks, and never for more than a small share of the time.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use redeliver::{Moment, clock};
use redeliver_outbox::store;
use tokio::sync::watch;

use super::problem::Problem;

/// How old a count may be and still be called exact.
pub(crate) const EXACT: Duration = Duration::from_millis(1_000);
/// How long an answer waits for a count that is under way.
const PATIENCE: Duration = Duration::from_millis(25);
/// How long an answer that follows an operator's change waits for a count that began after it.
const CHANGE_PATIENCE: Duration = Duration::from_secs(2);
/// A count rests so many times as long as it took: a database that is slow to count has better things to do, and there are five of them.
const REST: u32 = 49;

/// A value with the time at which it was true.
#[derive(Debug)]
pub(crate) struct Counted<T> {
    pub(crate) value: Arc<T>,
    at: Moment,
    took: Duration,
    /// How many changes had been made here when the count began.
    changes: u64,
}

impl<T> Clone for Counted<T> {
    fn clone(&self) -> Self {
        Self {
            value: Arc::clone(&self.value),
            at: self.at,
            took: self.took,
            changes: self.changes,
        }
    }
}

impl<T> Counted<T> {
    /// How long ago it was begun to be counted.
    pub(crate) fn age(&self) -> Duration {
        clock::now().since(self.at)
    }

    /// Whether it is as good as exact.
    pub(crate) fn is_exact(&self) -> bool {
        self.age() <= EXACT
    }

    fn is_fresh(&self) -> bool {
        let rest = self.took.saturating_mul(REST);
        self.age() < rest.max(EXACT / 2)
    }
}

type Latest<T> = Option<Result<Counted<T>, Problem>>;

/// A value that is counted when it is asked for, one count at a time.
#[derive(Debug)]
pub(crate) struct Sampled<T> {
    latest: watch::Sender<Latest<T>>,
    under_way: Arc<Mutex<bool>>,
    /// How many changes have been made here: a count that began before the last one is outdated.
    changes: AtomicU64,
}

impl<T> Default for Sampled<T> {
    fn default() -> Self {
        Self {
            latest: watch::Sender::new(None),
            under_way: Arc::default(),
            changes: AtomicU64::new(0),
        }
    }
}

impl<T: Send + Sync + 'static> Sampled<T> {
    /// The newest count that there is, however old. If it is time for another one, that begins, and the next to look has it.
    pub(crate) fn glance<C, F>(&self, count: C) -> Option<Counted<T>>
    where
        C: FnOnce() -> F,
        F: Future<Output = store::Result<T>> + Send + 'static,
    {
        let latest = match &*self.latest.borrow() {
            Some(Ok(counted)) => Some(counted.clone()),
            _ => None,
        };
        let good = |counted: &Counted<T>| counted.is_fresh() && self.is_true(counted);
        if !latest.as_ref().is_some_and(good) {
            self.begin(count);
        }
        latest
    }

    /// The newest count; none if there is none yet and it takes longer than anybody should wait.
    ///
    /// # Errors
    /// The last count failed.
    pub(crate) async fn get<C, F>(&self, count: C) -> Result<Option<Counted<T>>, Problem>
    where
        C: FnOnce() -> F,
        F: Future<Output = store::Result<T>> + Send + 'static,
    {
        if let Some(Ok(counted)) = &*self.latest.borrow()
            && counted.is_fresh()
            && self.is_true(counted)
        {
            return Ok(Some(counted.clone()));
        }
        let mut news = self.latest.subscribe();
        self.begin(count);
        let hopeless = matches!(&*news.borrow(), Some(Ok(counted)) if counted.took > PATIENCE);
        if !hopeless {
            let _in_time = tokio::time::timeout(PATIENCE, news.changed()).await;
        }
        let latest = news.borrow();
        match &*latest {
            Some(Ok(counted)) => Ok(Some(counted.clone())),
            Some(Err(error)) => Err(error.clone()),
            None => Ok(None),
        }
    }

    /// The newest count that began after the last change made here, within [`CHANGE_PATIENCE`]; without a change, as [`Self::get`].
    ///
    /// # Errors
    /// The last count failed.
    pub(crate) async fn get_since_change<C, F>(&self, count: C) -> Result<Option<Counted<T>>, Problem>
    where
        C: Fn() -> F,
        F: Future<Output = store::Result<T>> + Send + 'static,
    {
        if self.changes.load(Ordering::Acquire) > 0 {
            let mut news = self.latest.subscribe();
            let counting = async {
                // A count that is under way may have begun before the change: then another one follows it.
                while self.is_outdated(news.borrow_and_update().as_ref()) {
                    self.begin(&count);
                    let _never_closed = news.changed().await;
                }
            };
            let _in_time = tokio::time::timeout(CHANGE_PATIENCE, counting).await;
        }
        self.get(count).await
    }

    fn is_outdated(&self, latest: Option<&Result<Counted<T>, Problem>>) -> bool {
        match latest {
            None => true,
            Some(Ok(counted)) => !self.is_true(counted),
            Some(Err(_)) => false,
        }
    }

    /// Marks everything counted so far as outdated: somebody changed something here.
    pub(crate) fn outdate(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether nothing was changed here since the count began.
    pub(crate) fn is_true(&self, counted: &Counted<T>) -> bool {
        counted.changes == self.changes.load(Ordering::Acquire)
    }

    fn begin<C, F>(&self, count: C)
    where
        C: FnOnce() -> F,
        F: Future<Output = store::Result<T>> + Send + 'static,
    {
        {
            let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
            if std::mem::replace(&mut *under_way, true) {
                return;
            }
        }
        let (latest, under_way) = (self.latest.clone(), Arc::clone(&self.under_way));
        // Read before the count begins: a change that comes later outdates it.
        let changes = self.changes.load(Ordering::Acquire);
        let (at, counting) = (clock::now(), count());
        tokio::spawn(async move {
            let counted = counting.await.map_err(Problem::from).map(|value| Counted {
                value: Arc::new(value),
                at,
                took: clock::now().since(at),
                changes,
            });
            *under_way.lock().unwrap_or_else(PoisonError::into_inner) = false;
            latest.send_replace(Some(counted));
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use redeliver_outbox::store::{StoreError, StoreErrorKind};
    use tokio::sync::Notify;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_quick_count_is_waited_for_and_kept_for_a_moment() {
        let sampled = Sampled::default();
        let counts = Arc::new(AtomicU32::new(0));
        let count = || {
            let counts = Arc::clone(&counts);
            move || async move { Ok(counts.fetch_add(1, Ordering::Relaxed)) }
        };
        assert_eq!(*sampled.get(count()).await.unwrap().unwrap().value, 0);
        assert_eq!(*sampled.get(count()).await.unwrap().unwrap().value, 0);
        tokio::time::advance(EXACT).await;
        assert_eq!(*sampled.get(count()).await.unwrap().unwrap().value, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_count_keeps_nobody_waiting_and_is_made_once() {
        let sampled = Sampled::default();
        let (counts, go) = (Arc::new(AtomicU32::new(0)), Arc::new(Notify::new()));
        let count = || {
            let (counts, go) = (Arc::clone(&counts), Arc::clone(&go));
            move || async move {
                let number = counts.fetch_add(1, Ordering::Relaxed);
                go.notified().await;
                Ok(number)
            }
        };
        assert!(sampled.get(count()).await.unwrap().is_none());
        assert!(sampled.get(count()).await.unwrap().is_none());
        tokio::time::advance(Duration::from_secs(2)).await;
        go.notify_one();
        let counted = sampled.get(count()).await.unwrap().unwrap();
        assert_eq!((*counted.value, counted.is_exact()), (0, false));
        assert_eq!(counts.load(Ordering::Relaxed), 1);
        // It took more than two seconds, and so rests for 98.
        tokio::time::advance(Duration::from_secs(30)).await;
        assert_eq!(*sampled.get(count()).await.unwrap().unwrap().value, 0);
        assert_eq!(counts.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_glance_waits_for_nothing_and_the_next_one_sees_more() {
        let sampled = Sampled::default();
        assert!(sampled.glance(|| async { Ok(1) }).is_none());
        tokio::task::yield_now().await;
        assert_eq!(*sampled.glance(|| async { Ok(2) }).unwrap().value, 1);
        tokio::time::advance(EXACT).await;
        assert_eq!(*sampled.glance(|| async { Ok(3) }).unwrap().value, 1);
        tokio::task::yield_now().await;
        assert_eq!(*sampled.glance(|| async { Ok(4) }).unwrap().value, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_counted_before_a_change_is_counted_again() {
        let sampled = Sampled::default();
        let before = sampled.get(|| async { Ok(1) }).await.unwrap().unwrap();
        sampled.outdate();
        assert!(!sampled.is_true(&before));
        let after = sampled.get(|| async { Ok(2) }).await.unwrap().unwrap();
        assert_eq!(*after.value, 2);
        assert!(sampled.is_true(&after));
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_is_seen_by_the_next_look_however_slow_the_count() {
        let sampled = Sampled::default();
        let held = Arc::new(AtomicU32::new(1));
        let count = || {
            let held = Arc::clone(&held);
            async move {
                let seen = held.load(Ordering::Relaxed);
                clock::sleep(PATIENCE * 4).await;
                Ok(seen)
            }
        };
        assert!(sampled.get_since_change(count).await.unwrap().is_none());
        // The count under way has seen what was there before the change.
        held.store(2, Ordering::Relaxed);
        sampled.outdate();
        assert_eq!(*sampled.get_since_change(count).await.unwrap().unwrap().value, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_count_that_never_ends_after_a_change_keeps_nobody_for_ever() {
        let sampled = Sampled::default();
        assert_eq!(*sampled.get(|| async { Ok(1) }).await.unwrap().unwrap().value, 1);
        sampled.outdate();
        let stuck = || std::future::pending::<store::Result<i32>>();
        assert_eq!(*sampled.get_since_change(stuck).await.unwrap().unwrap().value, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_count_that_fails_is_told_and_made_again() {
        let sampled = Sampled::default();
        let failing = || async { Err(StoreError::new(StoreErrorKind::Unreachable, "gone")) };
        assert!(sampled.get(failing).await.is_err());
        assert_eq!(*sampled.get(|| async { Ok(7) }).await.unwrap().unwrap().value, 7);
    }
}
