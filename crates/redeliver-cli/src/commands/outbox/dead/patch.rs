use clap::Args;
use redeliver_outbox::{
    desk::{MessageRef, NoSight, Patch, PatchPreview, Patched, Record, Refused, Sight},
    destination::Routes,
};
use serde_json::{Map, Value};

use super::{
    super::{
        act_flags::{WhoFlag, confirmed},
        database::{DatabaseFlags, Outbox},
        filter_flags::{FilterFlags, ReasonFlag, at_least_one},
    },
    many::{Chosen, filter, missed},
    moved::check_known,
    patched::{PatchPreviewForm, PatchedForm, note},
};
use crate::{
    commands::call::input,
    exit::{BadInput, Exit, NotFound, outbox_help},
    output, readable,
    web::compared,
};

/// Change many dead letters in the same way; what would change is shown first, and who was quicker is not overwritten
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver dead patch --issue 0123456789abcdef --patch '{\"currency\":\"EUR\"}' --preview\n  \
    redeliver dead patch --to billing --patch '{\"total\":null}' --why 'the field is gone' --yes\n  \
    redeliver dead patch 42 43 --patch @mended.json --move-to billing-v2 --yes\n\n\
    The patch is a JSON Merge Patch (RFC 7396): a field that it names is set, null removes it, an object is patched within, and what it does \
    not name stays as it was written. What somebody edits, puts back or gives up between the look and the patch is left alone, and named. \
    With --preview --json the look ends with \"seen\"; --seen takes it, later or elsewhere."))]
pub(super) struct PatchArgs {
    /// Their ids, or their numbers
    ids: Vec<MessageRef>,
    /// What to change in each payload: a JSON object, @FILE, or - for standard input
    #[arg(
        long,
        value_name = "JSON|@FILE|-",
        allow_hyphen_values = true,
        required_unless_present = "move_to"
    )]
    patch: Option<String>,
    /// The new destination of each
    #[arg(long, value_name = "DESTINATION")]
    move_to: Option<String>,
    /// Every dead letter
    #[arg(long)]
    all: bool,
    /// At most this many, the oldest first
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    limit: Option<usize>,
    /// Only show what would change
    #[arg(long)]
    preview: bool,
    /// Those that a preview showed, unless they were changed since
    #[arg(long, value_name = "SEEN", value_parser = seen, conflicts_with_all = ["ids", "all", "limit", "preview"])]
    seen: Option<Sight>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Why, for the audit
    #[arg(long, value_name = "TEXT", default_value = "")]
    why: String,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    filter: FilterFlags,
    #[command(flatten)]
    reason: ReasonFlag,
    #[command(flatten)]
    who: WhoFlag,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

fn seen(text: &str) -> Result<Sight, NoSight> {
    text.parse()
}

pub(super) async fn run(args: &PatchArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    let patch = Patch {
        fields: fields(args.patch.as_deref())?,
        destination: args.move_to.clone(),
    };
    check_known(outbox, patch.destination.as_deref())?;
    let chosen = Chosen {
        ids: &args.ids,
        filter: filter(&args.ids, args.filter.filter(&[], args.reason.reason)),
        narrowed: !args.filter.is_empty() || args.reason.reason.is_some(),
        all: args.all,
        limit: args.limit,
        yes: args.yes,
    };
    let (sight, missing) = match &args.seen {
        Some(_) if chosen.narrowed => {
            let what = "--seen says which dead letters are meant: leave out what narrows them";
            return Err(BadInput(what.to_owned()).into());
        }
        Some(sight) => (sight.clone(), Vec::new()),
        None => {
            chosen.check("patch")?;
            let preview = outbox.desk().preview_patch(&chosen.filter, args.limit).await?;
            if args.preview && args.json {
                output::json(&PatchPreviewForm::of(&preview, &patch, &outbox.settings.routes));
                return Ok(Exit::Done);
            }
            show(&preview, &patch, &outbox.settings.routes);
            let count = preview.sight.len();
            let not_there = |named: &&MessageRef| !preview.sight.contains(number(**named));
            let not_there = args.ids.iter().filter(not_there).copied().collect();
            if count == 0 && !args.ids.is_empty() {
                missed(outbox, &[], &args.ids, "patched").await?;
            }
            if args.preview || count == 0 || !confirmed(args.yes, &format!("patch {count}"))? {
                return Ok(Exit::Done);
            }
            (preview.sight, not_there)
        }
    };
    let act = args.who.act(&args.why);
    let patched = outbox.desk().patch(&patch, &sight, &act).await?;
    tell(&patched, args.json);
    let missed = missed(outbox, &[], &missing, "patched").await;
    if patched.refused.is_empty() {
        return missed.map(|()| Exit::Done);
    }
    if let Err(missed) = missed {
        output::note(&missed.to_string());
    }
    Err(NotFound(refused(&patched)).into())
}

const fn number(message: MessageRef) -> i64 {
    match message {
        MessageRef::Id(id) => id.number(),
        MessageRef::Number(number) => number,
    }
}

/// The patch, which must be an object: anything else would replace payloads as a whole.
fn fields(text: Option<&str>) -> Result<Map<String, Value>, BadInput> {
    let Some(text) = text else {
        return Ok(Map::new());
    };
    let fields = serde_json::from_slice(&input::data("--patch", text)?);
    fields.map_err(|error| BadInput(format!("--patch: must be a JSON object ({error})")))
}

fn show(preview: &PatchPreview, patch: &Patch, routes: &Routes) {
    let letters = match preview.matched {
        1 => "1 dead letter matches".to_owned(),
        matched => format!("{matched} dead letters match"),
    };
    output::note(&letters);
    for letter in &preview.sample {
        for line in sample(letter, patch, routes) {
            output::note(&line);
        }
    }
}

/// What would change in one of them, line by line.
fn sample(letter: &Record, patch: &Patch, routes: &Routes) -> Vec<String> {
    let edit = patch.shown(letter, &letter.secrecy(routes));
    let mut head = format!("message {}", letter.id.number());
    if let Some(note) = note(letter, edit.as_ref()) {
        return vec![format!("{head}: nothing, {note}")];
    }
    let edit = edit.unwrap_or_default();
    if let Some(to) = &edit.destination {
        let (from, to) = (readable::line(&letter.destination, 60), readable::line(to, 60));
        head.push_str(&format!(": {from} → {to}"));
    }
    let difference = match (&letter.payload, &edit.payload) {
        (Some(before), Some(after)) => compared(before, after),
        _ => Some(Vec::new()),
    };
    let mut lines = vec![head];
    match difference {
        Some(difference) => lines.extend(difference.iter().map(|line| format!("  {line}"))),
        None => lines.push("  (too long to be compared here)".to_owned()),
    }
    lines
}

fn tell(patched: &Patched, as_json: bool) {
    match as_json {
        true => output::json(&PatchedForm::of(patched)),
        false => {
            for id in &patched.edited {
                output::line(&id.to_string());
            }
        }
    }
    let unchanged = match patched.unchanged.len() {
        0 => String::new(),
        so => format!(", {so} were so already"),
    };
    output::note(&format!("patched {}{unchanged}", patched.edited.len()));
}

/// Those that were not patched, and why not.
fn refused(patched: &Patched) -> String {
    let one = |one: &Refused| format!("{} ({})", one.number, readable::line(&one.what, 200));
    let refused: Vec<String> = patched.refused.iter().map(one).collect();
    format!("not patched: {}; look at them again", refused.join(", "))
}
