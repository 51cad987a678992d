//! Going through a foreign table.

use std::collections::BTreeSet;

use redeliver::clock;

use super::{
    ForeignTable, Mapping, Outline, Position, Span, catalogue,
    cell::quoted,
    insert::insert,
    message::message,
    open,
    step::{Step, Tally, Trouble},
    trail::Trail,
};
use crate::{
    NewMessage, Timestamp,
    desk::{Act, Desk},
    limits,
    store::Result,
};

/// What a step did, or whose database failed.
type Stepped = std::result::Result<Step, Trouble>;

/// The way of one import through its table.
#[derive(Debug)]
pub struct Import {
    name: String,
    mapping: Mapping,
    table: Box<dyn ForeignTable>,
    /// The destinations that there are, if they are known.
    destinations: Option<BTreeSet<String>>,
    position: Option<Position>,
    trail: Option<Trail>,
    strict: bool,
    began_at: Timestamp,
}

impl Import {
    /// Opens the table of the import of this name.
    ///
    /// # Errors
    ///
    /// As [`open`].
    pub async fn open(address: &str, name: &str, mapping: &Mapping) -> Result<Self> {
        Ok(Self {
            name: name.to_owned(),
            mapping: mapping.clone(),
            table: open(address, name, mapping).await?,
            destinations: None,
            position: None,
            trail: None,
            strict: false,
            began_at: Timestamp::wall(),
        })
    }

    /// Refuses rows that go to none of these destinations.
    #[must_use]
    pub fn only_to(mut self, destinations: impl IntoIterator<Item = String>) -> Self {
        self.destinations = Some(destinations.into_iter().collect());
        self
    }

    /// Begins behind the place that this text names.
    ///
    /// # Errors
    ///
    /// If the order column holds nothing that looks like this.
    pub fn after(mut self, place: &str) -> Result<Self> {
        self.position = Some(self.table.place(place)?);
        Ok(self)
    }

    /// Stops before the first row that cannot be a message, instead of going on behind it.
    #[must_use]
    pub const fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Where the first row is, if there is any.
    ///
    /// # Errors
    ///
    /// If the foreign database fails.
    pub async fn first(&self) -> Result<Option<Position>> {
        let first = self.table.outline(Span::default(), 1).await?;
        Ok(first.into_iter().next().map(|row| row.position))
    }

    /// Remembers what it passes, so that it can look back for rows that were committed late.
    #[must_use]
    pub fn followed(mut self) -> Self {
        self.trail = Some(Trail::behind(self.position.clone()));
        self
    }

    /// The place up to which everything was read; none at the beginning.
    #[must_use]
    pub const fn position(&self) -> Option<&Position> {
        self.position.as_ref()
    }

    /// The place as [`after`](Self::after) reads it: exactly this one.
    #[must_use]
    pub fn written(&self, place: &Position) -> String {
        self.table.holds(0).written(place)
    }

    /// Reads on, at most so many rows and as many as fit into memory, and puts them into the outbox, all in one transaction. Without
    /// a desk nothing is written, and what would be is said.
    ///
    /// # Errors
    ///
    /// If one of the databases fails. The place is then the same as before.
    pub async fn forward(&mut self, desk: Option<&dyn Desk>, at_most: usize) -> Stepped {
        let after = self.position.clone();
        let span = Span {
            after: after.as_ref(),
            until: None,
        };
        let page = self.table.outline(span, at_most.saturating_add(1)).await;
        let mut page = page.map_err(Trouble::Table)?;
        if let Some([one, _]) = page
            .array_windows()
            .find(|[one, other]| one.position == other.position)
        {
            let twice = catalogue::not_unique(&self.name, &self.mapping.order, &one.position);
            return Err(Trouble::Table(twice));
        }
        let beyond = page.len() > at_most;
        page.truncate(at_most);
        let Some((taken, last)) = fitting(&page) else {
            return Ok(Step::default());
        };
        let until = last.position.clone();
        let mut step = match is_too_large(last) {
            true => too_large(last),
            false => {
                let span = Span {
                    after: after.as_ref(),
                    until: Some(&until),
                };
                self.take(desk, span).await?
            }
        };
        if self.strict && !step.refusals.is_empty() {
            let good = page.iter().take_while(|row| {
                !step
                    .refusals
                    .iter()
                    .any(|refused| refused.position == row.position)
            });
            self.position = good.last().map(|row| row.position.clone()).or(after);
            return Ok(step);
        }
        step.more = beyond || taken < page.len();
        if let Some(trail) = &mut self.trail {
            let passed = page.iter().take(taken).map(|row| &row.position);
            trail.note(clock::now(), Some(until.clone()), passed);
        }
        self.position = Some(until);
        Ok(step)
    }

    /// Looks for rows that were committed behind its back, if it is [followed](Self::followed).
    ///
    /// # Errors
    ///
    /// If one of the databases fails.
    pub async fn look_back(&mut self, desk: &dyn Desk) -> Stepped {
        let mut step = Step::default();
        let (Some(trail), Some(until)) = (&mut self.trail, &self.position) else {
            return Ok(step);
        };
        trail.forget(clock::now(), limits::IMPORT_LOOK_BACK);
        let (mut after, until) = (trail.mark().cloned(), until.clone());
        loop {
            let span = Span {
                after: after.as_ref(),
                until: Some(&until),
            };
            let page = self.table.outline(span, limits::IMPORT_LARGEST_BATCH).await;
            let page = page.map_err(Trouble::Table)?;
            for row in &page {
                let late = self
                    .trail
                    .as_ref()
                    .is_some_and(|trail| !trail.knows(&row.position));
                if late {
                    step.add(self.take_late(desk, after.as_ref(), row).await?);
                }
                after = Some(row.position.clone());
            }
            if page.len() < limits::IMPORT_LARGEST_BATCH {
                return Ok(step);
            }
        }
    }

    async fn take_late(&mut self, desk: &dyn Desk, after: Option<&Position>, row: &Outline) -> Stepped {
        let span = Span {
            after,
            until: Some(&row.position),
        };
        let step = match is_too_large(row) {
            true => too_large(row),
            false => self.take(Some(desk), span).await?,
        };
        if let Some(trail) = &mut self.trail {
            trail.note(clock::now(), None, std::iter::once(&row.position));
        }
        Ok(step)
    }

    /// Says in the audit trail what was done so far, and whether that is all.
    ///
    /// # Errors
    ///
    /// If the outbox's database fails.
    pub async fn record(&self, desk: &dyn Desk, tally: Tally, ended: bool, act: &Act) -> Result<()> {
        let place = self.position.as_ref().map(|place| self.written(place));
        let detail = format!(
            r#"{{"import":{},"table":{},"read":{},"inserted":{},"there_before":{},"refused":{},"up_to":{},"began_at":"{}","ended":{ended}}}"#,
            quoted(&self.name),
            quoted(&self.mapping.table.to_string()),
            tally.read,
            tally.inserted,
            tally.there_before,
            tally.refused,
            place.map_or_else(|| "null".to_owned(), |place| quoted(&place)),
            self.began_at,
        );
        desk.record_import(&detail, act).await
    }

    /// The rows of a stretch that fits into memory.
    async fn take(&self, desk: Option<&dyn Desk>, span: Span<'_>) -> Stepped {
        let rows = self.table.rows(span).await.map_err(Trouble::Table)?;
        let mut step = Step::default();
        step.tally.read = rows.len() as u64;
        let mut good = Vec::with_capacity(rows.len());
        for row in rows {
            let holds = |column| self.table.holds(column);
            let made =
                message(&self.name, &self.mapping, holds, &row).and_then(|message| self.known(message));
            match made {
                Ok(message) => good.push((row.position, message)),
                Err(reason) => {
                    step.refuse(row.position, reason);
                    if self.strict {
                        break;
                    }
                }
            }
        }
        let (places, messages): (Vec<Position>, Vec<NewMessage>) = good.into_iter().unzip();
        match desk {
            Some(desk) => {
                let inserted = insert(desk, places, &messages, self.strict, &mut step).await;
                inserted.map_err(Trouble::Outbox)?;
            }
            None => {
                step.tally.inserted = messages.len() as u64;
                step.sample = messages.into_iter().next();
            }
        }
        Ok(step)
    }

    fn known(&self, message: NewMessage) -> std::result::Result<NewMessage, String> {
        let name = &message.destination;
        match &self.destinations {
            Some(there) if !name.is_empty() && !there.contains(name) => {
                let there: Vec<&str> = there.iter().map(String::as_str).collect();
                Err(format!(
                    "goes to {:?}, and the configuration has no such destination; it has {}",
                    redeliver::address::printable(name),
                    there.join(", ")
                ))
            }
            _ => Ok(message),
        }
    }
}

/// How many rows of a page are read at once, and the last of them: as many as fit, and what is too large only by itself.
fn fitting(page: &[Outline]) -> Option<(usize, &Outline)> {
    let mut bytes = 0_usize;
    let mut taken = 0_usize;
    for row in page {
        bytes = bytes.saturating_add(row.bytes);
        if taken > 0 && (bytes > limits::IMPORT_BATCH_BYTES || is_too_large(row)) {
            break;
        }
        taken += 1;
        if is_too_large(row) {
            break;
        }
    }
    page.get(taken.checked_sub(1)?).map(|last| (taken, last))
}

const fn is_too_large(row: &Outline) -> bool {
    row.bytes > limits::IMPORT_LARGEST_ROW
}

fn too_large(row: &Outline) -> Step {
    let mut step = Step::default();
    step.tally.read = 1;
    let (bytes, limit) = (row.bytes, limits::PAYLOAD_LIMIT);
    let reason = format!("has {bytes} bytes, of which at most {limit} may be payload");
    step.refuse(row.position.clone(), reason);
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_read_at_once_and_what_never_fits_by_itself() {
        let page = |sizes: &[usize]| -> Vec<Outline> {
            let row = |(at, bytes): (usize, &usize)| Outline {
                position: Position::Integer(at as i128),
                bytes: *bytes,
            };
            sizes.iter().enumerate().map(row).collect()
        };
        let taken = |sizes: &[usize]| fitting(&page(sizes)).map(|(taken, _)| taken);
        let (large, huge) = (1 << 20, limits::IMPORT_LARGEST_ROW + 1);
        assert_eq!(taken(&[]), None);
        assert_eq!(taken(&[1, 2, 3]), Some(3));
        assert_eq!(taken(&[large; 20]), Some(8));
        assert_eq!(taken(&[1, huge, 1]), Some(1));
        assert_eq!(taken(&[huge, 1]), Some(1));
    }
}
