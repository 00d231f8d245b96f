//! The address and the name by which the recorder of allocations, its library in the program, and the
//! reader of the recording know each other.
//!
//! It stands beside `record` and `collapse` since both have it; the library, which `build.rs` compiles by
//! itself, includes it by its path.

/// The address of the breakpoint. It is below what other tools and run times map at fixed addresses, and above
/// all programs that are not position-independent.
pub(crate) const TRIGGER: u64 = 0x27_5a5a_0000;

/// The name of the file of the library that triggers it.
pub(crate) const LIBRARY: &str = "libfg-alloc.so";
