//! Every fault does what its row says, seen from the other end of a real socket.

mod answers;
mod broken;
mod client;
mod lifetime;
mod payment;
mod streams;
