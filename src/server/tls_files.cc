#include "server/tls_files.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <memory>
#include <set>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"

namespace tessera::server {

namespace {

constexpr size_t kPemLimit = 64 << 10;

Status write_pair(const std::string& base, const net::KeyPair& pair) {
  // The key first: a certificate without its key would look whole to the next start.
  TRY_STATUS(write_file(base + ".key", pair.key, 0600));
  return write_file(base + ".pem", pair.certificate, 0644);
}

Result<net::KeyPair> read_pair(const std::string& base) {
  net::KeyPair pair;
  TRY(pair.certificate, read_file(base + ".pem", kPemLimit));
  TRY(pair.key, read_file(base + ".key", kPemLimit));
  return pair;
}

Result<net::KeyPair> authority(const std::string& base, Instant now) {
  bool certificate = exists(base + ".pem"), key = exists(base + ".key");
  if (certificate && !key)
    return error(Code::kNotFound, cat("the key of the CA, ", base, ".key, is missing"), {},
                 cat("restore it, or remove ", base,
                     ".pem to have a new CA made; then everyone signs in anew"));
  if (!certificate) {
    TRY(net::KeyPair made, net::make_authority("Tessera CA", now, kAuthorityLifetime));
    TRY_STATUS(write_pair(base, made));
    return made;
  }
  return read_pair(base);
}

bool is_good(const net::KeyPair& pair, const net::KeyPair& authority,
             const std::vector<std::string>& names, Instant now) {
  auto facts = net::read_certificate(pair.certificate);
  return facts.ok() && net::is_signed_by(pair.certificate, authority.certificate) &&
         now + kRenewBefore < facts->expires && std::ranges::includes(facts->names, names);
}

bool is_wildcard(const std::string& host) {
  return host.empty() || host == "0.0.0.0" || host == "::";
}

// Addresses of this machine that are good beyond their own cable.
void add_own_addresses(std::set<std::string>& names) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return;
  std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  for (const ifaddrs* one = list; one; one = one->ifa_next) {
    if (!one->ifa_addr || !(one->ifa_flags & IFF_UP)) continue;
    int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    char host[NI_MAXHOST];
    socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (::getnameinfo(one->ifa_addr, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0)
      continue;
    std::string_view text = host;
    if (text.find('%') == std::string_view::npos) names.insert(net::canonical_name(text));
  }
}

}  // namespace

std::vector<std::string> server_names(const std::vector<net::TcpAddress>& listen,
                                      const std::vector<std::string>& more) {
  std::set<std::string> names = {"localhost", "127.0.0.1", net::canonical_name("::1")};
  char host[HOST_NAME_MAX + 1] = {};
  if (::gethostname(host, sizeof host - 1) == 0 && host[0]) names.insert(lower(host));
  for (const std::string& name : more) names.insert(net::canonical_name(name));
  for (const net::TcpAddress& address : listen) {
    if (is_wildcard(address.host))
      add_own_addresses(names);
    else
      names.insert(net::canonical_name(address.host));
  }
  return {names.begin(), names.end()};
}

Result<ServerCertificate> server_certificate(const std::string& folder,
                                             const std::vector<std::string>& names, Instant now) {
  TRY_STATUS(make_directories(folder, 0755));
  TRY(net::KeyPair ca, authority(folder + "/ca", now));
  ServerCertificate out;
  TRY(out.authority_fingerprint, net::fingerprint(ca.certificate).in(folder + "/ca.pem"));
  std::string base = folder + "/server";
  if (auto found = read_pair(base); found.ok() && is_good(*found, ca, names, now)) {
    out.pair = std::move(*found);
    return out;
  }
  TRY(out.pair, net::issue_certificate(ca, names, now, kCertificateLifetime));
  TRY_STATUS(write_pair(base, out.pair));
  log::info(cat("made a certificate for ", join(names, ", ")));
  return out;
}

}  // namespace tessera::server
