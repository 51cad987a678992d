#![no_main]

#[path = "../../crates/redeliver-policy/tests/fuzz_bodies/duration.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));
