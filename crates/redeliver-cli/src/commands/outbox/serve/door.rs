//! Where the desk is open: the API and the dashboard beside the relay.

use std::{io, net::SocketAddr, sync::Arc};

use redeliver_outbox::{
    config::{Listen, ServerSettings},
    desk::JobDesk,
};
use serde_json::json;
use tokio::{
    sync::{oneshot, watch},
    task::JoinHandle,
};

use super::{super::database::Outbox, telling::Telling};
use crate::{
    exit::BadInput,
    telemetry::Telemetry,
    web::{self, About, Counting, Guard, Listening, Metrics, Site},
};

/// Where the desk is when nobody says.
const USUAL: ([u8; 4], u16) = ([127, 0, 0, 1], 8420);

/// An address at which the desk is to be open.
#[derive(Debug)]
pub(super) struct Door {
    address: Option<SocketAddr>,
    /// Whether somebody asked for this address: then it must be had.
    asked: bool,
}

/// A desk that is open, or none.
#[derive(Debug)]
pub(super) struct OpenDesk(Option<Open>);

#[derive(Debug)]
struct Open {
    address: SocketAddr,
    url: String,
    /// Whether it was told where it is.
    told: bool,
    /// What answers, once there is an outbox; another one after the configuration was changed.
    site: watch::Sender<Option<Arc<Site>>>,
    end: oneshot::Sender<()>,
    answering: JoinHandle<()>,
}

impl Door {
    /// The flag goes before the file. A relay that only empties the outbox is gone before anybody could look.
    pub(super) fn choose(
        flag: Option<Listen>,
        passing: bool,
        server: &ServerSettings,
    ) -> Result<Self, BadInput> {
        let asked = flag.or(server.listen.filter(|_| !passing));
        let address = match asked {
            Some(Listen::Off) => None,
            Some(Listen::At(address)) => Some(address),
            None => (!passing).then(|| USUAL.into()),
        };
        if let Some(address) = address {
            check(address, server)?;
        }
        Ok(Self {
            address,
            asked: asked.is_some(),
        })
    }

    /// Takes the address, and answers there.
    pub(super) async fn open(self, telling: Telling) -> anyhow::Result<OpenDesk> {
        let Some(address) = self.address else {
            return Ok(OpenDesk(None));
        };
        match Listening::at(address).await {
            Ok(listening) => Ok(OpenDesk::at(listening)),
            Err(error) if self.asked => Err(not_had(address, &error)),
            Err(error) => {
                telling.no_desk(address, &taken(&error));
                Ok(OpenDesk(None))
            }
        }
    }

    /// The same for a desk that is there to be looked at: where the usual address is taken, it is at any that is free.
    pub(super) async fn open_anywhere(self) -> anyhow::Result<OpenDesk> {
        let Some(address) = self.address else {
            return Ok(OpenDesk(None));
        };
        let listening = match Listening::at(address).await {
            Err(_) if !self.asked => Listening::at(SocketAddr::new(address.ip(), 0)).await,
            listening => listening,
        };
        let listening = listening.map_err(|error| not_had(address, &error))?;
        Ok(OpenDesk::at(listening))
    }
}

impl OpenDesk {
    /// Answers at an address that is ours: until there is an outbox, that there is none yet.
    fn at(listening: Listening) -> Self {
        let site = watch::Sender::new(None);
        let (end, ended) = oneshot::channel();
        let (address, url) = (listening.address(), listening.url());
        let answering = tokio::spawn(listening.answer(web::service(site.subscribe()), async {
            // A sender that is gone says the same as one that says so.
            drop(ended.await);
        }));
        Self(Some(Open {
            address,
            url,
            told: false,
            site,
            end,
            answering,
        }))
    }

    /// Where a browser goes, if it is open anywhere.
    pub(super) fn url(&self) -> Option<&str> {
        self.0.as_ref().map(|open| open.url.as_str())
    }

    /// Tells once where it is.
    pub(super) fn tell(&mut self, telling: Telling) {
        if let Some(open) = self.0.as_mut().filter(|open| !open.told) {
            open.told = true;
            telling.note(
                &format!("dashboard and API at {}", open.url),
                &json!({ "event": "listening", "url": open.url, "address": open.address.to_string() }),
            );
        }
    }

    /// Shows this outbox from now on, beside these relays.
    pub(super) fn show(
        &self,
        outbox: &Outbox,
        desk: Arc<dyn JobDesk>,
        relays: Counting,
        telemetry: &Telemetry,
    ) {
        if let Some(open) = &self.0 {
            let guard = Guard::new(&outbox.settings.server);
            let about = about(outbox);
            let metrics = Metrics::of(relays, telemetry.counts(), &about.routes);
            let site = Site::new(desk, guard, about, metrics);
            open.site.send_replace(Some(Arc::new(site)));
        }
    }
}

fn not_had(address: SocketAddr, error: &io::Error) -> anyhow::Error {
    anyhow::anyhow!("{address} cannot be listened at: {error}; name another with --listen, or off")
}

fn about(outbox: &Outbox) -> About {
    About {
        database: outbox.address(),
        routes: outbox.settings.routes.clone(),
        inbox: outbox.settings.retention.inbox,
    }
}

/// Refuses to let other machines in without asking them who they are.
fn check(address: SocketAddr, server: &ServerSettings) -> Result<(), BadInput> {
    if address.ip().is_loopback() || !server.tokens.is_empty() {
        return Ok(());
    }
    Err(BadInput(format!(
        "listening at {address} lets other machines in, and nobody would be asked who they are: name at least one token under \
         [server.tokens] in the configuration, or listen at 127.0.0.1:{}",
        address.port()
    )))
}

fn taken(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => "somebody else listens there".to_owned(),
        _ => error.to_string(),
    }
}

impl OpenDesk {
    /// Whether these settings will do where it is open.
    pub(super) fn check(&self, server: &ServerSettings) -> Result<(), BadInput> {
        match &self.0 {
            Some(open) => check(open.address, server),
            None => Ok(()),
        }
    }

    /// Goes on by other settings, from the next request on; what was counted so far goes on, too.
    pub(super) fn follow(&self, outbox: &Outbox, relays: Counting) {
        if let Some(open) = &self.0 {
            open.site.send_modify(|site| {
                if let Some(site) = site {
                    let (guard, about) = (site.guard.renewed(&outbox.settings.server), about(outbox));
                    let metrics = site.metrics.renewed(relays, &about.routes);
                    *site = Arc::new(site.renewed(guard, about, metrics));
                }
            });
        }
    }

    /// What is under way is finished first.
    pub(super) async fn close(self) {
        if let Some(open) = self.0 {
            let _heard = open.end.send(());
            let _ended = open.answering.await;
        }
    }
}
