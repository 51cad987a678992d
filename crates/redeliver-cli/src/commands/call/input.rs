//! What the flags say, checked. No message shows the value of a header.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use redeliver::http::Method;

use crate::exit::BadInput;

/// The largest body that is sent.
const LARGEST_DATA: u64 = 64 * 1024 * 1024;

pub(crate) fn method(text: &str) -> Result<Method, BadInput> {
    let letters = !text.is_empty() && text.len() <= 32 && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    let method = letters.then(|| Method::from_bytes(text.to_ascii_uppercase().as_bytes()));
    method.and_then(Result::ok).ok_or_else(|| {
        BadInput(format!(
            "method {text:?}: must be up to 32 letters, such as GET or POST"
        ))
    })
}

/// `Name: value`.
pub(crate) fn header(text: &str) -> Result<(&str, &str), BadInput> {
    let Some((name, value)) = text.split_once(':') else {
        // What follows the first word may be a secret.
        let word = text.split_whitespace().next().unwrap_or_default();
        let rule = "must be 'Name: value', such as 'Accept: application/json'";
        return Err(BadInput(format!("header {word:?}: has no colon; {rule}")));
    };
    Ok((name.trim(), value.trim_matches([' ', '\t'])))
}

/// Text, `@FILE`, or `-` for standard input; `name` is what an error calls it.
pub(crate) fn data(name: &str, text: &str) -> Result<Vec<u8>, BadInput> {
    let read = match text {
        "-" | "@-" => bounded(io::stdin().lock()),
        _ => match text.strip_prefix('@') {
            Some(path) => File::open(path).and_then(bounded),
            None => Ok(text.as_bytes().to_vec()),
        },
    };
    read.map_err(|error| {
        let next = match error.kind() {
            io::ErrorKind::NotFound => "; name a file that is there, or - for standard input",
            _ => "",
        };
        BadInput(format!("{name} {text:?}: {error}{next}"))
    })
}

/// Refuses a place where no file can be, before anything is sent whose answer would be lost.
pub(crate) fn output(path: &Path) -> Result<(), BadInput> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let problem = if path.is_dir() {
        "is a directory"
    } else if folder.is_some_and(|folder| !folder.is_dir()) {
        "is in no directory that exists"
    } else {
        return Ok(());
    };
    let path = path.display();
    Err(BadInput(format!(
        "--output {path}: {problem}; must be a file's name"
    )))
}

fn bounded(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(LARGEST_DATA + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_DATA {
        return Err(io::Error::other("larger than the 64 MiB that are sent at most"));
    }
    Ok(bytes)
}
