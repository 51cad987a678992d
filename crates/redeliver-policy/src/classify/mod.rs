//! Tables that turn a failure into a [`Class`](crate::Class): HTTP statuses, `std::io::Error` kinds, error texts.

mod http;
#[cfg(feature = "std")]
mod io;
mod text;

pub use http::StatusTable;
pub use text::by_text;
