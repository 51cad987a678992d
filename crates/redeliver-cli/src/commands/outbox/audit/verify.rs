//! `redeliver audit verify`: whether the chain of the audit trail holds.

use clap::Args;
use redeliver_outbox::{
    desk::{AuditBreak, AuditMark, AuditStep},
    limits::AUDIT_BATCH,
};
use serde_json::json;

use super::super::database::{DatabaseFlags, Outbox};
use crate::{
    exit::{Exit, outbox_help},
    output,
};

/// Look whether the audit trail is what was written: nothing changed, removed, inserted or moved
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver audit verify\n  redeliver audit verify --json\n  \
    redeliver audit verify --expect 5f0c9e6d1b7a4c3f8e2d9a0b5c6f7e8d1a2b3c4d5e6f708192a3b4c5d6e7f809\n\n\
    Each entry carries a hash of itself and of the hash before it, so that whatever is changed behind redeliver's back shows. What that \
    does not prove: whoever can write to the database can compute a whole new chain, and it would hold. Against that, note the head \
    that this command tells somewhere else from time to time, where the same people cannot write, and give it to --expect later: a \
    chain that was written anew no longer has it. Note it more often than retention removes entries: of an entry that is gone, only the \
    database says that it was there, and the exit code is then 1."))]
pub(super) struct VerifyArgs {
    /// A head that was noted earlier, elsewhere: the chain must still have the entry with this hash
    #[arg(long, value_name = "HASH", value_parser = hash)]
    expect: Option<String>,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

fn hash(text: &str) -> Result<String, String> {
    let hash = text.trim().to_ascii_lowercase();
    // Zeros are what stands before the first entry: every chain begins with them.
    if hash.len() == 64
        && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
        && hash.bytes().any(|byte| byte != b'0')
    {
        return Ok(hash);
    }
    Err("must be the 64 hexadecimal digits that `redeliver audit verify` told as the head".to_owned())
}

/// What was found, over all steps.
#[derive(Debug, Default)]
struct Found {
    entries: u64,
    older: u64,
    first: Option<i64>,
    head: Option<AuditMark>,
    broken: Option<AuditBreak>,
    /// The entry that the chain begins behind, as the database says: nothing computes this hash again.
    behind: Option<AuditMark>,
    expected_at: Option<i64>,
}

/// What became of a hash that is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// It was computed again, of this entry and all that came before it.
    At(i64),
    /// The database says that this entry had it, and that it is gone. Whoever can write there can say so of any hash, and put a chain of
    /// their own behind it.
    Removed(i64),
    Nowhere,
}

impl Found {
    fn add(&mut self, step: &AuditStep, expect: Option<&str>) {
        self.entries += step.fit.len() as u64;
        self.older += step.older;
        self.first = self.first.or_else(|| step.fit.first().map(|mark| mark.number));
        self.behind.get_or_insert_with(|| step.behind.clone());
        let expected = |mark: &&AuditMark| Some(mark.hash.as_str()) == expect;
        self.expected_at = self
            .expected_at
            .or_else(|| step.fit.iter().find(expected).map(|mark| mark.number));
        self.head.clone_from(&step.head);
        self.broken.clone_from(&step.broken);
    }

    fn holds(&self, args: &VerifyArgs) -> bool {
        self.broken.is_none() && matches!(self.expected(args), None | Some(Expected::At(_)))
    }

    fn expected(&self, args: &VerifyArgs) -> Option<Expected> {
        let hash = args.expect.as_ref()?;
        let behind = self.behind.as_ref().filter(|mark| mark.hash == *hash);
        Some(match (self.expected_at, behind) {
            (Some(number), _) => Expected::At(number),
            (None, Some(mark)) => Expected::Removed(mark.number),
            (None, None) => Expected::Nowhere,
        })
    }
}

pub(super) async fn run(args: &VerifyArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    let mut found = Found::default();
    let mut after = None;
    loop {
        let step = outbox.desk().verify_audit(after, AUDIT_BATCH).await?;
        found.add(&step, args.expect.as_deref());
        after = step.next;
        if after.is_none() {
            break;
        }
        let of = found.head.as_ref().map_or(0, |head| head.number);
        output::progress(&format!("{} entries, of about {of}", found.entries));
    }
    output::progress_done();
    if args.json {
        output::json(&form(args, &found));
    } else {
        output::line(&words(args, &found));
    }
    for note in notes(args, &found) {
        output::note(&note);
    }
    Ok(if found.holds(args) {
        Exit::Done
    } else {
        Exit::Failed
    })
}

fn form(args: &VerifyArgs, found: &Found) -> serde_json::Value {
    json!({
        "holds": found.holds(args),
        "entries": found.entries,
        "older_than_the_chain": found.older,
        "head": found.head.as_ref().map(|head| json!({ "number": head.number, "hash": head.hash })),
        "broken": found.broken.as_ref().map(|broken| json!({ "kind": broken.as_str(), "what": broken.to_string() })),
        "expected": args.expect.as_ref().map(|hash| json!({
            "hash": hash,
            "number": found.expected_at,
            "removed": matches!(found.expected(args), Some(Expected::Removed(_))),
        })),
    })
}

fn words(args: &VerifyArgs, found: &Found) -> String {
    if let Some(broken) = &found.broken {
        return format!("broken: {broken}; {} entries before that hold", found.entries);
    }
    let head = found.head.as_ref().map_or("", |head| head.hash.as_str());
    let whole = format!("{} entries, head {head}", found.entries);
    match found.expected(args) {
        None => whole,
        Some(Expected::At(number)) => format!("{whole}; the expected hash is that of entry {number}"),
        Some(Expected::Removed(number)) => format!(
            "nothing is proved: the expected hash was that of entry {number}, as the database says, and that entry is not there any \
             more; {whole}"
        ),
        Some(Expected::Nowhere) => {
            let hash = args.expect.as_deref().unwrap_or_default();
            format!("not the chain that was noted: no entry has the hash {hash}; {whole}")
        }
    }
}

/// What is not proved, and what to do.
fn notes(args: &VerifyArgs, found: &Found) -> Vec<String> {
    let mut notes = Vec::new();
    if found.older > 0 && found.broken.is_none() {
        notes.push(format!(
            "{} entries are older than the chain and prove nothing: they were written before there was one",
            found.older
        ));
    }
    if found.broken.is_some() {
        notes.push(
            "somebody or something other than redeliver wrote to the audit tables: compare them with a backup, ask who may write to the \
             database, and keep what you find; docs/tables.md says how to begin a new chain behind it"
                .to_owned(),
        );
    } else if let Some(Expected::Removed(number)) = found.expected(args) {
        notes.push(format!(
            "retention removed entry {number} ([retention] audit), or somebody wrote that it did: a chain of anybody's making could stand \
             on it; expect a head that was noted later, and note it more often than entries are removed"
        ));
    } else if found.expected(args) == Some(Expected::Nowhere) {
        let kept = match found.first {
            Some(first) if first > 1 => {
                format!(
                    "; entries before {first} are not there any more, so a head noted before it cannot be found ([retention] audit)"
                )
            }
            _ => String::new(),
        };
        notes.push(format!(
            "the chain holds in itself, and is another one than when the hash was noted: see that it is of this outbox, and compare with a \
             backup{kept}"
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(number: i64) -> AuditMark {
        AuditMark {
            number,
            hash: format!("{number:064x}"),
        }
    }

    fn args(expect: Option<i64>) -> VerifyArgs {
        VerifyArgs {
            expect: expect.map(|number| mark(number).hash),
            json: false,
            database: DatabaseFlags::default(),
        }
    }

    fn step(numbers: std::ops::RangeInclusive<i64>, broken: Option<AuditBreak>) -> AuditStep {
        AuditStep {
            behind: mark(numbers.start() - 1),
            fit: numbers.map(mark).collect(),
            head: Some(mark(9)),
            older: 2,
            broken,
            next: None,
        }
    }

    #[test]
    fn each_end_is_told_with_what_to_do() {
        let mut told = Vec::new();
        let cut = AuditBreak::Truncated { after: 7, head: 9 };
        for (expect, step) in [
            (None, step(4..=9, None)),
            (Some(5), step(4..=9, None)),
            // Of the last one that retention removed there is only what the database says.
            (Some(3), step(4..=9, None)),
            (Some(1), step(4..=9, None)),
            (None, step(4..=7, Some(cut))),
        ] {
            let args = args(expect);
            let mut found = Found::default();
            found.add(&step, args.expect.as_deref());
            told.push(format!("{}: {}", found.holds(&args), words(&args, &found)));
            told.extend(notes(&args, &found));
            told.push(form(&args, &found).to_string());
        }
        insta::assert_snapshot!(told.join("\n"));
    }

    /// Entries of somebody else's making, on the head that was noted: nothing but the anchor has its hash.
    #[test]
    fn a_chain_that_was_written_anew_on_the_noted_head_does_not_hold() {
        let args = args(Some(7));
        let forged = AuditStep {
            behind: AuditMark { number: 0, ..mark(7) },
            ..step(1..=9, None)
        };
        let forged = AuditStep {
            fit: forged.fit.into_iter().filter(|entry| entry.number != 7).collect(),
            ..forged
        };
        let mut found = Found::default();
        found.add(&forged, args.expect.as_deref());
        assert_eq!(found.expected(&args), Some(Expected::Removed(0)));
        assert!(!found.holds(&args));
    }

    #[test]
    fn a_hash_is_64_digits() {
        assert!(hash(&"A".repeat(64)).is_ok_and(|hash| hash == "a".repeat(64)));
        for bad in ["", "xyz", &"a".repeat(63), &"g".repeat(64), &"0".repeat(64)] {
            assert!(hash(bad).is_err(), "{bad}");
        }
    }
}
