//! The API and the dashboard of a `redeliver serve`, as a program and a browser meet them.

mod api;
mod door;
mod exposition;
mod guard;
mod inserting;
mod metrics;
mod open;
mod reload;
mod secrets;

pub(crate) use open::{Answer, Desk};
