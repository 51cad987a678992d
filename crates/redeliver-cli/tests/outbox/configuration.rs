//! What docs/configuration.md says, against the program.

use crate::bench::Folder;

const PAGE: &str = include_str!("../../../../docs/configuration.md");

#[test]
fn the_example_is_taken_as_it_stands() {
    let folder = Folder::new();
    let example = PAGE.split("```toml\n").nth(1).unwrap();
    folder.write("redeliver.toml", example.split("```").next().unwrap());
    let mut command = folder.command(&["serve", "--until-empty", "--for", "2m", "--json"]);
    let output = command.env("BILLING_TOKEN", "123").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(
        told.contains(r#""destinations":["billing","log","search"]"#),
        "{told}"
    );
    assert!(folder.0.join("shop.db").exists());
}

/// The error that names what is allowed tells every setting that there is.
#[test]
fn every_setting_is_on_the_page() {
    let folder = Folder::new();
    for (text, heading) in [
        ("nonsense = 1", "## At the top"),
        ("[relay]\nnonsense = 1", "## `[relay]`"),
        ("[server]\nnonsense = 1", "## `[server]`"),
        ("[retention]\nnonsense = 1", "## `[retention]`"),
        ("[telemetry]\nnonsense = 1", "## `[telemetry]`"),
        (
            "[destinations.a]\ntype = \"http\"\nnonsense = 1",
            "## `[destinations.NAME]`",
        ),
        ("[import.a]\nnonsense = 1", "## `[import.NAME]`"),
        (
            "[destinations.a]\ntype = \"log\"\nmanners = { nonsense = 1 }",
            "## `[destinations.NAME.manners]`",
        ),
        (
            "[destinations.a]\ntype = \"log\"\npolicy = { nonsense = 1 }",
            "## `policy`",
        ),
    ] {
        folder.write("redeliver.toml", text);
        let ran = folder.run(&["status"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let allowed = ran.err.split("allowed are ").nth(1).unwrap();
        let section = PAGE.split(heading).nth(1).unwrap();
        let section = section.split("\n## ").next().unwrap();
        let told: Vec<&str> = section
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
            .collect();
        let mut count = 0;
        for setting in allowed.trim().split(", ") {
            assert!(told.contains(&setting), "{heading} lacks {setting}: {told:?}");
            count += 1;
        }
        assert!(count > 2, "{allowed}");
    }
}

/// What editors are told: every setting of the page and no other, and an example that fits.
#[test]
fn the_schema_knows_every_setting() {
    let folder = Folder::new();
    let schema: serde_json::Value =
        serde_json::from_str(&folder.run(&["config", "--schema"]).done().out).unwrap();
    let destination = "/properties/destinations/additionalProperties/properties";
    for (heading, place) in [
        ("## At the top", "/properties"),
        ("## `[relay]`", "/properties/relay/properties"),
        ("## `[server]`", "/properties/server/properties"),
        ("## `[telemetry]`", "/properties/telemetry/properties"),
        ("## `[retention]`", "/properties/retention/properties"),
        ("## `[destinations.NAME]`", destination),
        ("## `[destinations.NAME.manners]`", "/$defs/manners/properties"),
        (
            "## `[import.NAME]`",
            "/properties/import/additionalProperties/properties",
        ),
        ("## `policy`", "/$defs/policy/properties"),
    ] {
        let properties = schema.pointer(place).unwrap().as_object().unwrap();
        let section = PAGE.split(heading).nth(1).unwrap().split("\n## ").next().unwrap();
        // The presets have a table of their own, before the settings'.
        let section = section.rsplit("| setting |").next().unwrap().to_owned()
            + section.split("Only with `type").next().unwrap_or_default();
        for name in properties.keys() {
            assert!(
                section.contains(&format!("| `{name}` |")),
                "{heading} lacks {name}"
            );
        }
        let told: Vec<&str> = section
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
            .filter(|name| !PRESETS.contains(name))
            .collect();
        assert!(told.len() > 2, "{heading}: {told:?}");
        for name in told {
            assert!(
                properties.contains_key(name),
                "the schema lacks {name} of {heading}"
            );
        }
    }
}

const PRESETS: [&str; 8] = [
    "interactive",
    "standard",
    "batch",
    "reconnect",
    "aws-standard",
    "grpc",
    "finagle",
    "delivery",
];

#[test]
fn the_reference_is_a_configuration() {
    let folder = Folder::new();
    let reference = folder.run(&["config"]).done().out;
    folder.write("redeliver.toml", &reference);
    // The database that it names is made first; then everything in it is taken as it stands.
    folder.run(&["migrate"]).done();
    folder.run(&["status"]).done();
}

/// The flag goes before the variable, and the variable before the file, wherever each of them has the address from.
#[test]
fn the_databases_address_can_be_elsewhere_whoever_names_it() {
    let folder = Folder::new();
    folder.write("redeliver.toml", "database = { env = \"IN_THE_FILE\" }\n");
    folder.write("secret", "sqlite://secret.db\n");
    for (variable, flag, made) in [
        ("", None, "file.db"),
        ("sqlite://plain.db", None, "plain.db"),
        ("$ELSEWHERE", None, "elsewhere.db"),
        ("{ env = \"ELSEWHERE\" }", None, "elsewhere.db"),
        ("{ file = \"secret\" }", None, "secret.db"),
        ("{ file = \"secret\" }", Some("sqlite://flag.db"), "flag.db"),
        ("sqlite://plain.db", Some("sqlite://plain.db"), "plain.db"),
    ] {
        let mut command = folder.command(&["migrate"]);
        if let Some(flag) = flag {
            command.args(["--database", flag]);
        }
        let output = command
            .env("REDELIVER_DATABASE", variable)
            .env("IN_THE_FILE", "sqlite://file.db")
            .env("ELSEWHERE", "sqlite://elsewhere.db")
            .output()
            .unwrap();
        assert!(output.status.success(), "{variable} {flag:?}: {output:?}");
        let made = folder.0.join(made);
        assert!(made.exists(), "{variable} {flag:?}: {output:?}");
        std::fs::remove_file(made).unwrap();
    }
    let left: Vec<_> = std::fs::read_dir(&folder.0)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_string_lossy().ends_with(".db"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
