use std::{collections::HashMap, ops::Range};

use super::{
    Answer, Dialect, EnqueueError, Enqueued, InvalidMessage, Job, NewMessage, Outbox, Parameter, Statement,
    Statements,
    answer::Row,
    entry::{Entry, Fate},
    statement::Returns,
    statement_of,
};
use crate::{
    MessageId, limits,
    store::{Names, StoreError, StoreErrorKind},
};

/// Messages on their way into the outbox, as statements. In each chunk of them: the de-duplication keys are remembered; if some were
/// known already, it is looked up for which messages; the rest is inserted, numbered, and tied to its keys.
pub(super) struct Work<'a> {
    names: &'a Names,
    dialect: Dialect,
    entries: Vec<Entry<'a>>,
    chunk: Range<usize>,
    stage: Stage,
    /// Whether every key of the chunk is new.
    all_new: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Remember,
    Recall,
    Insert,
    Number,
    Tie,
    Done,
}

impl<'a> Work<'a> {
    /// Validates every message before any statement is written.
    pub(super) fn new(
        outbox: &'a Outbox,
        dialect: Dialect,
        messages: impl IntoIterator<Item = &'a NewMessage>,
    ) -> Result<Self, InvalidMessage> {
        let mut firsts: HashMap<&str, usize> = HashMap::new();
        let mut entries: Vec<Entry<'a>> = Vec::new();
        for message in messages {
            message.validate()?;
            let index = entries.len();
            let key = message.deduplication_key.as_deref();
            let first = key.map_or(index, |key| *firsts.entry(key).or_insert(index));
            let fate = if first < index {
                Fate::Repeats(first)
            } else {
                Fate::Open
            };
            entries.push(Entry::new(message, fate));
        }
        let mut work = Self {
            names: outbox.names(),
            dialect,
            entries,
            chunk: 0..0,
            stage: Stage::Tie,
            all_new: true,
        };
        work.advance();
        Ok(work)
    }

    /// What is left for whoever runs the statements by hand.
    pub(super) fn by_hand(&self) -> Statements<'a> {
        Statements {
            deduplication: self.wants().then(|| self.remember()),
            message: self.insert(),
        }
    }

    fn advance(&mut self) {
        self.stage = match self.stage {
            Stage::Remember => Stage::Recall,
            Stage::Recall => Stage::Insert,
            Stage::Insert => Stage::Number,
            Stage::Number => Stage::Tie,
            Stage::Tie if self.chunk.end < self.entries.len() => {
                self.chunk = self.next_chunk();
                self.all_new = true;
                Stage::Remember
            }
            Stage::Tie | Stage::Done => Stage::Done,
        };
    }

    /// Whether the stage has anything to ask.
    fn wants(&self) -> bool {
        let keyed = |entry: &Entry<'_>| entry.key().is_some();
        match self.stage {
            Stage::Remember => self.open().any(keyed),
            Stage::Recall => !self.all_new && self.open().any(keyed),
            Stage::Insert => self.open().next().is_some(),
            Stage::Number => self.dialect == Dialect::Mysql && self.open().next().is_some(),
            Stage::Tie => self.entries[self.chunk.clone()]
                .iter()
                .any(|entry| keyed(entry) && matches!(entry.fate, Fate::Inserted(_))),
            Stage::Done => false,
        }
    }

    fn next_chunk(&self) -> Range<usize> {
        let start = self.chunk.end;
        let mut bytes = 0;
        let count = self.entries[start..]
            .iter()
            .take(limits::ENQUEUE_BATCH)
            .take_while(|entry| {
                let first = bytes == 0;
                bytes += 1 + entry.weight();
                first || bytes <= limits::ENQUEUE_BATCH_BYTES
            })
            .count();
        start..start + count
    }

    fn open(&self) -> impl Iterator<Item = &Entry<'a>> {
        self.entries[self.chunk.clone()]
            .iter()
            .filter(|entry| entry.fate == Fate::Open)
    }

    /// The keys in an order that all writers share, so that two of them do not wait for each other.
    fn open_keys(&self) -> Vec<(&'a str, i64)> {
        let mut keys: Vec<_> = self
            .open()
            .filter_map(|entry| Some((entry.key()?, entry.salt)))
            .collect();
        keys.sort_unstable();
        keys
    }

    fn remember(&self) -> Statement<'a> {
        let keys = self.open_keys();
        let parameters = keys
            .iter()
            .flat_map(|&(key, salt)| [Parameter::text(key), Parameter::integer(salt)])
            .collect();
        let text = statement_of!(self.dialect, "remember.sql");
        self.statement(text, keys.len(), parameters, Returns::Count)
    }

    fn recall(&self) -> Statement<'a> {
        let keys = self.open_keys();
        let parameters = keys.iter().map(|&(key, _)| Parameter::text(key)).collect();
        let text = statement_of!(self.dialect, "recall.sql");
        self.statement(text, keys.len(), parameters, Returns::Keys)
    }

    fn insert(&self) -> Statement<'a> {
        let parameters: Vec<_> = self.open().flat_map(Entry::columns).collect();
        let returns = if self.dialect == Dialect::Mysql {
            Returns::Count
        } else {
            Returns::Numbers
        };
        let text = statement_of!(self.dialect, "insert.sql");
        self.statement(text, self.open().count(), parameters, returns)
    }

    /// Only MySQL leaves rows without a number after their insert.
    fn number(&self) -> Statement<'a> {
        let count = self.open().count();
        let parameters = vec![Parameter::integer(count as i64)];
        let text = include_str!("sql/mysql/number.sql");
        Statement {
            usual: true,
            ..self.statement(text, count, parameters, Returns::Numbers)
        }
    }

    fn tie(&self) -> Statement<'a> {
        let mut ties: Vec<(&'a str, i64, i64)> = self.entries[self.chunk.clone()]
            .iter()
            .filter_map(|entry| match (entry.key(), entry.fate) {
                (Some(key), Fate::Inserted(number)) => Some((key, number, entry.salt)),
                _ => None,
            })
            .collect();
        ties.sort_unstable();
        let parameters = ties
            .iter()
            .flat_map(|&(key, number, salt)| {
                [
                    Parameter::text(key),
                    Parameter::integer(number),
                    Parameter::integer(salt),
                ]
            })
            .collect();
        let text = statement_of!(self.dialect, "tie.sql");
        self.statement(text, ties.len(), parameters, Returns::Count)
    }

    fn statement(
        &self,
        text: &str,
        count: usize,
        parameters: Vec<Parameter<'a>>,
        returns: Returns,
    ) -> Statement<'a> {
        Statement {
            sql: self.dialect.write(self.names, text, count),
            parameters,
            returns,
            usual: count == 1,
        }
    }

    /// Which keys of the chunk are new: those that hold the salt that this call gave them, and no number yet.
    fn hear_keys(&mut self, rows: Vec<Row>) -> Result<(), StoreError> {
        let mut known: HashMap<String, (i64, i64)> = rows
            .into_iter()
            .filter_map(|row| Some((row.deduplication_key?, (row.number, row.salt))))
            .collect();
        for entry in &mut self.entries[self.chunk.clone()] {
            let (Some(key), Fate::Open) = (entry.key(), entry.fate) else {
                continue;
            };
            let Some((number, salt)) = known.remove(key) else {
                let what = "a de-duplication key was forgotten at this very moment";
                return Err(StoreError::new(StoreErrorKind::Busy, what).next("run the transaction again"));
            };
            if (number, salt) != (0, entry.salt) {
                let id = (number != 0).then(|| MessageId::new(number, salt));
                entry.fate = Fate::Duplicate(id);
            }
        }
        Ok(())
    }

    /// By the salt, because no database promises the order of the rows that it returns.
    fn hear_numbers(&mut self, rows: &[Row]) {
        let numbers: HashMap<i64, i64> = rows.iter().map(|row| (row.salt, row.number)).collect();
        for entry in &mut self.entries[self.chunk.clone()] {
            if let (Fate::Open, Some(&number)) = (entry.fate, numbers.get(&entry.salt)) {
                entry.fate = Fate::Inserted(number);
            }
        }
    }

    fn hear_inserted(&mut self, number: Option<i64>) {
        let mut open = self.entries[self.chunk.clone()]
            .iter_mut()
            .filter(|entry| entry.fate == Fate::Open);
        if let (Some(entry), None, Some(number)) = (open.next(), open.next(), number) {
            entry.fate = Fate::Inserted(number);
        }
    }

    fn enqueued(&self, index: usize) -> Result<Enqueued, EnqueueError> {
        let entry = &self.entries[index];
        match entry.fate {
            Fate::Inserted(number) => Ok(Enqueued::New(MessageId::new(number, entry.salt))),
            Fate::Duplicate(id) => Ok(Enqueued::Duplicate(id)),
            Fate::Repeats(first) => Ok(Enqueued::Duplicate(self.enqueued(first)?.id())),
            Fate::Open => {
                let what = "the database did not tell the number of a row that it inserted";
                let next = "roll the transaction back; a trigger on the outbox may have removed the row";
                Err(StoreError::new(StoreErrorKind::Other, what).next(next).into())
            }
        }
    }
}

impl Job for Work<'_> {
    type Outcome = Vec<Enqueued>;
    type Error = EnqueueError;

    fn next(&mut self) -> Option<Statement<'_>> {
        while self.stage != Stage::Done && !self.wants() {
            self.advance();
        }
        match self.stage {
            Stage::Remember => Some(self.remember()),
            Stage::Recall => Some(self.recall()),
            Stage::Insert => Some(self.insert()),
            Stage::Number => Some(self.number()),
            Stage::Tie => Some(self.tie()),
            Stage::Done => None,
        }
    }

    fn hear(&mut self, answer: Answer) -> Result<(), StoreError> {
        match self.stage {
            Stage::Remember => self.all_new = answer.changed == self.open_keys().len() as u64,
            Stage::Recall => self.hear_keys(answer.rows)?,
            Stage::Insert => {
                self.hear_numbers(&answer.rows);
                self.hear_inserted(answer.inserted);
            }
            Stage::Number => self.hear_numbers(&answer.rows),
            Stage::Tie | Stage::Done => {}
        }
        self.advance();
        Ok(())
    }

    fn finish(self) -> Result<Vec<Enqueued>, EnqueueError> {
        (0..self.entries.len())
            .map(|index| self.enqueued(index))
            .collect()
    }
}

/// The same for one message.
pub(super) struct One<'a>(pub(super) Work<'a>);

impl Job for One<'_> {
    type Outcome = Enqueued;
    type Error = EnqueueError;

    fn next(&mut self) -> Option<Statement<'_>> {
        self.0.next()
    }

    fn hear(&mut self, answer: Answer) -> Result<(), StoreError> {
        self.0.hear(answer)
    }

    fn finish(self) -> Result<Enqueued, EnqueueError> {
        self.0.enqueued(0)
    }
}
