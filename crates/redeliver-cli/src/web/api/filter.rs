//! Which messages, as the parameters of a request or as an object in its body.

use std::{collections::BTreeMap, fmt, str::FromStr};

use redeliver_outbox::{
    Fingerprint, Timestamp,
    desk::{Filter, MessageRef, Page},
    state::Status,
};
use serde::{Deserialize, Deserializer, de};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::super::problem::Problem;
use crate::commands::outbox::{filter_flags, when};

/// How many are told at a time when nobody says.
const USUAL_LIMIT: u32 = 50;
/// The most that are told at a time.
pub(super) const MOST: u32 = 200;
/// The most messages that are named one by one.
const MOST_NAMED: usize = 500;

/// Which messages. Every field narrows; without any it is all of them.
#[derive(Clone, Debug, Default, Deserialize, IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub(super) struct FilterForm {
    /// Only these: ids or numbers, with commas between them
    #[schema(example = "42,43")]
    messages: Option<String>,
    /// Only with one of these statuses, with commas between them: pending, processing, failed, parked, sent, dead_lettered, discarded,
    /// fanned_out
    #[schema(example = "failed,dead_lettered")]
    status: Option<String>,
    /// Only to this destination
    destination: Option<String>,
    /// Only with this topic
    topic: Option<String>,
    /// Only with this key
    key: Option<String>,
    /// Only dead letters with this reason
    #[schema(example = "attempts_exhausted")]
    reason: Option<String>,
    /// Only where the last error contains this text, in capitals or not
    error: Option<String>,
    /// Only dead letters of this issue
    #[schema(example = "0123456789abcdef")]
    issue: Option<String>,
    /// Only with this text anywhere: in the id, the key, the destination, the topic, the last error or the payload
    text: Option<String>,
    /// Only inserted since then: so long ago, such as 2h, or a time, such as 2026-11-15T20:30:00Z
    #[schema(example = "2h")]
    since: Option<String>,
    /// Only inserted before then
    until: Option<String>,
    /// Only with at least this many attempts
    #[serde(deserialize_with = "text_or_number")]
    #[schema(value_type = Option<u32>, maximum = 4294967295_f64)]
    #[param(value_type = Option<u32>, maximum = 4294967295_f64)]
    attempts_from: Option<String>,
    /// Only dead letters that were quarantined by then: what a preview tells, so that what dies meanwhile is not meant
    died_by: Option<String>,
}

/// The same as an object, in which nothing else may stand.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
pub(super) struct FilterBody {
    #[serde(flatten)]
    filter: FilterForm,
    // A list of values would do for an object as well, were it not for what is left over.
    #[serde(flatten)]
    #[schema(ignore)]
    unknown: BTreeMap<String, Value>,
}

impl TryFrom<FilterBody> for Filter {
    type Error = Problem;

    fn try_from(body: FilterBody) -> Result<Self, Problem> {
        nothing_unknown(&body.unknown)?;
        body.filter.try_into()
    }
}

/// How much of a list.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub(super) struct PageForm {
    /// At most this many
    #[param(value_type = Option<u32>, minimum = 1, maximum = 200)]
    limit: Option<String>,
    /// Go on behind this number: the `next` of the page before
    #[param(value_type = Option<i64>, minimum = 0)]
    after: Option<String>,
    /// `newest` first, or `oldest`, as it is if nobody says
    order: Option<String>,
}

/// What a list is asked for with.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ListQuery {
    #[serde(flatten)]
    filter: FilterForm,
    #[serde(flatten)]
    page: PageForm,
    /// Whether payloads come with the messages.
    payloads: Option<String>,
    #[serde(flatten)]
    unknown: BTreeMap<String, String>,
}

/// A list that can be told.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) filter: Filter,
    pub(super) page: Page,
    pub(super) payloads: bool,
}

impl TryFrom<ListQuery> for Listing {
    type Error = Problem;

    fn try_from(query: ListQuery) -> Result<Self, Problem> {
        nothing_unknown(&query.unknown)?;
        let payloads = match query.payloads.as_deref() {
            None | Some("false") => false,
            Some("true") => true,
            Some(_) => return Err(Problem::bad_request("payloads: must be true or false")),
        };
        Ok(Self {
            filter: query.filter.try_into()?,
            page: query.page.try_into()?,
            payloads,
        })
    }
}

/// A parameter that is misspelt, or given twice, would otherwise narrow nothing.
pub(super) fn nothing_unknown<T>(parameters: &BTreeMap<String, T>) -> Result<(), Problem> {
    match parameters.keys().next() {
        None => Ok(()),
        Some(name) => Err(Problem::bad_request(format!(
            "{}: there is no such field here, or it was given twice",
            crate::readable::line(name, 80)
        ))),
    }
}

impl TryFrom<FilterForm> for Filter {
    type Error = Problem;

    fn try_from(form: FilterForm) -> Result<Self, Problem> {
        let messages: Vec<MessageRef> = list("messages", form.messages.as_deref())?;
        if messages.len() > MOST_NAMED {
            let rule = format!("messages: at most {MOST_NAMED} can be named at a time");
            return Err(Problem::bad_request(rule));
        }
        let filter = Self {
            messages,
            statuses: list::<Status>("status", form.status.as_deref())?,
            destination: form.destination,
            topic: form.topic,
            key: form.key,
            reason: parsed("reason", form.reason.as_deref(), filter_flags::reason)?,
            error: form.error,
            created_from: time("since", form.since.as_deref())?,
            created_before: time("until", form.until.as_deref())?,
            attempts_from: parsed("attempts_from", form.attempts_from.as_deref(), whole)?,
            issue: parsed("issue", form.issue.as_deref(), fingerprint)?,
            text: form.text,
            searched: None,
            died_by: time("died_by", form.died_by.as_deref())?,
        };
        for (name, text) in [
            ("destination", &filter.destination),
            ("topic", &filter.topic),
            ("key", &filter.key),
            ("error", &filter.error),
            ("text", &filter.text),
        ] {
            // No database has it in a text, and one of them refuses to look for it.
            if text.as_deref().is_some_and(|text| text.contains('\0')) {
                return Err(Problem::bad_request(format!("{name}: must not have a NUL in it")));
            }
        }
        Ok(filter)
    }
}

impl TryFrom<PageForm> for Page {
    type Error = Problem;

    fn try_from(form: PageForm) -> Result<Self, Problem> {
        let limit = parsed("limit", form.limit.as_deref(), whole)?.unwrap_or(USUAL_LIMIT);
        if !(1..=MOST).contains(&limit) {
            let rule = format!("limit: must be a whole number from 1 to {MOST}");
            return Err(Problem::bad_request(rule));
        }
        let newest_first = match form.order.as_deref() {
            None | Some("oldest") => false,
            Some("newest") => true,
            Some(_) => return Err(Problem::bad_request("order: must be newest or oldest")),
        };
        Ok(Self {
            after: parsed("after", form.after.as_deref(), number)?,
            limit: limit as usize,
            newest_first,
            until: None,
        })
    }
}

fn fingerprint(text: &str) -> Result<Fingerprint, String> {
    text.parse()
        .map_err(|error: redeliver_outbox::NoFingerprint| error.to_string())
}

fn whole(text: &str) -> Result<u32, String> {
    text.parse()
        .map_err(|_| format!("must be a whole number from 0 to {}", u32::MAX))
}

fn number(text: &str) -> Result<i64, String> {
    let number = text.parse().ok().filter(|number| *number >= 0);
    number.ok_or_else(|| "must be a number that a page gave as next".to_owned())
}

/// A time that is named: what is to come is not "so long ago".
pub(super) fn moment(name: &str, text: Option<&str>) -> Result<Option<Timestamp>, Problem> {
    parsed(name, text, |text| {
        let rule = "must be a time, such as 2026-11-15T20:30:00Z (UTC unless it says otherwise)";
        text.trim().parse().map_err(|_| rule.to_owned())
    })
}

pub(super) fn time(name: &str, text: Option<&str>) -> Result<Option<Timestamp>, Problem> {
    parsed(name, text, when::parse)
}

fn parsed<T>(
    name: &str,
    text: Option<&str>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, Problem> {
    let parsed = text.map(parse).transpose();
    parsed.map_err(|rule| Problem::bad_request(format!("{name}: {rule}")))
}

/// The items between commas.
fn list<T: FromStr<Err: fmt::Display>>(name: &str, text: Option<&str>) -> Result<Vec<T>, Problem> {
    let items = text.into_iter().flat_map(|text| text.split(','));
    items
        .map(|item| item.trim().parse())
        .collect::<Result<_, _>>()
        .map_err(|error| Problem::bad_request(format!("{name}: {error}")))
}

/// A number, which is a text where it comes from an address.
fn text_or_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    struct Either;

    impl de::Visitor<'_> for Either {
        type Value = Option<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a whole number")
        }

        fn visit_str<E>(self, text: &str) -> Result<Option<String>, E> {
            Ok(Some(text.to_owned()))
        }

        fn visit_u64<E>(self, number: u64) -> Result<Option<String>, E> {
            Ok(Some(number.to_string()))
        }

        fn visit_i64<E>(self, number: i64) -> Result<Option<String>, E> {
            Ok(Some(number.to_string()))
        }

        fn visit_unit<E>(self) -> Result<Option<String>, E> {
            Ok(None)
        }
    }

    deserializer.deserialize_any(Either)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(query: &str) -> Result<Listing, String> {
        let uri: axum::http::Uri = format!("/?{query}").parse().unwrap();
        let axum::extract::Query(query) =
            axum::extract::Query::<ListQuery>::try_from_uri(&uri).map_err(|error| error.body_text())?;
        Listing::try_from(query).map_err(|problem| problem.detail().to_owned())
    }

    #[test]
    fn a_query_becomes_a_filter_and_a_page() {
        let listing = asked(
            "status=failed,dead_lettered&destination=billing&attempts_from=2&limit=7&after=9&order=newest&payloads=true",
        )
        .unwrap();
        assert_eq!(listing.filter.statuses, [Status::Failed, Status::DeadLettered]);
        assert_eq!(listing.filter.attempts_from, Some(2));
        assert_eq!((listing.page.limit, listing.page.after), (7, Some(9)));
        assert!(listing.page.newest_first && listing.payloads);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (query, part) in [
            ("limit=0", "limit"),
            ("limit=201", "limit"),
            ("limit=x", "limit"),
            ("after=-1", "after"),
            ("status=gone", "status"),
            ("messages=1,oops", "messages"),
            ("reason=bored", "reason"),
            ("since=yesterday", "since"),
            ("attempts_from=-1", "attempts_from"),
            ("destnation=billing", "destnation"),
            ("topic=a&topic=b", "topic"),
            ("error=%00", "NUL"),
            ("payloads=1", "payloads"),
        ] {
            let error = asked(query).unwrap_err();
            assert!(error.contains(part), "{query}: {error}");
        }
    }
}
