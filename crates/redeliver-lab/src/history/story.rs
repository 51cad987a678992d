use super::{Disturbance, History, Micros, Ticket};

impl History {
    /// What happened to one message and, meanwhile, to the relays that had it, line by line.
    #[must_use]
    pub fn story(&self, ticket: Ticket) -> Vec<String> {
        let mut lines: Vec<(Micros, String)> = Vec::new();
        if let Some(message) = self.messages.get(&ticket) {
            let end = if message.committed {
                "committed"
            } else {
                "rolled back"
            };
            let lane = message.key.as_deref().unwrap_or("no key");
            lines.push((
                message.ended_at,
                format!(
                    "{end} for {} ({lane}), to be {:?}",
                    message.destination, message.fate
                ),
            ));
        }
        let arrivals: Vec<_> = self
            .arrivals
            .iter()
            .filter(|arrival| arrival.ticket == ticket)
            .collect();
        for arrival in &arrivals {
            let what = format!(
                "arrives from run {} as {}, attempt {}: {:?} until {}",
                arrival.relay,
                arrival.id,
                arrival.attempt,
                arrival.answer,
                seconds(arrival.answered_at)
            );
            lines.push((arrival.at, what));
        }
        let (begin, end) = (
            lines.iter().map(|line| line.0).min().unwrap_or(0),
            lines.iter().map(|line| line.0).max().unwrap_or(Micros::MAX),
        );
        // What befell the relays that had it, and what befell others around that time. A kill lasts, but only its moment is news.
        let concerns = |disturbance: &&Disturbance| {
            let its_relay = |run| arrivals.iter().any(|arrival| arrival.relay == run);
            let ended = match disturbance.until {
                Micros::MAX => disturbance.from,
                until => until,
            };
            disturbance.relay.is_some_and(its_relay)
                || (disturbance.from <= end.saturating_add(self.lease)
                    && ended.saturating_add(self.lease) >= begin)
        };
        for disturbance in self.disturbances.iter().filter(concerns) {
            let whom = match disturbance.relay {
                Some(run) => format!("run {run}"),
                None => "everyone".to_owned(),
            };
            let until = match disturbance.until {
                Micros::MAX => "for good".to_owned(),
                until => format!("until {}", seconds(until)),
            };
            lines.push((
                disturbance.from,
                format!("{} of {whom} {until}", disturbance.kind),
            ));
        }
        lines.sort();
        let mut story: Vec<String> = lines
            .into_iter()
            .map(|(at, what)| format!("{}  {what}", seconds(at)))
            .collect();
        for row in self.rows.iter().filter(|row| row.ticket == Some(ticket)) {
            let logged = self.log.iter().filter(|attempt| attempt.number == row.number);
            let logged: Vec<String> = logged
                .map(|attempt| format!("{} {}", attempt.attempt, attempt.class))
                .collect();
            story.push(format!(
                "  at the end  row {} in shard {}: {} after {} attempts {}; log: {logged:?}",
                row.number,
                row.shard,
                row.status,
                row.attempts,
                row.reason.as_deref().unwrap_or("")
            ));
        }
        story
    }
}

fn seconds(at: Micros) -> String {
    format!("{:>5}.{:06}", at / 1_000_000, at % 1_000_000)
}

#[cfg(test)]
mod tests {
    use crate::history::{Disturbance, DisturbanceKind, checks::example::sent};

    #[test]
    fn a_story_tells_what_concerns_the_message_and_nothing_else() {
        let mut history = sent(1);
        let kill = |relay, from| Disturbance {
            kind: DisturbanceKind::Kill,
            relay: Some(relay),
            from,
            until: u64::MAX,
        };
        history.arrivals[0].at = 50_000_000;
        history.messages.get_mut(&1).unwrap().ended_at = 49_000_000;
        history.disturbances = vec![kill(7, 5), kill(8, 49_500_000), kill(1, 90_000_000)];
        let story = history.story(1).join("\n");
        assert!(
            story.contains("kill of run 8 for good") && story.contains("kill of run 1"),
            "{story}"
        );
        assert!(!story.contains("run 7"), "{story}");
        assert!(
            story.contains("committed") && story.contains("attempt 1: Accepted"),
            "{story}"
        );
        assert!(story.contains("sent after 1 attempts"), "{story}");
    }
}
