//! The relay under faults that a seed decides: the real engine and the real SQL on SQLite in memory, in virtual time, with checkers that
//! stand outside.
//!
//! One seed is one history: processes that crash, stall and stop, a database that refuses, forgets to answer and has its clock set,
//! destinations of all tempers, operators in between. Then the faults end, and everything must reach its end. Late commits out of the
//! order of their numbers are not among the faults: SQLite has one writer, so there are none; the readers of the other databases are
//! tested against real servers.

mod chance;
mod chaos;
mod checks;
mod clock;
mod destination;
mod history;
mod look;
mod operator;
mod process;
mod producer;
mod record;
mod report;
mod run;
mod scenario;
mod sweep;
mod troubled;
mod witness;
mod world;

pub use redeliver_outbox::plants::{self, Plant};
pub use report::{Cause, Counts, Outcome, Violation};
pub use run::{CannotVerify, run_seed};
pub use sweep::{Sweep, Swept};
