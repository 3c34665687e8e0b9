//! What `boot check` is asked.

use std::path::PathBuf;

use clap::Args;
use tenbin_boot::GivenControl;
use tenbin_boot::request::{BootHarts, Counts, Expected, Models, Place, Request, Setting, Size, Span};

use super::Form;

/// The heading of the options that name places.
const PLACES: &str =
    "What places mean (SYMBOL, SYMBOL+DISTANCE or address; without the option, the symbol of its name)";

/// The heading of the options that say what the machine is.
const MACHINES: &str = "On which machines";

/// Which firmware, on which machines, and what its places mean.
#[derive(Args, Clone, Debug)]
pub struct Check {
    /// Executables for RV64, as they are loaded; each is examined on every machine
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// How many harts, 1 to 8; 2,3 if the file has a word `harts` that says it, which is then set
    #[arg(long, value_name = "LIST", help_heading = MACHINES)]
    pub harts: Option<Counts>,
    /// Which hart boots, by the word `boot_hart`: some (0,1), all in turn, or any: the word is left as it is,
    /// as where there is none
    #[arg(long, value_name = "LIST|all|any", help_heading = MACHINES)]
    pub boot_hart: Option<BootHarts>,
    /// How memory orders accesses: sequential consistency, total store order, RISC-V's own, or each of them
    #[arg(long, value_name = "sc,tso,rvwmo|all", default_value = "all", help_heading = MACHINES)]
    pub memory: Models,
    /// How many instructions of a hart may be begun and not performed
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64), help_heading = MACHINES)]
    pub window: u32,
    /// Set a word that the file holds; its size is that of the symbol, else 8, else BYTES
    #[arg(long, value_name = "PLACE[:BYTES]=VALUE", help_heading = MACHINES)]
    pub set: Vec<Setting>,
    /// What a control and status register of every hart holds at first, as misa=0x8000000000141105: of most
    /// the architecture says nothing
    #[arg(long, value_name = "NAME=VALUE", help_heading = MACHINES)]
    pub csr: Vec<GivenControl>,
    /// Memory that the file does not name, and the end behind it: stacks, a device tree. It is garbage at
    /// first
    #[arg(long, value_name = "PLACE,PLACE", num_args = 1, help_heading = MACHINES)]
    pub ram: Vec<Span>,
    /// The goal of every hart but the boot hart
    #[arg(long, value_name = "PLACE,...", value_delimiter = ',', help_heading = PLACES)]
    pub arrived: Vec<Place>,
    /// The goal of the boot hart; that of the others where neither option nor symbol is there
    #[arg(long, value_name = "PLACE,...", value_delimiter = ',', help_heading = PLACES)]
    pub all_arrived: Vec<Place>,
    /// Who comes here is the boot hart
    #[arg(long, value_name = "PLACE", help_heading = PLACES)]
    pub primary: Option<Place>,
    /// Who comes here starts, and must have been told
    #[arg(long, value_name = "PLACE", help_heading = PLACES)]
    pub started: Option<Place>,
    /// The next store from here tells the hart whose number is in a0
    #[arg(long, value_name = "PLACE,...", value_delimiter = ',', help_heading = PLACES)]
    pub tell: Vec<Place>,
    /// The next store from here tells all harts
    #[arg(long, value_name = "PLACE,...", value_delimiter = ',', help_heading = PLACES)]
    pub tell_all: Vec<Place>,
    /// From here on memory is clear
    #[arg(long, value_name = "PLACE", help_heading = PLACES)]
    pub cleared: Option<Place>,
    /// The memory that is to be cleared, and the end behind it; bss_start and bss_end if not given
    #[arg(long, value_name = "PLACE,PLACE", num_args = 1, help_heading = PLACES)]
    pub bss: Option<Span>,
    /// What a register holds when a hart arrives, as a1=0x100+hart or sp=stacks+64*hart; `none`: nothing that
    /// the symbols stacks, stack_size and argument would say
    #[arg(long, value_name = "REGISTER=SUM", help_heading = PLACES)]
    pub expect: Vec<Expected>,
    /// How much memory all of it may take; a machine that its share is too small for is tried again alone
    #[arg(long, value_name = "BYTES", default_value = "4GiB")]
    pub limit: Size,
    /// How long one machine may take
    #[arg(long, value_name = "N", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=604_800))]
    pub seconds: u64,
    /// Draw the first run that goes wrong, as SVG
    #[arg(long, value_name = "FILE")]
    pub picture: Option<PathBuf>,
    #[command(flatten)]
    pub form: Form,
}

impl Check {
    /// What is asked about each file.
    pub fn request(&self) -> Request {
        let Self {
            harts,
            boot_hart,
            memory,
            window,
            set,
            csr,
            ram,
            arrived,
            all_arrived,
            primary,
            started,
            tell,
            tell_all,
            cleared,
            bss,
            expect,
            ..
        } = self.clone();
        Request {
            harts,
            boot_hart,
            memory,
            window,
            set,
            csr,
            ram,
            arrived,
            all_arrived,
            primary,
            started,
            tell,
            tell_all,
            cleared,
            bss,
            expect,
        }
    }
}
