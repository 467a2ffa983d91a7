#include "net/certificate.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>
#include <memory>

#include "base/crypto.h"
#include "base/text.h"

namespace tessera::net {

namespace {

template <auto kFree>
struct Free {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Cert = std::unique_ptr<X509, Free<X509_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>>;
using Bio = std::unique_ptr<BIO, Free<BIO_free_all>>;
using Names = std::unique_ptr<GENERAL_NAMES, Free<GENERAL_NAMES_free>>;

// Clocks of clients that are a little behind still find the certificate valid.
constexpr Millis kClockSlack{3'600'000};

Error openssl_error(std::string_view doing) {
  char text[256] = "unknown reason";
  if (unsigned long code = ::ERR_get_error()) ::ERR_error_string_n(code, text, sizeof text);
  ::ERR_clear_error();
  return error(Code::kInternal, cat(doing, ": ", text));
}

Bio reader(std::string_view text) {
  return Bio(::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string content(BIO* bio) {
  char* data = nullptr;
  long size = ::BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(size)};
}

Result<Cert> parse_certificate(std::string_view pem) {
  Cert out(::PEM_read_bio_X509(reader(pem).get(), nullptr, nullptr, nullptr));
  ::ERR_clear_error();
  if (!out) return error(Code::kInvalid, "there is no certificate in PEM in it");
  return out;
}

Result<Key> parse_key(std::string_view pem) {
  Key out(::PEM_read_bio_PrivateKey(reader(pem).get(), nullptr, nullptr, nullptr));
  ::ERR_clear_error();
  if (!out) return error(Code::kInvalid, "there is no private key in PEM in it");
  return out;
}

Status add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  ::X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  Extension extension(::X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  if (!extension || ::X509_add_ext(certificate, extension.get(), -1) != 1)
    return openssl_error(cat("add ", value, " to a certificate"));
  return Ok;
}

void set_time(ASN1_TIME* at, Instant when) {
  ::ASN1_TIME_set(at, static_cast<time_t>(when.ms / 1000));
}

// All but the signature; whom it is for stands in its common name.
Result<Cert> draft(EVP_PKEY* key, std::string_view name, Instant now, Millis lifetime) {
  Cert out(::X509_new());
  std::string serial = random_bytes(16);
  serial[0] = static_cast<char>(serial[0] & 0x7f);  // positive
  std::unique_ptr<BIGNUM, Free<BN_free>> number(
      ::BN_bin2bn(reinterpret_cast<const unsigned char*>(serial.data()),
                  static_cast<int>(serial.size()), nullptr));
  ::BN_to_ASN1_INTEGER(number.get(), ::X509_get_serialNumber(out.get()));
  ::X509_set_version(out.get(), X509_VERSION_3);
  set_time(::X509_getm_notBefore(out.get()), now + kClockSlack * -1);
  set_time(::X509_getm_notAfter(out.get()), now + lifetime);
  X509_NAME* subject = ::X509_get_subject_name(out.get());
  // At most 64 bytes, says the standard; what counts is in the alternative names.
  std::string common(name.substr(0, 64));
  bool fine = ::X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                           reinterpret_cast<const unsigned char*>(common.c_str()),
                                           -1, -1, 0) == 1 &&
              ::X509_set_pubkey(out.get(), key) == 1;
  if (!fine) return openssl_error("make a certificate");
  return out;
}

Result<KeyPair> sign(Cert certificate, EVP_PKEY* own, EVP_PKEY* signer) {
  if (::X509_sign(certificate.get(), signer, ::EVP_sha256()) == 0)
    return openssl_error("sign a certificate");
  Bio text(::BIO_new(::BIO_s_mem())), secret(::BIO_new(::BIO_s_mem()));
  if (::PEM_write_bio_X509(text.get(), certificate.get()) != 1 ||
      ::PEM_write_bio_PrivateKey(secret.get(), own, nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return openssl_error("write a certificate");
  return KeyPair{content(text.get()), content(secret.get())};
}

using Octets = std::unique_ptr<ASN1_OCTET_STRING, Free<ASN1_OCTET_STRING_free>>;

// Null when the name is no IP address.
Octets parse_address(const std::string& name) {
  Octets parsed(::a2i_IPADDRESS(name.c_str()));
  ::ERR_clear_error();
  return parsed;
}

std::string address_text(const ASN1_OCTET_STRING& address) {
  const unsigned char* bytes = ::ASN1_STRING_get0_data(&address);
  std::vector<std::string> parts;
  if (::ASN1_STRING_length(&address) == 4) {
    for (int i = 0; i < 4; ++i) parts.push_back(cat(static_cast<int>(bytes[i])));
    return join(parts, ".");
  }
  for (int i = 0; i + 1 < ::ASN1_STRING_length(&address); i += 2)
    parts.push_back(to_hex({reinterpret_cast<const char*>(bytes + i), 2}));
  return join(parts, ":");
}

}  // namespace

Result<KeyPair> make_authority(std::string_view name, Instant now, Millis lifetime) {
  Key key(::EVP_EC_gen("P-256"));
  if (!key) return openssl_error("make a key");
  TRY(Cert certificate, draft(key.get(), name, now, lifetime));
  X509* own = certificate.get();
  ::X509_set_issuer_name(own, ::X509_get_subject_name(own));
  TRY_STATUS(add_extension(own, own, NID_basic_constraints, "critical,CA:TRUE,pathlen:0"));
  TRY_STATUS(add_extension(own, own, NID_key_usage, "critical,keyCertSign,cRLSign"));
  TRY_STATUS(add_extension(own, own, NID_subject_key_identifier, "hash"));
  return sign(std::move(certificate), key.get(), key.get());
}

Result<KeyPair> issue_certificate(const KeyPair& authority, const std::vector<std::string>& names,
                                  Instant now, Millis lifetime) {
  TRY(Cert issuer, parse_certificate(authority.certificate));
  TRY(Key issuer_key, parse_key(authority.key));
  Key key(::EVP_EC_gen("P-256"));
  if (!key) return openssl_error("make a key");
  TRY(Cert certificate, draft(key.get(), names.empty() ? "tessera" : names.front(), now, lifetime));
  X509* own = certificate.get();
  ::X509_set_issuer_name(own, ::X509_get_subject_name(issuer.get()));
  std::vector<std::string> alternatives;
  for (const std::string& name : names)
    alternatives.push_back(cat(parse_address(name) ? "IP:" : "DNS:", name));
  TRY_STATUS(add_extension(own, issuer.get(), NID_basic_constraints, "critical,CA:FALSE"));
  TRY_STATUS(add_extension(own, issuer.get(), NID_key_usage, "critical,digitalSignature"));
  TRY_STATUS(add_extension(own, issuer.get(), NID_ext_key_usage, "serverAuth"));
  TRY_STATUS(add_extension(own, issuer.get(), NID_subject_key_identifier, "hash"));
  TRY_STATUS(add_extension(own, issuer.get(), NID_authority_key_identifier, "keyid:always"));
  TRY_STATUS(add_extension(own, issuer.get(), NID_subject_alt_name, join(alternatives, ",")));
  TRY(KeyPair made, sign(std::move(certificate), key.get(), issuer_key.get()));
  made.certificate += authority.certificate;
  return made;
}

std::string canonical_name(std::string_view name) {
  std::string text = lower(name);
  Octets address = parse_address(text);
  return address ? address_text(*address) : text;
}

Result<CertificateFacts> read_certificate(std::string_view pem) {
  TRY(Cert certificate, parse_certificate(pem));
  CertificateFacts facts;
  tm expires{};
  if (::ASN1_TIME_to_tm(::X509_get0_notAfter(certificate.get()), &expires) != 1)
    return openssl_error("read a certificate's end");
  facts.expires = Instant{static_cast<int64_t>(::timegm(&expires)) * 1000};
  Names names(static_cast<GENERAL_NAMES*>(
      ::X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS)
      facts.names.emplace_back(
          reinterpret_cast<const char*>(::ASN1_STRING_get0_data(name->d.dNSName)),
          static_cast<size_t>(::ASN1_STRING_length(name->d.dNSName)));
    if (name->type == GEN_IPADD) facts.names.push_back(address_text(*name->d.iPAddress));
  }
  std::ranges::sort(facts.names);
  return facts;
}

bool is_signed_by(std::string_view pem, std::string_view authority_pem) {
  auto certificate = parse_certificate(pem), authority = parse_certificate(authority_pem);
  if (!certificate.ok() || !authority.ok()) return false;
  bool fine = ::X509_verify(certificate->get(), ::X509_get0_pubkey(authority->get())) == 1;
  ::ERR_clear_error();
  return fine;
}

Result<std::string> fingerprint(std::string_view pem) {
  TRY(Cert certificate, parse_certificate(pem));
  unsigned char* encoded = nullptr;
  int size = ::i2d_X509(certificate.get(), &encoded);
  if (size < 0) return openssl_error("encode a certificate");
  std::string bytes(reinterpret_cast<const char*>(encoded), static_cast<size_t>(size));
  ::OPENSSL_free(encoded);
  return cat("SHA256:", to_hex(sha256(bytes)));
}

}  // namespace tessera::net
