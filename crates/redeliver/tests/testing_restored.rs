//! After the test mode everything is as before. Alone in its binary, because the mode is the whole process's.

use std::{io, time::Duration};

use redeliver::{clock, prelude::*, testing};

#[tokio::test(start_paused = true)]
async fn the_guard_restores_waits_attempts_and_chance() {
    let policy = Policy::exponential(Duration::from_secs(1), Duration::from_secs(60)).max_attempts(4);
    let fail = async |_| Err::<(), _>(io::Error::from(io::ErrorKind::ConnectionRefused));
    let plain = policy.jitter(Jitter::None);
    #[expect(
        clippy::disallowed_methods,
        reason = "whether the runtime's time passes is the question"
    )]
    let paused = tokio::time::Instant::now();
    for seed in 0..3 {
        let guard = testing::start().seed(seed).max_attempts(1).enter();
        let seeded = redeliver::entropy::draw();
        assert_eq!(policy.run(fail).await.unwrap_err().attempts, 1);
        drop(guard);

        // The paused clock moves by itself when everyone waits: only a real wait moves it.
        let started = clock::now();
        assert_eq!(plain.run(fail).await.unwrap_err().attempts, 4);
        assert_eq!(clock::now().since(started), Duration::from_secs(7));
        assert_eq!(paused.elapsed(), Duration::from_secs(7 * (seed + 1)));
        assert_ne!(redeliver::entropy::draw(), seeded);
    }
}
