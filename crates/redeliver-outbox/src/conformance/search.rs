//! Looking for what is rare, window by window.

use std::time::Duration;

use super::{
    Factory,
    failure::{Outcome, check, none, same},
    subject::{Subject, bury, delivered},
};
use crate::{
    DeadReason, MessageId, NewMessage,
    desk::{Filter, Page, Searched},
    state::Status,
};

const LONG: Duration = Duration::from_secs(60);

fn page(limit: usize, newest_first: bool) -> Page {
    Page {
        after: None,
        until: None,
        limit,
        newest_first,
    }
}

fn numbers(searched: &Searched) -> Vec<i64> {
    searched.records.iter().map(|record| record.id.number()).collect()
}

fn about(topic: &str) -> Filter {
    Filter {
        topic: Some(topic.to_owned()),
        ..Filter::default()
    }
}

fn text(text: &str) -> Filter {
    Filter {
        text: Some(text.to_owned()),
        ..Filter::default()
    }
}

/// A row with this number, wherever the database's own counter is.
async fn insert(subject: &Subject, number: i64, topic: &str) -> Outcome {
    let statement = format!(
        "INSERT INTO redeliver_outbox (number, destination, topic, payload) VALUES ({number}, 'billing', '{topic}', '{{}}')"
    );
    subject.execute(&statement).await
}

pub(super) async fn s260_a_search_finds_what_is_rare(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    for number in [1, 700, 5_000, 5_001, 900_000, 3_000_000_000, 3_000_000_050] {
        insert(&subject, number, "common").await?;
    }
    let rare = [3, 4_999, 1_000_000, 3_000_000_007];
    for number in rare {
        insert(&subject, number, "rare").await?;
    }
    for newest_first in [false, true] {
        let mut expected = rare;
        if newest_first {
            expected.reverse();
        }
        let whole = subject
            .desk
            .search(&about("rare"), page(10, newest_first), LONG)
            .await?;
        same!(numbers(&whole), expected, "all at once");
        check!(
            whole.complete && whole.next.is_none(),
            "there is no more: {whole:?}"
        );
        let mut met = Vec::new();
        let mut next = page(3, newest_first);
        for round in 0.. {
            check!(round < 5, "the pages come to an end");
            let searched = subject.desk.search(&about("rare"), next, LONG).await?;
            met.extend(numbers(&searched));
            if searched.complete {
                break;
            }
            check!(searched.next.is_some(), "it says where to go on: {searched:?}");
            next.after = searched.next;
        }
        same!(met, expected, "page by page");
    }
    let nothing = subject
        .desk
        .search(&about("nothing"), page(3, true), LONG)
        .await?;
    check!(nothing.complete, "nothing is found by looking at everything");
    none!(nothing.records, "what nobody wrote");
    // What was sent has no reason to be dead.
    let nowhere = Filter {
        statuses: vec![Status::Sent],
        reason: Some(DeadReason::Permanent),
        ..Filter::default()
    };
    let nothing = subject.desk.search(&nowhere, page(3, true), LONG).await?;
    check!(nothing.complete, "nothing can be there");
    none!(nothing.records, "what cannot be");
    Ok(())
}

pub(super) async fn s261_a_search_without_time_says_where_it_stopped(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    for number in [10, 20_000, 40_000, 60_000] {
        insert(&subject, number, "common").await?;
    }
    insert(&subject, 50_000, "rare").await?;
    let (mut next, mut met, mut rounds) = (page(5, false), Vec::new(), 0);
    loop {
        let searched = subject.desk.search(&about("rare"), next, Duration::ZERO).await?;
        rounds += 1;
        check!(rounds < 20, "each search goes on where the last one stopped");
        met.extend(numbers(&searched));
        if searched.complete {
            break;
        }
        check!(searched.next > next.after, "it goes forward: {searched:?}");
        next.after = searched.next;
    }
    same!(met, [50_000], "what is found in the end");
    check!(rounds > 2, "a search without time looks at one window: {rounds}");
    Ok(())
}

pub(super) async fn s262_a_page_looks_no_further_than_asked(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    for number in [10, 20, 30, 40] {
        insert(&subject, number, "common").await?;
    }
    for (newest_first, after, until, expected) in [
        (false, Some(10), Some(30), &[20, 30][..]),
        (true, Some(40), Some(20), &[30, 20]),
        (false, None, Some(5), &[]),
        (true, None, Some(41), &[]),
    ] {
        let page = Page {
            after,
            until,
            limit: 10,
            newest_first,
        };
        let records = subject.desk.list(&Filter::default(), page, false).await?;
        let met: Vec<i64> = records.iter().map(|record| record.id.number()).collect();
        same!(met, expected, "{page:?}");
        let searched = subject.desk.search(&Filter::default(), page, LONG).await?;
        same!(numbers(&searched), expected, "searched, {page:?}");
        check!(searched.complete, "up to the end that was named, {page:?}");
    }
    Ok(())
}

pub(super) async fn s263_a_text_is_found_anywhere(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let worker = subject.worker("w").await?;
    let message = |to: &str| NewMessage::to(to).payload("{}");
    let mut keyed = message("billing");
    keyed.key = Some("Order-77".to_owned());
    let mut topical = message("billing");
    topical.topic = Some("invoices.paid".to_owned());
    let ids = subject
        .enqueue(&[
            keyed,
            topical,
            message("ARCHIVE"),
            NewMessage::to("billing").payload("{\"customer\":\"Zoë O'Brien\"}"),
            NewMessage::to("billing").payload(vec![0, 1, 255]),
            message("billing").traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ])
        .await?;
    subject.settle_one(&worker, ids[5], bury()).await?;
    subject.settle_one(&worker, ids[3], delivered(1)).await?;
    for (asked, expected) in [
        ("order-77", ids[0]),
        ("INVOICES", ids[1]),
        ("archive", ids[2]),
        ("zoë o'b", ids[3]),
        ("unprocessable", ids[5]),
        ("0af7651916cd43dd8448eb211c80319c", ids[5]),
        ("B7AD6B7169203331", ids[5]),
    ] {
        same!(subject.matching(&text(asked)).await?, [expected], "{asked}");
        let searched = subject.desk.search(&text(asked), page(10, true), LONG).await?;
        same!(numbers(&searched), [expected.number()], "searched: {asked}");
    }
    for (asked, names, expected) in [
        ("zoë o'b", &["billing"][..], vec![ids[3]]),
        ("zoë o'b", &["ARCHIVE", "billing"], vec![ids[3]]),
        ("zoë o'b", &["ARCHIVE"], vec![]),
        ("zoë o'b", &["Billing", "billing "], vec![]),
        ("zoë o'b", &[], vec![]),
        ("order-77", &[], vec![ids[0]]),
    ] {
        let filter = Filter {
            searched: Some(names.iter().map(|name| (*name).to_owned()).collect()),
            ..text(asked)
        };
        same!(
            subject.matching(&filter).await?,
            expected,
            "{asked}, in payloads to {names:?} only"
        );
    }
    none!(subject.matching(&text("100%")).await?, "what nobody wrote");
    // The last as it stands in the trace of a message that was given none.
    let id = ids[4].to_string();
    for asked in [id.clone(), ids[4].number().to_string(), id.replace('-', "")] {
        let searched = subject.desk.search(&text(&asked), page(10, true), LONG).await?;
        same!(
            numbers(&searched).first(),
            Some(&ids[4].number()),
            "first of all: {asked}"
        );
        let twice = numbers(&searched)
            .iter()
            .filter(|number| **number == ids[4].number())
            .count();
        same!(twice, 1, "how often it is found: {asked}");
    }
    Ok(())
}

pub(super) async fn s264_the_named_one_comes_before_those_that_mention_it(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let named = subject.enqueue_some(1).await?[0];
    let mention = NewMessage::to("billing").payload(format!("about {named} and {}", named.number()));
    let mentions = subject.enqueue(&[mention.clone(), mention]).await?;
    for asked in [named.to_string(), named.number().to_string()] {
        let mut next = page(1, true);
        let mut met: Vec<i64> = Vec::new();
        for round in 0.. {
            check!(round < 6, "the pages come to an end");
            let searched = subject.desk.search(&text(&asked), next, LONG).await?;
            met.extend(numbers(&searched));
            if searched.complete {
                break;
            }
            next.after = searched.next;
        }
        let expected: Vec<i64> = [named, mentions[1], mentions[0]].map(MessageId::number).to_vec();
        same!(met, expected, "page by page, for {asked}");
    }
    Ok(())
}

pub(super) async fn s265_the_nearest_number_is_of_the_tables_that_are_asked(
    factory: &dyn Factory,
) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let worker = subject.worker("w").await?;
    let nearest = subject.desk.nearest(&Filter::default(), None, true).await?;
    same!(nearest, None, "of an empty outbox");
    let ids: Vec<MessageId> = subject.enqueue_some(4).await?;
    subject.settle_one(&worker, ids[0], delivered(1)).await?;
    subject.settle_one(&worker, ids[1], bury()).await?;
    let number = |index: usize| Some(ids[index].number());
    let with = |status| Filter {
        statuses: vec![status],
        ..Filter::default()
    };
    for (filter, behind, newest_first, expected) in [
        (Filter::default(), None, false, number(0)),
        (Filter::default(), None, true, number(3)),
        (Filter::default(), number(0), false, number(1)),
        (Filter::default(), number(3), false, None),
        (with(Status::Sent), None, true, number(0)),
        (with(Status::DeadLettered), number(0), false, number(1)),
        (with(Status::Failed), None, false, number(2)),
        (with(Status::FannedOut), None, false, None),
    ] {
        let met = subject.desk.nearest(&filter, behind, newest_first).await?;
        same!(met, expected, "{filter:?} {behind:?} {newest_first}");
    }
    Ok(())
}
