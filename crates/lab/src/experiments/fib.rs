//! `fib`: which way to a Fibonacci number is cheap, in user mode and in the kernel?

mod described;
mod device;
mod kernel;
mod oracle;
mod published;
mod readings;
mod soak;
mod user;

use tenbin_model::words::comma;

use crate::experiment::{Aspect, Experiment, Plan, Request, Unfit};

use described::describe;

const WHERE: [&str; 2] = ["user", "kernel"];

/// What only the driver can be asked for.
const OF_THE_KERNEL: [&str; 3] = ["readers", "seconds", "traced"];

fn plan(request: &Request<'_>) -> Result<Plan, Unfit> {
    let known = |place: &String| WHERE.contains(&place.as_str());
    let place =
        request.settings.one("where", WHERE[0].to_owned(), &format!("one of {}", comma(WHERE)), known)?;
    if place == WHERE[1] {
        return of_the_driver(request);
    }
    match OF_THE_KERNEL.iter().find(|key| request.settings.given(key).is_some()) {
        Some(key) => {
            Err(Unfit::Usage(format!("--set {key}: it asks the driver, so it needs --set where=kernel")))
        }
        None => user::plan(request),
    }
}

fn of_the_driver(request: &Request<'_>) -> Result<Plan, Unfit> {
    let soak = soak::Soak::asked(request)?;
    readings::traced(request)?;
    let largest = kernel::largest(request)?;
    match soak {
        Some(soak) => Ok(soak.plan(request)),
        None => Ok(Plan { look: Some(readings::findings), ..kernel::plan(request, largest)? }),
    }
}

/// The fib experiment.
pub const EXPERIMENT: Experiment<'static> = Experiment {
    published: published::TABLES,
    formats: published::FORMATS,
    ..Experiment::new(&describe, &plan).depends_on(&[Aspect::Calls, Aspect::Memory])
};

#[cfg(test)]
mod tests;
