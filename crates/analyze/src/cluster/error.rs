//! Why hosts could not be added up.

/// Why hosts could not be added up.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// One host was measured twice at the same time: a copy, or two machines of one name.
    #[error(
        "{first} and {second} both say that they are host {host} at the same time; take the copy away, or, if they are \
         two machines, name their directories host=NAME"
    )]
    SameHost {
        /// The name.
        host: String,
        /// One recording,
        first: String,
        /// and the other.
        second: String,
    },
    /// What a host sent is no summary.
    #[error(
        "the summary of a host cannot be read ({why}); use the same version of anechoic on all hosts"
    )]
    Unreadable {
        /// Why not.
        why: String,
    },
    /// There was nothing to add up.
    #[error("no host could be read; name a directory with a recording of each host")]
    Nothing,
}
