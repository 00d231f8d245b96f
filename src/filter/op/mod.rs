//! The operations, one idea per file.

pub(super) mod collapse;
pub(super) mod demangle;
pub(super) mod depth;
pub(super) mod ends;
pub(super) mod focus;
pub(super) mod heavy;
pub(super) mod hide;
pub(super) mod idle;
pub(super) mod kind;
pub(super) mod labels;
pub(super) mod matching;
pub(super) mod merge_threads;
pub(super) mod path;
pub(super) mod prune_from;
pub(super) mod recursion;
pub(super) mod rename;
pub(super) mod reverse;
pub(super) mod scale;
pub(super) mod show_from;
pub(super) mod squash_unknown;
pub(super) mod strip;
pub(super) mod threads;
pub(super) mod to_unit;
