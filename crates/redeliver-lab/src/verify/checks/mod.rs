//! The checkers. They stand outside the relay's code: each looks at the history, or at the tables with statements of its own.

pub(super) mod acts;
pub(super) mod arrivals;
pub(super) mod duplicates;
pub(super) mod endings;
pub(super) mod fan_out;
pub(super) mod holds;
pub(super) mod leases;
pub(super) mod parks;
pub(super) mod reads;
pub(super) mod sends;
pub(super) mod verdicts;
pub(super) mod writes;
