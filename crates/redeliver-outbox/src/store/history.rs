/// What is kept of messages that arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum History {
    /// Everything, until retention forgets it.
    #[default]
    Full,
    /// Everything but the payloads.
    WithoutPayloads,
    /// Nothing: a message that arrived is gone, and so is the log of its attempts.
    Off,
}
