//! For build scripts: writes the list of the items that the modules of a file hold, one item a module.
//!
//! A question, a workload, a contract or a verb is a file and the line that declares it. With a list written
//! by hand it would be two lines that must agree; with modules that a macro declares, rustfmt would not see
//! their files.

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;

/// Writes lists, of each: the file that declares the modules, the list's name and type, and one element,
/// where `*` stands for the module.
pub(crate) fn write(lists: &[[&str; 4]]) -> Result<(), Box<dyn Error>> {
    let (root, out) = (env::var("CARGO_MANIFEST_DIR")?, env::var("OUT_DIR")?);
    for [file, list, kind, element] in lists {
        println!("cargo::rerun-if-changed={file}");
        let source = fs::read_to_string(Path::new(&root).join(file))?;
        let elements: String =
            declared(&source).map(|module| element.replacen('*', module, 1) + ", ").collect();
        let text = format!(
            "/// All of them, in the order of the lines that declare them.\npub const {list}: {kind} = &[{elements}];\n",
        );
        fs::write(Path::new(&out).join(format!("{}.rs", list.to_lowercase())), text)?;
    }
    Ok(())
}

/// The modules that `source` declares at its top level, but for its tests.
fn declared(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(|line| {
        let (visibility, module) = line.strip_suffix(';')?.split_once("mod ")?;
        let declares = visibility.is_empty() || visibility.starts_with("pub");
        (declares && module != "tests").then_some(module)
    })
}
