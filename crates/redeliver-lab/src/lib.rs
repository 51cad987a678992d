//! The laboratory: where redeliver is proved, and where anyone can break things on purpose.

pub mod faulty;
