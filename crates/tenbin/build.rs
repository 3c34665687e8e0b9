//! A build script: writes the lists of verbs.

#[path = "../lab/lists.rs"]
mod lists;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    lists::write(&[
        ["src/verbs/mod.rs", "VERBS", "&[Verb]", "*::VERB"],
        ["src/verbs/guest/mod.rs", "GUEST", "&[Verb]", "*::VERB"],
        ["src/verbs/boot/mod.rs", "BOOT", "&[Verb]", "*::VERB"],
    ])
}
