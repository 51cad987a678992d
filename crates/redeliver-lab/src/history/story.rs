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
        let concerns = |disturbance: &&Disturbance| {
            disturbance.from <= end.saturating_add(self.lease) && disturbance.until >= begin
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
