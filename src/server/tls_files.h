#pragma once
// The certificates of the server: an authority of its own, and what it vouches for.

#include <string>
#include <vector>

#include "base/result.h"
#include "net/certificate.h"
#include "net/tls.h"

namespace tessera::server {

// Clients keep the authority, so it has to last; a certificate is only as old as a client is
// willing to take (browsers: 398 days), and is made anew long before it ends.
inline constexpr Millis kAuthorityLifetime{20LL * 365 * 86'400'000};
inline constexpr Millis kCertificateLifetime{397LL * 86'400'000};
inline constexpr Millis kRenewBefore{60LL * 86'400'000};

struct ServerCertificate {
  net::KeyPair pair;
  std::string authority_fingerprint;  // what a person compares when signing in
};

// From `folder` (ca.pem, ca.key, server.pem, server.key; keys with mode 0600), where what is
// missing is made, and a certificate that ends soon or lacks one of the names is replaced.
Result<ServerCertificate> server_certificate(const std::string& folder,
                                             const std::vector<std::string>& names, Instant now);

// Under which names and addresses clients may reach a server that listens there.
std::vector<std::string> server_names(const std::vector<net::TcpAddress>& listen,
                                      const std::vector<std::string>& more);

}  // namespace tessera::server
