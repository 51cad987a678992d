//! A duration that is read is shown in a form that reads the same, and an error is one line.

use redeliver_policy::duration::{display, parse};

pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match parse(text) {
        Ok(duration) => assert_eq!(parse(&display(duration).to_string()), Ok(duration), "{text:?}"),
        Err(error) => assert!(!error.to_string().contains('\n'), "{text:?}: {error}"),
    }
}
