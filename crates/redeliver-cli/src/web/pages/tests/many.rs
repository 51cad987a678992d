//! Acts on many dead letters.

use axum::http::StatusCode;
use redeliver_outbox::{
    desk::{Act, Edit, MessageRef},
    job::JobKind,
};

use super::{desk, text, went};
use crate::web::pages::address::encoded;

/// The fields of a page's form that it was not asked for, as a browser sends them back.
fn hidden(page: &str) -> String {
    let fields = ["seen", "previewed"].map(|name| {
        let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\"")).unwrap();
        let value = rest.split_once('"').unwrap().0;
        let value = value.replace("&#34;", "\"").replace("&#38;", "&");
        format!("{name}={}", encoded(&value))
    });
    fields.join("&")
}

/// All hidden fields of the form that asks whether it is meant, as a browser sends them back.
fn meant(page: &str) -> String {
    let (_, form) = page.split_once("<form class=\"card stack\"").unwrap();
    let fields = form.split("<input type=\"hidden\" name=\"").skip(1).map(|field| {
        let (name, rest) = field.split_once("\" value=\"").unwrap();
        let value = rest.split_once('"').unwrap().0.replace("&#38;", "&");
        format!("{name}={}", encoded(&value))
    });
    fields.collect::<Vec<_>>().join("&")
}

#[tokio::test]
async fn many_are_patched_after_a_look() {
    let desk = desk().await;
    let patch = encoded(r#"{"order":9}"#);
    let chosen = format!("id={}&id={}", desk.letters[0], desk.letters[3]);
    let asked = format!("{chosen}&patch={patch}&step=preview");
    let page = text(desk.post("/letters/patch", &asked).await).await;
    assert!(page.contains("Patch 2 dead letters"), "{page}");
    let seen = hidden(&page);
    let nothing = format!("{chosen}&patch=%7B%7D&step=save&{seen}");
    let refused = desk.post("/letters/patch", &nothing).await;
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let other = format!("{chosen}&patch={}&step=save&{seen}", encoded(r#"{"order":10}"#));
    let page = text(desk.post("/letters/patch", &other).await).await;
    assert!(
        page.contains("What would change") && page.contains("10"),
        "another patch is shown first"
    );
    let done = desk
        .post(
            "/letters/patch",
            &format!("{chosen}&patch={patch}&step=save&{seen}"),
        )
        .await;
    assert!(went(&done).ends_with("done=edited&count=2"));
    let payload = desk.detail(3).await.record.payload.unwrap();
    assert_eq!(payload.as_text().unwrap(), r#"{"z":1.10,"order":9}"#);
}

#[tokio::test]
async fn what_was_changed_since_the_look_is_not_patched_and_named() {
    let desk = desk().await;
    let patch = encoded(r#"{"order":9}"#);
    let all = format!("status=dead_lettered&patch={patch}");
    let page = text(desk.post("/letters/patch", &format!("{all}&step=preview")).await).await;
    assert!(page.contains("its payload is no JSON"), "{page}");
    let bo = Act {
        who: "bo".to_owned(),
        why: "quicker".to_owned(),
    };
    let edit = Edit {
        payload: Some(r#"{"order":3}"#.into()),
        ..Edit::default()
    };
    let message = MessageRef::Id(desk.letters[3]);
    desk.site.desk.edit(message, &edit, &bo).await.unwrap();
    let save = format!("{all}&step=save&{}", hidden(&page));
    let told = desk.post("/letters/patch", &save).await;
    assert_eq!(told.status(), StatusCode::OK);
    let page = text(told).await;
    assert!(page.contains("1 dead letter patched"), "{page}");
    assert!(page.contains("bo did &#34;edit&#34; at"), "{page}");
    assert_eq!(page.matches("its payload is no JSON").count(), 2, "{page}");
    let payload = desk.detail(3).await.record.payload.unwrap();
    assert_eq!(payload.as_text().unwrap(), r#"{"order":3}"#);
    // Sent again, as by a second click: what was patched is not as it was seen either.
    let again = desk.post("/letters/patch", &save).await;
    assert_eq!(again.status(), StatusCode::CONFLICT);
}

#[tokio::test]
async fn all_that_match_are_a_job_and_what_is_not_understood_is_nothing() {
    let desk = desk().await;
    for wrong in [
        "confirmed=4",
        "status=lost&confirmed=4",
        "status=dead_lettered",
        "status=dead_lettered&confirmed=4&canary=many",
        "status=dead_lettered&confirmed=4",
        "status=discarded&reason=permanent&confirmed=4",
    ] {
        let refused = desk.post("/letters/redrive", wrong).await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{wrong}");
    }
    assert!(desk.site.desk.jobs(9).await.unwrap().is_empty());
    let (_, page) = desk.get("/letters/redrive?status=dead_lettered", &[]).await;
    let form = format!("{}&canary=2&who=ana", meant(&page));
    let begun = desk.post("/letters/redrive", &form).await;
    assert_eq!(went(&begun), "/jobs/1?done=started&count=1");
    let job = desk.site.desk.job(1).await.unwrap().unwrap();
    assert_eq!(
        (job.plan.canary, job.tally.matched, job.act.who.as_str()),
        (2, 4, "ana")
    );
    for (act, then) in [("pause", "Go on"), ("resume", "Pause"), ("cancel", "cancelled")] {
        let done = desk.post(&format!("/jobs/1/{act}"), "").await;
        let (_, page) = desk.get(went(&done), &[]).await;
        assert!(page.contains(then), "{act}: {page}");
    }
}

#[tokio::test]
async fn all_that_match_are_given_up_by_a_job_with_a_reason() {
    let desk = desk().await;
    let unsaid = desk
        .post("/letters/discard", "status=dead_lettered&confirmed=4")
        .await;
    assert_eq!(unsaid.status(), StatusCode::BAD_REQUEST);
    let (_, page) = desk.get("/letters/discard?status=dead_lettered", &[]).await;
    let begun = desk
        .post("/letters/discard", &format!("{}&why=a+test", meant(&page)))
        .await;
    assert_eq!(went(&begun), "/jobs/1?done=started&count=1");
    let job = desk.site.desk.job(1).await.unwrap().unwrap();
    assert_eq!(
        (job.kind, job.plan.canary, job.act.why.as_str()),
        (JobKind::Discard, 0, "a test")
    );
}

#[tokio::test]
async fn chosen_with_nothing_chosen_is_not_all_of_them() {
    let desk = desk().await;
    let issue = desk.site.desk.issues(1).await.unwrap().remove(0).fingerprint;
    let (_, page) = desk.get(&format!("/issues/{issue}"), &[]).await;
    let (_, form) = page.split_once("<form action=\"/letters/redrive\"").unwrap();
    let (form, _) = form.split_once("</form>").unwrap();
    assert!(
        form.contains("Discard chosen") && !form.contains("type=\"hidden\""),
        "{form}"
    );
    for act in ["redrive", "discard", "patch"] {
        let (status, page) = desk.get(&format!("/letters/{act}"), &[]).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{act}");
        assert!(page.contains("which dead letters?"), "{page}");
    }
}

#[tokio::test]
async fn what_dies_after_the_look_is_not_meant() {
    let desk = desk().await;
    let (_, page) = desk.get("/letters/discard?since=2h", &[]).await;
    assert!(page.contains("Discard 4 dead letters"), "{page}");
    let form = meant(&page);
    assert!(!form.contains("since=2h"), "the same two hours: {form}");
    // The database's clock has gone on by more than it tells.
    let seen = desk.site.desk.pulse().await.unwrap().now;
    while desk.site.desk.pulse().await.unwrap().now <= seen {}
    let letter = super::letter(r#"{"order":5}"#.into());
    let act = Act {
        who: "bo".to_owned(),
        why: "late".to_owned(),
    };
    desk.site.desk.import(&[letter], &act).await.unwrap();
    let begun = desk.post("/letters/discard", &format!("{form}&why=a+test")).await;
    assert_eq!(went(&begun), "/jobs/1?done=started&count=1");
    let job = desk.site.desk.job(1).await.unwrap().unwrap();
    assert_eq!(desk.site.desk.count(&job.filter).await.unwrap(), 4);
    assert_eq!(job.tally.matched, 4);
}
