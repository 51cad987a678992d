//! Where people and programs look in, and who may do what there: the table `[server]`.

use std::{fmt, net::SocketAddr};

use super::{
    error::ConfigError,
    section::{Field, Section},
};

/// The fewest bytes of a token. Shorter ones can be tried out.
const TOKEN_LEAST: usize = 16;
/// The most bytes of a token: more than any header that a server takes.
const TOKEN_MOST: usize = 512;

/// The API and the dashboard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerSettings {
    /// Where it listens; none if the file does not say.
    pub listen: Option<Listen>,
    /// The names that it answers to, besides `localhost` and any address of digits.
    pub hosts: Vec<String>,
    /// Who may use it; nobody is asked for a token if there is none.
    pub tokens: Vec<Token>,
}

/// Where a server listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listen {
    /// Nowhere.
    Off,
    /// At this address. Port 0 is any that is free.
    At(SocketAddr),
}

/// What whoever knows it may do.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    /// Whose it is, as the audit trail tells it.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// What they send.
    pub secret: String,
}

/// What somebody may do. Each may do what the ones before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Look.
    Read,
    /// Look, enqueue, edit, redrive, discard, pause and resume.
    Operate,
}

impl Role {
    /// The word in the file and in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Operate => "operate",
        }
    }
}

/// Without the secret.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("name", &self.name)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

/// What cannot be listened at.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be an address and a port, such as 127.0.0.1:8420, or off")]
pub struct NoListen;

impl std::str::FromStr for Listen {
    type Err = NoListen;

    fn from_str(text: &str) -> Result<Self, NoListen> {
        if text == "off" {
            return Ok(Self::Off);
        }
        let address = match text.strip_prefix("localhost:") {
            Some(port) => format!("127.0.0.1:{port}").parse(),
            None => text.parse(),
        };
        address.map(Self::At).map_err(|_| NoListen)
    }
}

pub(super) fn server(section: Option<Section<'_, '_>>) -> Result<ServerSettings, ConfigError> {
    let mut server = ServerSettings::default();
    let Some(section) = section else {
        return Ok(server);
    };
    section.only(&["listen", "hosts", "tokens"])?;
    for (name, field) in section.fields() {
        match name {
            "listen" => {
                let listen = field.text()?.parse();
                server.listen = Some(listen.map_err(|error: NoListen| field.refuse(error.to_string()))?);
            }
            "hosts" => server.hosts = field.items()?.map(|item| host(&item)).collect::<Result<_, _>>()?,
            _ => server.tokens = tokens(&field.section()?)?,
        }
    }
    Ok(server)
}

/// A name without a port: it is answered to on whatever port it is called at.
fn host(field: &Field<'_, '_>) -> Result<String, ConfigError> {
    let name = field.text()?;
    let plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    match plain && (1..=253).contains(&name.len()) {
        true => Ok(name.to_ascii_lowercase()),
        false => Err(field.instead("the name of a host, such as \"redeliver.example.com\", without a port")),
    }
}

fn tokens(section: &Section<'_, '_>) -> Result<Vec<Token>, ConfigError> {
    let mut tokens: Vec<Token> = Vec::new();
    for (name, field) in section.fields() {
        let table = field.section()?;
        table.only(&["secret", "role"])?;
        if name.is_empty() || name.len() > 80 || name.chars().any(char::is_control) {
            return Err(field.refuse("must be named by 1 to 80 bytes without control characters"));
        }
        let secret = table.require("secret", "what is sent as `Authorization: Bearer …`")?;
        let given = secret.secret()?;
        let sendable = given.bytes().all(|byte| byte.is_ascii_graphic());
        if !sendable || !(TOKEN_LEAST..=TOKEN_MOST).contains(&given.len()) {
            return Err(secret.refuse(format!(
                "must have {TOKEN_LEAST} to {TOKEN_MOST} letters, digits and signs of ASCII; `openssl rand -hex 24` makes one"
            )));
        }
        if tokens.iter().any(|token| token.secret == given) {
            return Err(
                secret.refuse("is the secret of another token too: then nobody can say who did something")
            );
        }
        let role = match table
            .require("role", "read or operate")?
            .word(&["read", "operate"])?
        {
            "read" => Role::Read,
            _ => Role::Operate,
        };
        tokens.push(Token {
            name: name.to_owned(),
            role,
            secret: given,
        });
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Config;

    fn parsed(text: &str) -> Result<ServerSettings, String> {
        let config = Config::parse(text, Path::new("redeliver.toml"), &|_| None);
        config
            .map(|config| config.server)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn everything_that_can_be_said() {
        let server = parsed(
            "[server]\nlisten = \"0.0.0.0:8420\"\nhosts = [\"Redeliver.example.com\"]\n[server.tokens]\n\
             alice = { secret = \"0123456789abcdef\", role = \"operate\" }\ngrafana = { secret = \"fedcba9876543210\", role = \"read\" }",
        )
        .unwrap();
        assert_eq!(server.listen, Some(Listen::At(([0, 0, 0, 0], 8420).into())));
        assert_eq!(server.hosts, ["redeliver.example.com"]);
        let roles: Vec<(&str, Role)> = server
            .tokens
            .iter()
            .map(|token| (&*token.name, token.role))
            .collect();
        assert_eq!(roles, [("alice", Role::Operate), ("grafana", Role::Read)]);
        assert!(!format!("{server:?}").contains("0123456789abcdef"));
        assert_eq!(
            parsed("[server]\nlisten = \"off\"").unwrap().listen,
            Some(Listen::Off)
        );
        assert_eq!(
            parsed("[server]\nlisten = \"localhost:0\"").unwrap().listen,
            Some(Listen::At(([127, 0, 0, 1], 0).into()))
        );
    }

    #[test]
    fn what_is_wrong_is_named_and_never_shown() {
        for (text, part) in [
            ("[server]\nlisten = \"here\"", "server.listen"),
            ("[server]\nlisten = 8420", "server.listen"),
            ("[server]\nhosts = [\"a.b:80\"]", "without a port"),
            ("[server]\ntoken = \"x\"", "tokens"),
            ("[server.tokens.a]\nrole = \"read\"", "server.tokens.a.secret"),
            (
                "[server.tokens.a]\nsecret = \"short-secret\"\nrole = \"read\"",
                "16 to 512",
            ),
            (
                "[server.tokens.a]\nsecret = \"0123456789abcdef\"\nrole = \"root\"",
                "read, operate",
            ),
            (
                "[server.tokens]\na = { secret = \"0123456789abcdef\", role = \"read\" }\nb = { secret = \"0123456789abcdef\", role = \"read\" }",
                "another token",
            ),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
            assert!(
                !error.contains("short-secret") && !error.contains("0123456789"),
                "{error}"
            );
        }
    }
}
