#pragma once
// OpenSSL's contexts, made in one place. For net's own files.

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "net/certificate.h"
#include "net/tls.h"

namespace tessera::net {

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

Result<TlsContext> server_context(const KeyPair& certificate);
// Trusts this authority, or those of the machine when there is none.
Result<TlsContext> client_context(const std::string& ca_pem);
// Trusts anyone: only to look at what a server shows.
Result<TlsContext> unverified_context();

struct TlsServerContext::Impl {
  TlsContext get() {
    std::lock_guard lock(mutex);
    return current;
  }
  std::mutex mutex;
  TlsContext current;
};

}  // namespace tessera::net
