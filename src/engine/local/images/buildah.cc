#include "engine/local/images/buildah.h"

#include "base/file.h"
#include "base/text.h"

namespace tessera::local {

namespace {

// Who may be trusted is decided where images are pulled: buildah itself pulls none.
constexpr std::string_view kPolicy = R"({"default":[{"type":"insecureAcceptAnything"}]})";
// So that FROM busybox means what it means to docker, and to us.
constexpr std::string_view kRegistries = "unqualified-search-registries = [\"docker.io\"]\n";
// Or buildah takes the settings to be damaged; where the storage is, its flags say.
constexpr std::string_view kStorage = "[storage]\ndriver = \"";
// A build may compile for hours.
constexpr Millis kBuildLimit{24 * 3'600'000};
// Loading, saving: as long as a disk takes for tens of gigabytes.
constexpr Millis kCopyLimit{3'600'000};
// How much of the end of standard error is kept for the message: a few lines of a compiler.
constexpr size_t kTailBytes = 4096;
// Exit codes from here on are buildah's own, those below a step's.
constexpr int kOwnFailure = 125;

void append_each(std::vector<std::string>& words, std::string_view flag,
                 const std::vector<std::string>& values) {
  for (const std::string& value : values) words.push_back(cat(flag, "=", value));
}

Error failed(std::string_view what, std::string_view standard_error) {
  std::string message = buildah_message(standard_error);
  bool full = lower(standard_error).find("no space left on device") != std::string::npos;
  return error(full ? Code::kExhausted : Code::kInvalid, cat(what, ": ", message));
}

Status run_to_end(std::string_view what, const ProgramSpec& spec) {
  TRY(ProgramOutput output, run_program(spec));
  return output.exit_code == 0 ? Status(Ok) : failed(cat("cannot ", what), output.err);
}

}  // namespace

std::string buildah_message(std::string_view standard_error) {
  std::string_view text = trim(standard_error);
  constexpr std::string_view kMark = "Error: ";
  size_t mark = text.rfind(cat("\n", kMark));
  if (text.starts_with(kMark) && mark == std::string_view::npos)
    text.remove_prefix(kMark.size());
  else if (mark != std::string_view::npos)
    text.remove_prefix(mark + 1 + kMark.size());
  else
    text.remove_prefix(text.rfind('\n') + 1);
  return std::string(text.substr(0, text.find('\n')));
}

Buildah::Buildah(BuildahOptions options, std::string folder, const std::atomic<bool>& over)
    : options_(std::move(options)), folder_(std::move(folder)), over_(over) {}

Status Buildah::prepare() {
  auto there = run_program({.argv = {options_.program, "--version"}});
  if (!there.ok())
    return error(Code::kUnavailable, cat("this machine cannot build: ", there.error().message), {},
                 "an admin can install the package buildah");
  for (const std::string& each :
       {folder_ + "/tmp", folder_ + "/home", options_.folder, options_.run_folder})
    TRY_STATUS(make_directories(each, 0700));
  TRY_STATUS(write_file(folder_ + "/policy.json", kPolicy, 0600));
  TRY_STATUS(write_file(folder_ + "/registries.conf", kRegistries, 0600));
  TRY_STATUS(write_file(folder_ + "/storage.conf", cat(kStorage, options_.driver, "\"\n"), 0600));
  return write_file(folder_ + "/none.conf", "", 0600);
}

// setpriv: with a server that is killed, it ends. `before` stands before all namespaces.
ProgramSpec Buildah::command(std::vector<std::string> before,
                             const std::vector<std::string>& words) const {
  ProgramSpec spec;
  spec.argv = {"setpriv", "--pdeathsig", "KILL"};
  for (const char* word :
       {"unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "--mount-proc"})
    before.emplace_back(word);
  spec.argv.insert(spec.argv.end(), before.begin(), before.end());
  spec.argv.insert(spec.argv.end(), words.begin(), words.end());
  spec.env = {{"HOME", folder_ + "/home"},
              {"TMPDIR", folder_ + "/tmp"},
              {"LC_ALL", "C"},
              {"CONTAINERS_REGISTRIES_CONF", folder_ + "/registries.conf"},
              // The machine's own settings are for other builds.
              {"CONTAINERS_CONF", folder_ + "/none.conf"},
              {"CONTAINERS_STORAGE_CONF", folder_ + "/storage.conf"}};
  spec.deadline = kCopyLimit;
  spec.on_tick = [this] { return !over_; };
  return spec;
}

std::vector<std::string> Buildah::buildah(const std::vector<std::string>& words) const {
  std::vector<std::string> out = {
      options_.program,    "--root",           options_.folder, "--runroot",
      options_.run_folder, "--storage-driver", options_.driver};
  out.insert(out.end(), words.begin(), words.end());
  return out;
}

Status Buildah::load(const std::string& layout, const std::string& name) {
  const std::string into = cat("containers-storage:[", options_.driver, "@", options_.folder, "+",
                               options_.run_folder, "]", name);
  return run_to_end("load the image " + name,
                    command({}, {options_.skopeo, "--policy", folder_ + "/policy.json", "--tmpdir",
                                 folder_ + "/tmp", "copy", "--quiet", "oci:" + layout, into}));
}

std::vector<std::string> Buildah::build_words(const BuildPlan& plan) const {
  std::vector<std::string> words = {"build-using-dockerfile",
                                    "--signature-policy=" + folder_ + "/policy.json",
                                    "--isolation=oci",
                                    "--runtime=" + options_.runc,
                                    "--runtime-flag=root=" + folder_ + "/runc",
                                    "--cgroup-parent=" + plan.cgroup,
                                    "--network=host",   // of the namespace that it is started in
                                    "--format=docker",  // OCI's has no health checks
                                    "--layers",
                                    "--pull-never",
                                    "--iidfile=" + folder_ + "/id",
                                    "--file=" + plan.dockerfile};
  if (plan.no_cache) words.emplace_back("--no-cache");
  if (!plan.target.empty()) words.push_back("--target=" + plan.target);
  append_each(words, "--build-arg", plan.args);
  append_each(words, "--label", plan.labels);
  append_each(words, "--dns", plan.name_servers);
  words.push_back(plan.context);
  return words;
}

Result<std::string> Buildah::build(const BuildPlan& plan, const Output& output) {
  ProgramSpec spec = command({"nsenter", "--net=" + plan.netns_path}, buildah(build_words(plan)));
  std::string tail;
  spec.deadline = kBuildLimit;
  spec.on_output = [&](int stream, std::string_view bytes) {
    output(stream, bytes);
    if (stream != 2) return;
    tail += bytes;
    if (tail.size() > 2 * kTailBytes) tail.erase(0, tail.size() - kTailBytes);
  };
  TRY(ProgramOutput ended, run_program(spec));
  if (ended.exit_code == 0) {
    TRY(std::string id, read_file(folder_ + "/id"));
    return std::string(trim(id));
  }
  exit_code_ = ended.exit_code < kOwnFailure ? ended.exit_code : 1;
  return failed("the build failed", replace_all(tail, plan.context, "the context"));
}

Status Buildah::save(const std::string& id, const std::string& into) {
  return run_to_end(
      "save the image",
      command({}, buildah({"push", "--quiet", "--signature-policy", folder_ + "/policy.json",
                           "--disable-compression", id, "dir:" + into})));
}

Status Buildah::clear() {
  ProgramSpec spec = command({}, buildah({"rm", "--all"}));
  spec.on_tick = nullptr;  // also when it is over
  return run_to_end("clear up after earlier builds", spec);
}

}  // namespace tessera::local
