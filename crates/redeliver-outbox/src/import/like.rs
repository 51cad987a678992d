//! Mappings to start from, for tables as many have them.

/// The tables that [`like`] knows, with what they are.
pub const LIKE: [(&str, &str); 3] = [
    ("debezium", "the table of Debezium's outbox event router"),
    ("rails", "a table as a Rails application makes it"),
    ("laravel", "a table as a Laravel application makes it"),
];

/// The table `[import.NAME]` of a configuration to start from.
#[must_use]
pub fn like(table: &str) -> Option<&'static str> {
    match table {
        "debezium" => Some(include_str!("like/debezium.toml")),
        "rails" => Some(include_str!("like/rails.toml")),
        "laravel" => Some(include_str!("like/laravel.toml")),
        _ => None,
    }
}
