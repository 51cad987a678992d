//! The image and the unit, as far as they can be read.

const IMAGE: &str = include_str!("../../../../Dockerfile");
const UNIT: &str = include_str!("../../../../contrib/redeliver.service");

#[test]
fn the_image_leaves_the_database_to_the_configuration() {
    let variables: Vec<&str> = IMAGE
        .lines()
        .filter_map(|line| line.strip_prefix("ENV "))
        .flat_map(str::split_whitespace)
        .collect();
    assert_eq!(variables, ["REDELIVER_LISTEN=0.0.0.0:8420"]);
    assert!(IMAGE.contains("\nWORKDIR /data\n"), "the usual file is there");
}

/// The client for a collector of spans is not made without any.
#[test]
fn the_image_has_the_systems_authorities() {
    const BUNDLE: &str = "/etc/ssl/certs/ca-certificates.crt";
    let (build, image) = IMAGE.split_once("\nFROM debian").unwrap();
    assert!(build.contains(" ca-certificates "), "{build}");
    assert!(
        image.contains(&format!("COPY --from=build {BUNDLE} {BUNDLE}\n")),
        "{image}"
    );
}

#[test]
fn the_unit_says_how_it_shares_a_file_with_an_application() {
    let sqlite = UNIT.split("# For SQLite").nth(1).unwrap();
    for setting in ["\n#User=", "\n#Group=", "\n#ReadWritePaths="] {
        assert!(sqlite.contains(setting), "{setting}: {sqlite}");
    }
    assert!(UNIT.contains("\nDynamicUser=yes\n"));
}
