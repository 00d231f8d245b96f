//! The address by which the library and the recorder meet. `collapse::perf_data` has this file as well.

/// The address of the breakpoint. It is below what other tools and run times map at fixed addresses, and above
/// all programs that are not position-independent.
pub(crate) const TRIGGER: u64 = 0x27_5a5a_0000;
