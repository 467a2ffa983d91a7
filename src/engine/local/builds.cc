#include "engine/local/builds.h"

#include <poll.h>

#include <filesystem>
#include <thread>

#include "archive/archive.h"
#include "base/bytes.h"
#include "base/crypto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "engine/local/images/buildah.h"
#include "engine/local/images/dockerfile.h"
#include "engine/local/images/temp_folder.h"
#include "engine/local/names.h"
#include "engine/local/pipes.h"

namespace tessera::local {

namespace {

// Each may use all CPUs and the disk: more at once only make each other slow.
constexpr int kBuildLimit = 4;
// A context this large has data in it that belongs into a mount.
constexpr int64_t kContextLimitBytes = int64_t{16} << 30;
constexpr int kCgroupLooks = 100, kCgroupPollMs = 20;
constexpr size_t kDockerfileLimitBytes = size_t{1} << 20;

// Of a build: its network namespace, its cgroup.
constexpr std::string_view kNameStart = "build-";

// Where the cgroups of builds are, also on machines with systemd, which knows nothing of these.
std::string cgroup_of_builds(const Machine& machine) {
  return "/" + private_name("tessera-", machine.options.data_folder, {});
}

// Once its last process is gone, which SIGKILL takes a moment for.
void clear_cgroup(const Cgroup& cgroup) {
  for (int look = 0; look < kCgroupLooks && !cgroup.is_empty(); ++look) {
    cgroup.kill();
    ::poll(nullptr, 0, kCgroupPollMs);
  }
  cgroup.remove();
}

std::string folder_of_builds(const Machine& machine) {
  return machine.folder() + "/build";
}

BuildahOptions options_of(const Machine& machine) {
  const std::string driver = machine.options.snapshotter == "overlayfs" ? "overlay" : "vfs";
  return {.folder = cat(folder_of_builds(machine), "/", driver),
          .run_folder = cat(machine.options.run_folder, "/build-", driver),
          .driver = driver,
          .runc = machine.options.runc};
}

// A file of the context, and not one of the machine that a link there leads to.
Result<std::string> find_dockerfile(const std::string& context, const std::string& named) {
  std::vector<std::string> names = {named};
  if (named.empty()) names = {"Dockerfile", "Containerfile"};
  std::error_code failed;
  const std::string root = std::filesystem::canonical(context, failed).string();
  for (const std::string& name : names) {
    const std::string path = std::filesystem::canonical(cat(root, "/", name), failed).string();
    if (!failed && path.starts_with(root + "/")) return path;
  }
  return error(Code::kNotFound, cat("there is no ", names[0], " in the context"), {},
               named.empty() ? "name the file that describes the image with -f" : "");
}

std::map<std::string, std::string> by_name(const std::vector<std::string>& entries) {
  std::map<std::string, std::string> out;
  for (const std::string& entry : entries)
    if (size_t equals = entry.find('='); equals != std::string::npos)
      out[entry.substr(0, equals)] = entry.substr(equals + 1);
  return out;
}

// One build, on a thread of its own.
class BuildSession final : public engine::Session {
 public:
  BuildSession(Machine& machine, BuildCache& cache, engine::BuildOrder order,
               engine::SessionEvents events, std::shared_ptr<void> place)
      : machine_(machine),
        cache_(cache),
        order_(std::move(order)),
        events_(std::move(events)),
        place_(std::move(place)) {}
  ~BuildSession() override {
    BuildSession::close();
    if (!worker_.joinable()) return;
    if (worker_.get_id() == std::this_thread::get_id())
      worker_.detach();
    else
      worker_.join();
  }

  Status start() {
    TRY_STATUS(input_.open());
    worker_ = std::thread([this] { run(); });
    return Ok;
  }
  Status send_stdin(std::string_view bytes) override { return input_.send(bytes); }
  Status close_stdin() override {
    input_.close();
    return Ok;
  }
  Status resize(int, int) override { return Ok; }  // there is no terminal
  void close() override {
    over_ = true;
    given_up_.request_stop();
    input_.abandon();
  }

 private:
  void run() {
    int exit_code = 1;
    Status done = work(exit_code);
    if (!done.ok())
      say(cat("error: ", machine_.images.helped(done.error(), "the build").text(), "\n"));
    input_.abandon();
    place_.reset();
    if (events_.on_exit) events_.on_exit(done.ok() ? 0 : exit_code);
  }

  void say(std::string_view text, int stream = 2) const {
    if (events_.on_output) events_.on_output(stream, text);
  }
  ImageProgressSink teller(const std::string& of) const {
    auto last = std::make_shared<std::string_view>();
    return [this, of, last](const ImageProgress& at) {
      if (text(at.phase) != std::exchange(*last, text(at.phase))) say(cat(of, ": ", *last, "\n"));
    };
  }

  Status work(int& exit_code);
  Status build_in(const std::string& folder, const std::vector<std::string>& names, int& exit_code);
  void clean_cache(Buildah& buildah);
  Status receive(const std::string& context);
  Status load_bases(Buildah& buildah, const std::string& folder, const std::string& dockerfile);
  Result<std::string> build(Buildah& buildah, BuildPlan plan);

  Machine& machine_;
  BuildCache& cache_;
  const engine::BuildOrder order_;
  const engine::SessionEvents events_;
  std::shared_ptr<void> place_;  // among the builds under way
  std::atomic<bool> over_ = false;
  std::stop_source given_up_;  // the same, for pulls
  InputStream input_;
  std::vector<std::unique_ptr<ImageStore::Hold>> holds_;
  std::vector<Image> bases_;
  std::thread worker_;
};

Status BuildSession::work(int& exit_code) {
  const std::string own = text(own_platform());
  if (!order_.platform.empty() && !cat(own, "/").starts_with(cat(order_.platform, "/")))
    return error(Code::kInvalid,
                 cat("images for ", order_.platform, " cannot be built here: this is ", own),
                 "platform", "build it on a machine of that kind and import it");
  std::vector<std::string> names;
  for (const std::string& tag : order_.tags) {
    TRY(api::Reference reference, api::parse_reference(tag));
    names.push_back(reference.text());
  }
  TRY(TempFolder folder, TempFolder::make(machine_.images.work_folder()));
  return build_in(folder.path(), names, exit_code);
}

Status BuildSession::build_in(const std::string& folder, const std::vector<std::string>& names,
                              int& exit_code) {
  const std::string context = folder + "/context";
  TRY_STATUS(receive(context));
  TRY(std::string dockerfile, find_dockerfile(context, order_.dockerfile));
  Buildah buildah(options_of(machine_), folder, over_);
  TRY_STATUS(buildah.prepare());
  clean_cache(buildah);
  std::shared_lock in_use(cache_.mutex);
  TRY_STATUS(load_bases(buildah, folder, dockerfile));
  auto id = build(buildah, {.context = context,
                            .dockerfile = dockerfile,
                            .args = order_.args,
                            .labels = order_.labels,
                            .target = order_.target,
                            .no_cache = order_.no_cache,
                            .name_servers = machine_.options.name_servers});
  exit_code = std::max(1, buildah.exit_code());
  const std::string saved = folder + "/saved";
  Status done = id.ok() ? buildah.save(*id, saved) : Status(std::move(id).error());
  if (!done.ok() && done.error().code == Code::kExhausted) {
    // buildah had no room either to clear up after itself.
    cache_.soiled = true;
    in_use.unlock();
    clean_cache(buildah);
  }
  TRY_STATUS(std::move(done));
  TRY(auto images, machine_.images.add_built(saved, names, bases_, teller("image")));
  for (const Image& image : images) say(cat(api::familiar_name(image.name), "\n"), 1);
  return Ok;
}

// Containers of builds that were ended midway stay in the cache until a build finds nobody else
// there. What buildah cannot put in order is thrown away: it is only a cache.
void BuildSession::clean_cache(Buildah& buildah) {
  std::unique_lock alone(cache_.mutex, std::try_to_lock);
  if (!alone || !cache_.soiled) return;
  if (Status cleared = buildah.clear(); !cleared.ok()) {
    log::warn(cat("the cache of builds is emptied: ", cleared.error().text()));
    empty_folder(folder_of_builds(machine_));
  }
  cache_.soiled = false;
}

Status BuildSession::receive(const std::string& context) {
  TRY_STATUS(make_directories(context, 0755));
  int64_t bytes = 0;
  auto source = [&]() -> Result<std::string> {
    TRY(std::string piece, input_.read());
    if (over_) return error(Code::kConflict, "the build was ended");
    bytes += static_cast<int64_t>(piece.size());
    if (bytes > kContextLimitBytes)
      return error(Code::kInvalid, cat("the context has more than ", byte_size(kContextLimitBytes)),
                   {}, "leave out what the image does not need, or mount it when it runs");
    return piece;
  };
  TRY_STATUS(archive::unpack(source, context).in("receive the context"));
  say(cat("context: ", byte_size(bytes), "\n"));
  return Ok;
}

Status BuildSession::load_bases(Buildah& buildah, const std::string& folder,
                                const std::string& dockerfile) {
  TRY(std::string text, read_file(dockerfile, kDockerfileLimitBytes));
  for (const std::string& base : base_images(text, by_name(order_.args))) {
    holds_.push_back(std::make_unique<ImageStore::Hold>(machine_.images, base));
    Result<Image> image = machine_.images.resolve(base);
    bool missing = !image.ok() && image.error().code == Code::kNotFound;
    if (missing || order_.pull)
      image = machine_.images.pull(base, {}, teller(base), given_up_.get_token());
    if (!image.ok()) return std::move(image).error();
    machine_.images.note_use(image->name, image->last_used);
    const std::string layout = cat(folder, "/base-", bases_.size());
    TRY_STATUS(machine_.images.lay_out(*image, layout));
    TRY_STATUS(buildah.load(layout, image->name));
    bases_.push_back(*std::move(image));
  }
  return Ok;
}

Result<std::string> BuildSession::build(Buildah& buildah, BuildPlan plan) {
  const std::string name = cat(kNameStart, to_hex(random_bytes(6)));
  Network& network = machine_.network;
  TRY_STATUS(network.create_namespace(order_.project, name));
  plan.netns_path = network.netns_path(name);
  plan.cgroup = cat(cgroup_of_builds(machine_), "/", name);
  Result<std::string> id = error(Code::kInternal, "not built");
  if (auto attached = network.attach(order_.project, name); attached.ok())
    id = buildah.build(plan, [this](int, std::string_view bytes) { say(bytes); });
  else
    id = std::move(attached).error();
  // Of one that was ended, runc had no time to.
  clear_cgroup({plan.cgroup, machine_.host.cgroups.v2()});
  if (over_) cache_.soiled = true;
  if (Status detached = network.detach(order_.project, name); !detached.ok())
    log::warn(cat("the network of a build stays: ", detached.error().text()));
  return id;
}

}  // namespace

Builds::Builds(Machine& machine)
    : machine_(machine), running_(std::make_shared<std::atomic<int>>(0)) {
  machine_.images.cache([this](bool dry_run) { return drop_cache(dry_run); });
}

int64_t Builds::drop_cache(bool dry_run) {
  std::unique_lock unused(cache_.mutex, std::try_to_lock);
  if (!unused) return 0;
  const std::string folder = folder_of_builds(machine_);
  int64_t bytes = folder_bytes(folder);
  if (!dry_run) empty_folder(folder);
  return bytes;
}

void Builds::start() {
  const bool v2 = machine_.host.cgroups.v2();
  const std::string above = cgroup_of_builds(machine_);
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(
           cat("/sys/fs/cgroup", v2 ? "" : "/devices", above), failed)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kNameStart)) continue;
    clear_cgroup({cat(above, "/", name), v2});
  }
}

Result<std::unique_ptr<engine::Session>> Builds::begin(const engine::BuildOrder& order,
                                                       engine::SessionEvents events) {
  auto running = running_;
  std::shared_ptr<void> place(nullptr, [running](void*) { --*running; });
  if (++*running > kBuildLimit)
    return error(Code::kExhausted, cat(kBuildLimit, " builds are under way"), {},
                 "try again when one is done");
  auto session =
      std::make_unique<BuildSession>(machine_, cache_, order, std::move(events), std::move(place));
  TRY_STATUS(session->start());
  return std::unique_ptr<engine::Session>(std::move(session));
}

}  // namespace tessera::local
