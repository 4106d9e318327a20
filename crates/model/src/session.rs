//! How a session stands.

use crate::names::named;

named! { "status of a session":
    /// How a session stands, or how it ended.
    pub enum SessionStatus {
        Active = "active",
        Completed = "completed",
        Crashed = "crashed",
        Terminated = "terminated",
    }
}
