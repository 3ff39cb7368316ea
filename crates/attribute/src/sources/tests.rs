//! Tests of the table of sources.
