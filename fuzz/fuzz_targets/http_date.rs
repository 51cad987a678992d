#![no_main]

#[path = "../../crates/redeliver-policy/tests/fuzz_bodies/http_date.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));
