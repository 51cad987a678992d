use super::*;

fn act() -> Act {
    Act {
        who: "ana".to_owned(),
        why: "tést".to_owned(),
    }
}

fn begun() -> Chain {
    let mark = AuditMark {
        number: 0,
        hash: NOTHING.to_owned(),
    };
    Chain {
        head: mark.clone(),
        anchor: mark,
    }
}

/// A chain of so many entries.
fn written(count: usize) -> (Chain, Vec<AuditRecord>) {
    let mut chain = begun();
    let messages: Vec<MessageId> = (1..)
        .take(count)
        .map(|number| MessageId::new(number, 7))
        .collect();
    let said = Said::of_each("redrive", &messages, "");
    let entries = seal(
        &chain.head,
        0,
        Timestamp::from_millis(1_800_000_000_000),
        &act(),
        &said,
    );
    if let Some(last) = entries.last() {
        chain.head = AuditMark {
            number: last.number,
            hash: last.hash.clone().unwrap(),
        };
    }
    (chain, entries)
}

fn broken(chain: &Chain, entries: &[AuditRecord]) -> Option<AuditBreak> {
    verify(chain, chain.anchor.clone(), None, entries, 100).broken
}

/// `printf '64:0…0,1:1,13:1800000000000,3:ana,4:edit,36:00000000-0000-802a-8000-000000000007,5:tést,2:{},' | sha256sum`
#[test]
fn the_hash_is_what_anybody_computes() {
    let said = [Said {
        action: "edit",
        message: Some(MessageId::new(42, 7)),
        detail: "{}",
    }];
    let entries = seal(
        &begun().head,
        0,
        Timestamp::from_millis(1_800_000_000_000),
        &act(),
        &said,
    );
    assert_eq!(
        entries[0].message.unwrap().to_string(),
        "00000000-0000-802a-8000-000000000007"
    );
    assert_eq!(
        entries[0].hash.as_deref(),
        Some("c589bd9d12ff803688e31d6177ef74736a797cd5a4cad5fd3d9638f00451726e")
    );
}

#[test]
fn an_untouched_chain_holds_in_steps_of_any_length() {
    let (chain, entries) = written(7);
    for limit in 1..9 {
        let (mut after, mut fit) = (None, 0);
        loop {
            let start = start(&chain, after);
            let begin = usize::try_from(start.number).unwrap();
            let some = &entries[begin..entries.len().min(begin + limit)];
            let step = verify(&chain, start, None, some, limit);
            assert_eq!(step.broken, None, "{limit}");
            fit += step.fit.len();
            after = step.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(fit, 7, "{limit}");
    }
}

#[test]
fn every_field_is_sealed() {
    let (chain, entries) = written(3);
    let changes: [fn(&mut AuditRecord); 8] = [
        |entry| entry.at = Timestamp::from_millis(1),
        |entry| entry.who.push(' '),
        |entry| entry.action = "discard".to_owned(),
        |entry| entry.message = None,
        |entry| entry.why.clear(),
        |entry| entry.detail = "{}".to_owned(),
        |entry| entry.hash = Some(NOTHING.to_owned()),
        // From one field into the next: only the lengths tell.
        |entry| (entry.why, entry.detail) = ("té".to_owned(), "st".to_owned()),
    ];
    for (index, change) in changes.iter().enumerate() {
        for number in 1..=3 {
            let mut changed = entries.clone();
            change(&mut changed[number - 1]);
            let number = i64::try_from(number).unwrap();
            assert_eq!(
                broken(&chain, &changed),
                Some(AuditBreak::Changed { number }),
                "change {index}"
            );
        }
    }
}

#[test]
fn what_was_removed_is_told_by_where() {
    let (chain, entries) = written(5);
    let without = |gone: &[usize]| -> Vec<AuditRecord> {
        let kept = entries
            .iter()
            .enumerate()
            .filter(|(index, _)| !gone.contains(index));
        kept.map(|(_, entry)| entry.clone()).collect()
    };
    let missing = |after, before| Some(AuditBreak::Missing { after, before });
    assert_eq!(broken(&chain, &without(&[0])), missing(0, 2));
    assert_eq!(broken(&chain, &without(&[1, 2])), missing(1, 4));
    assert_eq!(
        broken(&chain, &without(&[3, 4])),
        Some(AuditBreak::Truncated { after: 3, head: 5 })
    );
    assert_eq!(
        broken(&chain, &[]),
        Some(AuditBreak::Truncated { after: 0, head: 5 })
    );
}

#[test]
fn what_was_moved_is_found_where_it_is() {
    let (chain, mut entries) = written(5);
    entries.swap(1, 3);
    (entries[1].number, entries[3].number) = (2, 4);
    let moved = AuditBreak::Reordered {
        number: 2,
        found_at: 4,
    };
    assert_eq!(broken(&chain, &entries), Some(moved));
}

#[test]
fn what_others_wrote_is_told_apart() {
    let (chain, entries) = written(3);
    let mut bare = entries.clone();
    bare[1].hash = None;
    assert_eq!(broken(&chain, &bare), Some(AuditBreak::Inserted { number: 2 }));
    // A chain that was continued by hand, without its head.
    let mut longer = entries;
    longer.extend(seal(
        &chain.head,
        0,
        Timestamp::default(),
        &act(),
        &[Said {
            action: "edit",
            message: None,
            detail: "",
        }],
    ));
    assert_eq!(broken(&chain, &longer), Some(AuditBreak::Inserted { number: 4 }));
    // One that was written anew, with its head as it was.
    let anew = seal(
        &begun().head,
        0,
        Timestamp::from_millis(5),
        &act(),
        &Said::of_each("edit", &[MessageId::new(1, 1); 3], ""),
    );
    assert_eq!(broken(&chain, &anew), Some(AuditBreak::Changed { number: 3 }));
}

#[test]
fn what_is_older_than_the_chain_is_counted_and_retention_leaves_nothing_before_it() {
    let (mut chain, entries) = written(3);
    let before = Before {
        entries: 2,
        first: Some(1),
        first_with_hash: None,
    };
    let step = verify(&chain, chain.anchor.clone(), Some(before), &entries, 10);
    assert_eq!((step.older, step.broken), (2, None));
    chain.anchor.hash = "f".repeat(64);
    let step = verify(&chain, chain.anchor.clone(), Some(before), &entries, 10);
    assert_eq!(step.broken, Some(AuditBreak::Inserted { number: 1 }));
}

#[test]
fn numbers_go_on_behind_whatever_is_there() {
    let (chain, _) = written(2);
    let said = Said::of_each("edit", &[MessageId::new(1, 1); 2], "");
    let numbers = |newest| -> Vec<i64> {
        let entries = seal(&chain.head, newest, Timestamp::default(), &act(), &said);
        entries.iter().map(|entry| entry.number).collect()
    };
    assert_eq!(numbers(0), [3, 4]);
    assert_eq!(numbers(9), [10, 11]);
}

#[test]
fn retention_removes_a_beginning_and_nothing_else() {
    let entry = |number, hash: Option<&str>, old| Oldest {
        number,
        hash: hash.map(ToOwned::to_owned),
        old,
    };
    assert_eq!(forget(&[]), None);
    assert_eq!(
        forget(&[entry(1, Some("a"), false), entry(2, Some("b"), true)]),
        None
    );
    let forgotten = forget(&[
        entry(1, None, true),
        entry(2, Some("b"), true),
        entry(3, Some("c"), true),
        entry(4, Some("d"), false),
        entry(5, Some("e"), true),
    ]);
    let anchor = AuditMark {
        number: 3,
        hash: "c".to_owned(),
    };
    assert_eq!(
        forgotten,
        Some(Forgotten {
            last: 3,
            entries: 3,
            anchor: Some(anchor)
        })
    );
    assert_eq!(
        forget(&[entry(1, None, true)]).and_then(|forgotten| forgotten.anchor),
        None
    );
}

#[test]
fn entries_go_where_there_is_room_up_to_the_last_number() {
    let said = Said::of_each("redrive", &[MessageId::new(1, 7), MessageId::new(2, 7)], "");
    let numbers = |room: i64| -> Vec<i64> {
        let entries = seal(&begun().head, room, Timestamp::from_millis(1), &act(), &said);
        entries.iter().map(|entry| entry.number).collect()
    };
    assert_eq!(numbers(0), [1, 2]);
    assert_eq!(numbers(7), [8, 9]);
    assert_eq!(numbers(i64::MAX - 3), [i64::MAX - 2, i64::MAX - 1]);
}
