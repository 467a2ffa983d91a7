#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace tessera::log {

namespace {

spdlog::logger& logger() {
  static std::shared_ptr<spdlog::logger> instance = [] {
    auto made = std::make_shared<spdlog::logger>(
        "tessera", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v");
    made->flush_on(spdlog::level::debug);
    return made;
  }();
  return *instance;
}

}  // namespace

void set_level(Level level) {
  static constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                          spdlog::level::warn, spdlog::level::err,
                                                          spdlog::level::off};
  logger().set_level(kLevels[static_cast<int>(level)]);
}
void debug(std::string_view line) {
  logger().debug("{}", line);
}
void info(std::string_view line) {
  logger().info("{}", line);
}
void warn(std::string_view line) {
  logger().warn("{}", line);
}
void error(std::string_view line) {
  logger().error("{}", line);
}

}  // namespace tessera::log
