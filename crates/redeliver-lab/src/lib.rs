//! Placeholder, replaced within this change.
