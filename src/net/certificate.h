#pragma once
// X.509 certificates: an authority of one's own, and what it signs.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace tessera::net {

// A certificate, perhaps with those that vouch for it behind it, and its private key; both in PEM.
struct KeyPair {
  std::string certificate;
  std::string key;
};

// ECDSA on P-256: taken by every client, small, and fast to sign with.
Result<KeyPair> make_authority(std::string_view name, Instant now, Millis lifetime);
// Signed by the authority, for a server of these names: host names and IP addresses. The
// authority's certificate follows in the chain.
Result<KeyPair> issue_certificate(const KeyPair& authority, const std::vector<std::string>& names,
                                  Instant now, Millis lifetime);

// A name as read_certificate() tells it: lower case, addresses written out in full.
std::string canonical_name(std::string_view name);

struct CertificateFacts {
  std::vector<std::string> names;  // sorted
  Instant expires;
};
// Of the first certificate in the text.
Result<CertificateFacts> read_certificate(std::string_view pem);
// Is the first certificate of `pem` signed by that of `authority_pem`?
bool is_signed_by(std::string_view pem, std::string_view authority_pem);

// "SHA256:1f2e…" of the first certificate: what two people compare.
Result<std::string> fingerprint(std::string_view pem);

}  // namespace tessera::net
