//! Every page over an outbox full of what strangers may write, and every act as a browser would do it.

use std::{fs, path::PathBuf, sync::Arc};

use axum::{
    body::{Body, to_bytes},
    http::{Request, Response, StatusCode, header},
};
use redeliver_outbox::{
    DeadReason, MessageId, NewMessage, Payload,
    config::{Role, ServerSettings, Token},
    desk::{Act, DeadLetter, Detail, MessageRef},
    destination::Routes,
    state::Status,
    store::{self, History, Names},
};
use tower::ServiceExt as _;

use super::acting::version;
use crate::web::{About, Counting, Guard, Metrics, Site, router};

mod many;

const HOSTILE: &str = "<script>alert(1)</script>\"' onload=x style=y \u{1b}[2J\u{202e} ${7*7} {{7*7}}";
/// The same as far as a destination may be called so.
const PLACE: &str = "<script>alert(1)</script>\"' onload=x style=y {{7*7}}";
const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// A desk over an outbox of its own.
struct Desk {
    site: Arc<Site>,
    file: PathBuf,
    letters: Vec<MessageId>,
}

impl Drop for Desk {
    fn drop(&mut self) {
        for ending in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{ending}", self.file.display()));
        }
    }
}

fn letter(payload: Payload) -> DeadLetter {
    let message = NewMessage::to(PLACE)
        .key(PLACE)
        .header("x-note", "<b>bold</b>")
        .payload(payload);
    DeadLetter {
        message,
        reason: DeadReason::Permanent,
        error: format!("400 Bad Request: {HOSTILE}"),
        attempts: 3,
    }
}

async fn desk_for(tokens: Vec<Token>) -> Desk {
    let name = format!("redeliver-pages-{:016x}.db", redeliver::entropy::draw());
    let file = std::env::temp_dir().join(name);
    let address = format!("sqlite://{}", file.display());
    let opened = store::open(&address, &Names::default(), History::default())
        .await
        .unwrap();
    let desk = opened.desk;
    desk.migrate(desk.usual_layout(), None).await.unwrap();
    let act = Act {
        who: HOSTILE.to_owned(),
        why: HOSTILE.to_owned(),
    };
    let payloads = [
        Payload::from(format!(
            "{{\"note\":{:?},\"order\":1}}",
            HOSTILE.replace(['\u{1b}', '\u{202e}'], "")
        )),
        Payload::from(HOSTILE),
        Payload::from_bytes(vec![0xff, 0x00, 0x3c]),
        Payload::from(r#"{"z":1.10,"order":2}"#),
    ];
    let letters: Vec<DeadLetter> = payloads.into_iter().map(letter).collect();
    let letters = desk.import(&letters, &act).await.unwrap();
    desk.enqueue(&[letter(Payload::from(HOSTILE)).message])
        .await
        .unwrap();
    desk.pause(PLACE, &act).await.unwrap();
    let settings = ServerSettings {
        tokens,
        ..ServerSettings::default()
    };
    let about = About {
        database: HOSTILE.to_owned(),
        routes: Routes::new(),
        inbox: None,
    };
    let metrics = Metrics::of(Counting::default(), Arc::default(), &about.routes);
    let site = Arc::new(Site::new(desk, Guard::new(&settings), about, metrics));
    // What is counted in the background is there before it is looked at.
    while site.status().await.unwrap().is_none() {}
    while site.issues().await.unwrap().is_none() {}
    while site.lanes().await.unwrap().is_none() {}
    while site.outlook().await.unwrap().is_none() {}
    while site.storage().await.unwrap().is_none() {}
    Desk { site, file, letters }
}

async fn desk() -> Desk {
    desk_for(Vec::new()).await
}

impl Desk {
    async fn ask(&self, request: Request<Body>) -> Response<Body> {
        router(Arc::clone(&self.site)).oneshot(request).await.unwrap()
    }

    async fn get(&self, path: &str, headers: &[(&str, &str)]) -> (StatusCode, String) {
        let mut request = Request::get(path).header("host", "localhost");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.ask(request.body(Body::empty()).unwrap()).await;
        let status = response.status();
        (status, text(response).await)
    }

    async fn post(&self, path: &str, form: &str) -> Response<Body> {
        let request = Request::post(path)
            .header("host", "localhost")
            .header("content-type", "application/x-www-form-urlencoded");
        self.ask(request.body(form.to_owned().into()).unwrap()).await
    }

    async fn detail(&self, place: usize) -> Detail {
        let message = MessageRef::Id(self.letters[place]);
        self.site.desk.find(message).await.unwrap().unwrap()
    }
}

async fn text(response: Response<Body>) -> String {
    let bytes = to_bytes(response.into_body(), 8 << 20).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn went(response: &Response<Body>) -> &str {
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
    response.headers()[header::LOCATION].to_str().unwrap()
}

/// That nothing of what strangers wrote has become markup, and that nothing stands in the page that the policy forbids.
fn assert_harmless(path: &str, page: &str) {
    assert!(!page.contains("<script>"), "{path}");
    assert!(!page.contains('\u{1b}') && !page.contains('\u{202e}'), "{path}");
    for tag in page.split('<').skip(1).filter_map(|rest| rest.split_once('>')) {
        let tag = tag.0.to_ascii_lowercase();
        let mut outside = tag.split('"').step_by(2);
        assert!(
            outside.all(|part| !part.contains(" style=") && !part.contains(" on")),
            "{path}: {tag}"
        );
        assert!(
            !tag.starts_with("script") || tag.contains("src=\"/assets/"),
            "{path}: {tag}"
        );
    }
}

#[tokio::test]
async fn no_page_lets_a_stranger_write_markup() {
    let desk = desk().await;
    let hostile = super::address::encoded(PLACE);
    let issue = desk.site.desk.issues(1).await.unwrap().remove(0).fingerprint;
    let mut paths: Vec<String> = [
        "/",
        "/destinations",
        "/messages",
        "/messages?status=dead_lettered",
        "/issues",
        "/lanes",
        "/jobs",
        "/workers",
        "/storage",
        "/storage/health",
        "/audit",
        "/audit/verify",
        "/letters/redrive?status=dead_lettered",
        "/letters/discard?reason=permanent",
        "/letters/patch?status=dead_lettered",
    ]
    .map(str::to_owned)
    .to_vec();
    paths.push(format!("/destinations/{}", super::address::encoded(PLACE)));
    paths.push(format!(
        "/messages?q={hostile}&to={hostile}&topic={hostile}&key={hostile}&error={hostile}&since={hostile}"
    ));
    paths.push(format!("/issues/{issue}"));
    paths.push(format!("/messages/{}/edit", desk.letters[0]));
    paths.extend(desk.letters.iter().map(|id| format!("/messages/{id}")));
    for path in paths {
        let (status, page) = desk
            .get(&path, &[("cookie", "redeliver_name=%3Cscript%3E")])
            .await;
        assert_eq!(status, StatusCode::OK, "{path}: {page}");
        assert_eq!(page.matches("<h1").count(), 1, "{path}");
        assert_harmless(&path, &page);
        let (_, piece) = desk.get(&path, &[("hx-request", "true")]).await;
        let live = page.contains("hx-get=");
        assert_eq!(
            live,
            piece.trim_start().starts_with("<div id=\"live\""),
            "{path}: {piece}"
        );
        assert!(!live || !piece.contains("<html"), "{path}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_told_as_a_page() {
    let desk = desk().await;
    for path in [
        "/messages/4711",
        "/messages/nonsense",
        "/issues/ffffffffffffffff",
        "/jobs/7",
        "/destinations/none",
        "/no/such",
    ] {
        let (status, page) = desk.get(path, &[]).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{path}");
        assert!(page.contains("<h1>Not Found</h1>"), "{path}: {page}");
    }
}

#[tokio::test]
async fn a_payload_is_downloaded_and_never_run() {
    let desk = desk().await;
    for (place, kind) in [(0, "text/plain; charset=utf-8"), (2, "application/octet-stream")] {
        let path = format!("/messages/{}/payload", desk.letters[place]);
        let request = Request::get(path).header("host", "localhost").body(Body::empty());
        let response = desk.ask(request.unwrap()).await;
        let header = |name| response.headers()[name].to_str().unwrap();
        assert_eq!(header(header::CONTENT_TYPE), kind);
        assert!(header(header::CONTENT_DISPOSITION).starts_with("attachment"));
        assert_eq!(header(header::X_CONTENT_TYPE_OPTIONS), "nosniff");
    }
}

#[tokio::test]
async fn an_act_is_done_once_and_by_whom_it_was_seen() {
    let desk = desk().await;
    let id = desk.letters[0];
    let seen = version(&desk.detail(0).await);
    let form = format!("seen={seen}&who=ana&why=it+is+back");
    let response = desk.post(&format!("/messages/{id}/redrive"), &form).await;
    assert_eq!(went(&response), format!("/messages/{id}?done=redriven&count=1"));
    assert!(
        response.headers()[header::SET_COOKIE]
            .to_str()
            .unwrap()
            .starts_with("redeliver_name=ana;")
    );
    let again = desk.post(&format!("/messages/{id}/redrive"), &form).await;
    assert_eq!(again.status(), StatusCode::CONFLICT);
    let page = text(again).await;
    assert!(
        page.contains("Nothing was done") && page.contains("ana: redrive"),
        "{page}"
    );
    assert_ne!(desk.detail(0).await.record.status, Status::DeadLettered);
    let (_, page) = desk
        .get(&format!("/messages/{id}?done=redriven&count=1"), &[])
        .await;
    assert!(page.contains("1 dead letter put back"), "{page}");
}

#[tokio::test]
async fn giving_up_needs_a_reason() {
    let desk = desk().await;
    let id = desk.letters[1];
    let seen = version(&desk.detail(1).await);
    let refused = desk
        .post(&format!("/messages/{id}/discard"), &format!("seen={seen}&why=+"))
        .await;
    assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
    let refused = desk
        .post("/letters/discard", "status=dead_lettered&confirmed=4")
        .await;
    assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
    assert_eq!(desk.detail(1).await.record.status, Status::DeadLettered);
    let done = desk
        .post(
            &format!("/messages/{id}/discard"),
            &format!("seen={seen}&why=a+test"),
        )
        .await;
    assert!(went(&done).ends_with("done=discarded&count=1"));
    assert_eq!(desk.detail(1).await.record.status, Status::Discarded);
}

#[tokio::test]
async fn an_edit_is_shown_before_it_is_kept() {
    let desk = desk().await;
    let path = format!("/messages/{}/edit", desk.letters[3]);
    let seen = version(&desk.detail(3).await);
    let broken = desk
        .post(&path, &format!("seen={seen}&payload=%7Boops&step=save"))
        .await;
    assert_eq!(broken.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let mended = super::address::encoded("{\r\n  \"z\": 1.10,\r\n  \"order\": 3\r\n}");
    let preview = desk
        .post(&path, &format!("seen={seen}&payload={mended}&step=preview"))
        .await;
    let page = text(preview).await;
    assert!(
        page.contains(r#"class="added""#) && page.contains("Save and redrive"),
        "{page}"
    );
    assert_eq!(version(&desk.detail(3).await), seen, "a preview changes nothing");
    let kept = desk
        .post(&path, &format!("seen={seen}&payload={mended}&step=save"))
        .await;
    assert!(went(&kept).ends_with("done=edited&count=1"));
    let payload = desk.detail(3).await.record.payload.unwrap();
    assert_eq!(payload.as_text().unwrap(), "{\n  \"z\": 1.10,\n  \"order\": 3\n}");
}

#[tokio::test]
async fn a_destination_is_held_and_let_go() {
    let desk = desk().await;
    let path = format!("/destinations/{}", super::address::encoded(PLACE));
    let since = desk.site.desk.holds().await.unwrap()[0].since.as_millis();
    for (act, word) in [
        ("pause", "held-before"),
        ("resume", "resumed"),
        ("resume", "not-held"),
        ("pause", "paused"),
    ] {
        let form = format!("why=a+test&since={since}");
        let done = desk.post(&format!("{path}/{act}"), &form).await;
        assert_eq!(went(&done), format!("{path}?done={word}&count=1"));
    }
    let (_, page) = desk.get(&path, &[]).await;
    let since = page.split("name=\"since\" value=\"").nth(1).unwrap();
    let since: i64 = since.split('"').next().unwrap().parse().unwrap();
    for (form, status) in [
        (format!("since={}", since - 1), StatusCode::CONFLICT),
        ("since=then".to_owned(), StatusCode::BAD_REQUEST),
        (String::new(), StatusCode::BAD_REQUEST),
        (format!("since={since}"), StatusCode::SEE_OTHER),
    ] {
        let told = desk.post(&format!("{path}/resume"), &form).await;
        assert_eq!(told.status(), status, "{form}");
    }
}

#[tokio::test]
async fn a_reason_is_a_sentence() {
    let desk = desk().await;
    let (id, seen) = (desk.letters[0], version(&desk.detail(0).await));
    for why in ["x".repeat(2_001), "a%00b".to_owned()] {
        let told = desk
            .post(
                &format!("/messages/{id}/discard"),
                &format!("seen={seen}&why={why}"),
            )
            .await;
        assert_eq!(told.status(), StatusCode::BAD_REQUEST);
    }
    assert_eq!(desk.detail(0).await.record.status, Status::DeadLettered);
}

#[tokio::test]
async fn a_content_type_that_is_taken_away_is_json_again() {
    let desk = desk().await;
    let (id, seen) = (desk.letters[3], version(&desk.detail(3).await));
    let payload = super::address::encoded(r#"{"order":4}"#);
    let form =
        |kind, seen: &str| format!("seen={seen}&payload={payload}&content_type={kind}&step=save-and-redrive");
    let path = format!("/messages/{id}/edit");
    let act = Act {
        who: "ana".to_owned(),
        why: String::new(),
    };
    let edit = redeliver_outbox::desk::Edit {
        content_type: Some("text/plain".to_owned()),
        ..Default::default()
    };
    let message = MessageRef::Id(id);
    desk.site.desk.edit(message, &edit, &act).await.unwrap();
    // What was seen is not what is there.
    let told = desk.post(&path, &form("", &seen)).await;
    assert_eq!(told.status(), StatusCode::CONFLICT);
    let seen = version(&desk.detail(3).await);
    let done = desk.post(&path, &form("", &seen)).await;
    assert!(went(&done).contains("done=redriven"));
    let record = desk.detail(3).await.record;
    assert_eq!(record.content_type.as_deref(), Some("application/json"));
    assert_eq!(record.payload, Some(r#"{"order":4}"#.into()));
    assert_eq!(record.status, Status::Pending);
}

#[tokio::test]
async fn whoever_may_only_look_is_offered_nothing_else() {
    let reader = Token {
        name: "rae".to_owned(),
        role: Role::Read,
        secret: SECRET.to_owned(),
    };
    let desk = desk_for(vec![reader]).await;
    let bearer = format!("Bearer {SECRET}");
    let letter = format!("/messages/{}", desk.letters[0]);
    let edit = format!("{letter}/edit");
    let destination = format!("/destinations/{}", super::address::encoded(PLACE));
    for path in [
        &letter,
        &destination,
        "/messages?status=dead_lettered",
        "/letters/redrive?status=dead_lettered",
        "/letters/patch?status=dead_lettered",
        &edit,
        "/issues",
    ] {
        let (status, page) = desk.get(path, &[("authorization", &bearer)]).await;
        assert_eq!(status, StatusCode::OK, "{path}");
        let forms = page.matches("method=\"post\"").count();
        let own =
            page.matches("action=\"/preferences\"").count() + page.matches("action=\"/logout\"").count();
        assert_eq!(forms, own, "{path}: {page}");
        assert!(page.contains("rae"), "{path}");
    }
}

#[tokio::test]
async fn preferences_are_kept_and_lead_nowhere_else() {
    let desk = desk().await;
    let kept = desk
        .post("/preferences", "theme=dark&back=%2F%2Fevil.example")
        .await;
    assert_eq!(went(&kept), "/");
    let cookie = kept.headers()[header::SET_COOKIE].to_str().unwrap().to_owned();
    assert!(cookie.starts_with("redeliver_theme=dark;"), "{cookie}");
    let (_, page) = desk.get("/", &[("cookie", "redeliver_theme=dark")]).await;
    assert!(page.contains(r#"data-theme="dark""#));
    let (_, page) = desk.get("/", &[("cookie", "redeliver_theme=\"><b>")]).await;
    assert!(!page.contains("data-theme"));
}
