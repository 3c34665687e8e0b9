//! The program: see the library of the same name.

fn main() -> std::process::ExitCode {
    tenbin::main()
}
