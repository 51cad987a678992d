//! Every law of the policy's design, held against anything that types allow: any shape, attempt, duration, float and entropy.

mod breaker;
mod budget;
mod form;
mod http;
mod pipeline;
mod session;
mod strategies;
mod waits;
