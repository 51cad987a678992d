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
        ("[retention]\nnonsense = 1", "## `[retention]`"),
        ("[telemetry]\nnonsense = 1", "## `[telemetry]`"),
        (
            "[destinations.a]\ntype = \"http\"\nnonsense = 1",
            "## `[destinations.NAME]`",
        ),
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
        assert!(count > 3, "{allowed}");
    }
}
