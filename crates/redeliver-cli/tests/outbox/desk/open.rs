use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::{Arc, LazyLock, Mutex},
};

use reqwest::{Client, Method, redirect};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::bench::Folder;

/// What requests are made on, while the tests wait.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
static CLIENT: LazyLock<Client> = LazyLock::new(|| {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder().redirect(redirect::Policy::none()).build();
    client.unwrap()
});

/// A `redeliver serve` with its desk open; ended when it is dropped.
pub(crate) struct Desk {
    child: Child,
    pub(crate) url: String,
    said: Arc<Mutex<Vec<Value>>>,
    lines: Arc<Mutex<String>>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

impl Desk {
    /// At a free port, on the folder's configuration.
    pub(crate) fn open(folder: &Folder) -> Self {
        Self::with(folder.command(&["serve", "--json", "--listen", "127.0.0.1:0"]))
    }

    pub(crate) fn with(mut command: Command) -> Self {
        let child = command.stdout(Stdio::piped()).spawn().unwrap();
        // Whole before anything can fail: then it ends with the test.
        let mut desk = Self {
            child,
            url: String::new(),
            said: Arc::default(),
            lines: Arc::default(),
        };
        let (said, out) = (Arc::clone(&desk.said), desk.child.stdout.take().unwrap());
        let lines = Arc::clone(&desk.lines);
        // What nobody reads would stop the relay once the pipe is full.
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                lines.lock().unwrap().extend([line.as_str(), "\n"]);
                said.lock().unwrap().push(serde_json::from_str(&line).unwrap());
            }
        });
        desk.url = desk.until_said("listening")["url"].as_str().unwrap().to_owned();
        desk
    }

    /// Waits until it has told of such an event, and takes it.
    #[track_caller]
    pub(crate) fn until_said(&self, event: &str) -> Value {
        for _ in 0..6_000 {
            let mut said = self.said.lock().unwrap();
            if let Some(at) = said.iter().position(|told| told["event"] == event) {
                return said.remove(at);
            }
            drop(said);
            RUNTIME.block_on(redeliver::clock::sleep(std::time::Duration::from_millis(10)));
        }
        panic!("it never told of {event}: {:?}", self.said.lock().unwrap());
    }

    /// All that it has told so far, as it told it.
    pub(crate) fn told(&self) -> String {
        self.lines.lock().unwrap().clone()
    }

    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> Answer {
        let method: Method = method.parse().unwrap();
        let mut request = CLIENT.request(method, format!("{}{}", self.url, path.trim_start_matches('/')));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.body(body.to_owned());
        }
        RUNTIME.block_on(async {
            let response = request.send().await.unwrap();
            Answer {
                status: response.status().as_u16(),
                headers: response.headers().clone(),
                body: response.text().await.unwrap(),
            }
        })
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        let headers = [("content-type", "application/json")];
        self.send("POST", path, &headers, Some(&body.to_string()))
    }

    /// Asks again until the answer is what is waited for.
    #[track_caller]
    pub(crate) fn until(&self, path: &str, reached: impl Fn(&Answer) -> bool) -> Answer {
        let mut last = None;
        for _ in 0..3_000 {
            let answer = self.get(path);
            if reached(&answer) {
                return answer;
            }
            last = Some(answer);
            RUNTIME.block_on(redeliver::clock::sleep(std::time::Duration::from_millis(20)));
        }
        panic!("{path} never became what was waited for: {last:?}");
    }

    /// How it ends, after it was told to.
    pub(crate) fn ended(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    pub(crate) fn signal(&self, signal: &str) {
        let ran = Command::new("kill")
            .args([signal, &self.child.id().to_string()])
            .status();
        assert!(ran.unwrap().success());
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
