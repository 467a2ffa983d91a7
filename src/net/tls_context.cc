#include "net/tls_context.h"

#include <boost/asio/buffer.hpp>

#include "base/text.h"

namespace tessera::net {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using boost::system::error_code;

namespace {

TlsContext fresh(ssl::context::method method) {
  auto context = std::make_shared<ssl::context>(method);
  ::SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  return context;
}

Error failed_to(std::string_view doing, const error_code& failed) {
  return error(Code::kInvalid, cat(doing, ": ", failed.message()));
}

}  // namespace

Result<TlsContext> server_context(const KeyPair& certificate) {
  TlsContext context = fresh(ssl::context::tls_server);
  error_code failed;
  context->use_certificate_chain(asio::buffer(certificate.certificate), failed);
  if (failed) return failed_to("use the server's certificate", failed);
  context->use_private_key(asio::buffer(certificate.key), ssl::context::pem, failed);
  if (failed) return failed_to("use the server's private key", failed);
  return context;
}

Result<TlsContext> client_context(const std::string& ca_pem) {
  TlsContext context = fresh(ssl::context::tls_client);
  error_code failed;
  if (ca_pem.empty())
    context->set_default_verify_paths(failed);
  else
    context->add_certificate_authority(asio::buffer(ca_pem), failed);
  if (failed) return failed_to("use the CA's certificate", failed);
  // Whatever certificate was chosen to be trusted is, also one in the middle of a chain.
  if (!ca_pem.empty())
    ::X509_STORE_set_flags(::SSL_CTX_get_cert_store(context->native_handle()),
                           X509_V_FLAG_PARTIAL_CHAIN);
  context->set_verify_mode(ssl::verify_peer, failed);
  return context;
}

Result<TlsContext> unverified_context() {
  TlsContext context = fresh(ssl::context::tls_client);
  error_code ignored;
  context->set_verify_mode(ssl::verify_none, ignored);
  return context;
}

}  // namespace tessera::net
