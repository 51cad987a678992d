//! The API and the dashboard of a `redeliver serve`, as a program and a browser meet them.

mod api;
mod door;
mod guard;
mod open;
mod reload;

pub(crate) use open::Desk;
