//! The tables `[destinations.NAME.manners]`.

use std::{ops::RangeInclusive, time::Duration};

use super::{
    error::ConfigError,
    section::{Field, Section},
};
use crate::destination::{Manners, Route, SurgeRule};

const FIELDS: &[&str] = &[
    "floor",
    "rate",
    "retry_share",
    "retry_floor",
    "breaker",
    "ramp",
    "longest_rest",
    "surge",
];

/// From one in a quarter of an hour to what holds nothing back.
const RATES: RangeInclusive<f64> = 0.001..=1_000_000.0;
const RETRIES: RangeInclusive<usize> = 1..=1_000_000;
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// What a route is to be treated like; its `concurrency` is known already.
pub(super) fn read(section: &Section<'_, '_>, route: &Route) -> Result<Manners, ConfigError> {
    section.only(FIELDS)?;
    let mut manners = Manners::default();
    for (name, field) in section.fields() {
        match name {
            "floor" => manners.floor = field.count(1..=route.concurrency)?,
            "rate" => manners.rate = Some(field.number(RATES)?),
            "retry_share" => manners.budget.ratio = field.number(0.0..=10.0)?,
            // A budget without a floor would never retry the last message of a quiet day.
            "retry_floor" => manners.budget.floor_per_second = small(field.count(RETRIES)?),
            "breaker" => manners = breaker(&field, manners)?,
            "ramp" => manners.ramp = field.duration(Duration::ZERO..=LONGEST)?,
            "surge" => manners.surge = surge(&field)?,
            _ => manners.longest_rest = field.duration(Duration::ZERO..=LONGEST)?,
        }
    }
    Ok(manners)
}

/// `"off"`, or a table that changes what it names.
fn breaker(field: &Field<'_, '_>, mut manners: Manners) -> Result<Manners, ConfigError> {
    match field.value.as_str() {
        Some("off") => return Ok(manners.without_breaker()),
        Some(_) => {
            return Err(field.instead("\"off\", or a table such as { failures = 0.8, open_for = \"30s\" }"));
        }
        None => {}
    }
    let section = field.section()?;
    section.only(&["failures", "of_at_least", "open_for"])?;
    let rule = &mut manners.breaker;
    for (name, field) in section.fields() {
        match name {
            "failures" => rule.failure_rate = field.number(0.01..=1.0)?,
            "of_at_least" => rule.minimum_calls = small(field.count(1..=1_000_000)?),
            _ => rule.open_for = field.duration(Duration::from_millis(100)..=LONGEST)?,
        }
    }
    Ok(manners)
}

/// `"off"`, or a table that changes what it names.
fn surge(field: &Field<'_, '_>) -> Result<Option<SurgeRule>, ConfigError> {
    match field.value.as_str() {
        Some("off") => return Ok(None),
        Some(_) => return Err(field.instead("\"off\", or a table such as { of = 50, share = 0.8 }")),
        None => {}
    }
    let section = field.section()?;
    section.only(&["of", "share"])?;
    let mut rule = SurgeRule::DEFAULT;
    for (name, field) in section.fields() {
        match name {
            "of" => rule.of = field.count(2..=10_000)?,
            _ => rule.share = field.number(0.01..=1.0)?,
        }
    }
    Ok(Some(rule))
}

/// Their ranges end long before the numbers do.
fn small(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
