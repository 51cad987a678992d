//! Who encrypts.

use rustls::crypto::{CryptoProvider, ring};

/// rustls wants one provider for the process. If the program has not chosen, it is ring.
pub(crate) fn choose_provider() {
    if CryptoProvider::get_default().is_none() {
        // Another thread may have been quicker, which is as good.
        let _ = ring::default_provider().install_default();
    }
}
