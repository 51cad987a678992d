//! Going on by a configuration that was changed.

use super::{
    super::database::{DatabaseFlags, Outbox},
    Serving,
};

impl Serving {
    /// Reads the configuration again. One that makes no sense changes nothing.
    pub(super) async fn reload(&mut self, flags: &DatabaseFlags) {
        let mut settings = match flags.settings() {
            Ok(settings) => settings,
            Err(error) => return self.telling.not_reloaded(&error.to_string()),
        };
        if let Err(error) = self.desk.check(&settings.server) {
            return self.telling.not_reloaded(&error.to_string());
        }
        let old = &self.outbox.settings;
        let mut later = Vec::new();
        for (name, differs) in [
            ("database", settings.database != old.database),
            ("schema and prefix", settings.names != old.names),
            ("relay.history", settings.relay.kept() != old.relay.kept()),
            ("server.listen", settings.server.listen != old.server.listen),
            ("telemetry", settings.telemetry != old.telemetry),
        ] {
            if differs {
                later.push(name);
            }
        }
        settings.database.clone_from(&old.database);
        settings.names = old.names.clone();
        let outbox = Outbox::new(settings, self.outbox.opened.clone());
        self.relays.follow(&outbox, &self.reader, &self.telemetry).await;
        self.desk.follow(&outbox, self.relays.counting());
        self.outbox = outbox;
        let names: Vec<&str> = self.outbox.settings.routes.iter().map(|(name, _)| name).collect();
        self.telling.reloaded(&names, &later);
    }
}
