// The image store against a real containerd, a real registry and real archives.
#include "engine/local/images/image_store.h"

#include <gtest/gtest.h>
#include <sys/mount.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "engine/local/containerd/digest.h"
#include "engine/local/containerd/snapshotter.h"
#include "engine/local/images/temp_folder.h"
#include "engine/local/testing/private_containerd.h"
#include "engine/local/testing/private_registry.h"

namespace tessera::local {
namespace {

namespace fs = std::filesystem;
using Phase = ImageProgress::Phase;

void must_run(std::vector<std::string> argv) {
  ProgramSpec spec;
  spec.argv = std::move(argv);
  Result<ProgramOutput> output = run_program(spec);
  ASSERT_TRUE(output.ok()) << output.error().text();
  ASSERT_EQ(output->exit_code, 0) << spec.argv[0] << ": " << output->err;
}

// The same three files for all tests here: made once.
class ImageStoreTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!missing_for_containers().empty()) return;
    char pattern[] = "/tmp/tsr-img-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern), nullptr);
    files() = pattern;
    const std::string make = TESSERA_SOURCE_DIR "/scripts/make-image";
    must_run({make, "--name", "tiny:1", "--env", "A=1", "--user", "app", layout()});
    must_run({"tar", "-C", layout(), "-cf", oci_archive(), "."});
    must_run({"skopeo", "--insecure-policy", "copy", "--quiet", cat("oci:", layout(), ":tiny:1"),
              cat("docker-archive:", files(), "/saved.tar:example.org/saved/tiny:2")});
    fs::copy(files() + "/saved.tar", saved_archive());
  }
  static void TearDownTestSuite() {
    std::error_code ignored;
    if (!files().empty()) fs::remove_all(files(), ignored);
  }

  void SetUp() override {
    if (std::string why = missing_for_containers(); !why.empty()) GTEST_SKIP() << why;
    daemon_ = std::make_unique<PrivateContainerd>();
    client_ = std::make_unique<Containerd>(daemon_->client());
    work_ = daemon_->folder() + "/work";
    store_ = std::make_unique<ImageStore>(*client_, options());
  }

  ImageStoreOptions options() const {
    ImageStoreOptions out;
    out.work_folder = work_;
    out.storage_folder = daemon_->root();
    out.snapshotter = "native";
    return out;
  }

  static std::string& files() {
    static std::string folder;
    return folder;
  }
  static std::string layout() { return files() + "/layout"; }
  static std::string oci_archive() { return files() + "/oci.tar"; }
  static std::string saved_archive() { return files() + "/saved:with a colon.tar"; }
  // Of its one layer.
  static std::string layer_file() {
    fs::path largest;
    for (const auto& entry : fs::directory_iterator(layout() + "/blobs/sha256"))
      if (largest.empty() || entry.file_size() > fs::file_size(largest)) largest = entry.path();
    return largest.string();
  }

  void expect_nothing_left() {
    EXPECT_TRUE(store_->list()->empty());
    EXPECT_TRUE(client_->contents()->empty());
    EXPECT_TRUE(client_->snapshots("native")->empty());
    EXPECT_TRUE(!exists(work_) || fs::is_empty(work_));
  }

  std::unique_ptr<PrivateContainerd> daemon_;
  std::unique_ptr<Containerd> client_;
  std::string work_;
  std::unique_ptr<ImageStore> store_;
};

TEST_F(ImageStoreTest, ImportsEveryKindOfFile) {
  struct Case {
    std::string path, given, name;
  };
  const Case cases[] = {
      {layout(), "", "docker.io/library/tiny:1"},
      {oci_archive(), "", "docker.io/library/tiny:1"},
      {oci_archive(), "other:x", "docker.io/library/other:x"},
      {saved_archive(), "", "example.org/saved/tiny:2"},
      {saved_archive(), "mine", "docker.io/library/mine:latest"},
  };
  for (const Case& row : cases) {
    auto imported = store_->import(row.path, row.given);
    ASSERT_TRUE(imported.ok()) << row.path << ": " << imported.error().text();
    ASSERT_EQ(imported->size(), 1u);
    const Image& image = imported->front();
    EXPECT_EQ(image.name, row.name);
    EXPECT_EQ(image.config.cmd, std::vector<std::string>{"/bin/sh"});
    EXPECT_EQ(image.config.env,
              (std::vector<std::string>{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "A=1"}));
    EXPECT_EQ(image.config.user, "app");
    EXPECT_GT(image.size_bytes, 500'000);
    EXPECT_EQ(store_->resolve(row.name)->digest, image.digest);
  }
  EXPECT_EQ(store_->list()->size(), 4u);
  EXPECT_EQ(store_->resolve("tiny:1")->digest, store_->resolve("other:x")->digest);
  EXPECT_EQ(client_->snapshots("native")->size(), 1u) << "the same layer four times";
  EXPECT_TRUE(fs::is_empty(work_));
}

TEST_F(ImageStoreTest, UnpacksWithOwnersAndLinks) {
  ASSERT_TRUE(store_->import(layout(), "").ok());
  Image image = *store_->resolve("tiny:1");
  auto lease = client_->lease(Millis{60'000});
  auto view = lease->client().view_snapshot("native", "look", image.chain_id, {});
  ASSERT_TRUE(view.ok()) << view.error().text();
  const std::string root = view->front().source;
  EXPECT_EQ(fs::read_symlink(root + "/bin/sh"), "/bin/busybox");
  struct stat home{};
  ASSERT_EQ(::stat((root + "/home/app").c_str(), &home), 0);
  EXPECT_EQ(home.st_uid, 1000u);
}

TEST_F(ImageStoreTest, WorksWithTheSnapshotterThatThisMachineAllows) {
  ImageStoreOptions best = options();
  best.snapshotter = *pick_snapshotter(daemon_->root());
  ImageStore store(*client_, best);
  auto imported = store.import(layout(), "");
  ASSERT_TRUE(imported.ok()) << imported.error().text();
  const std::string& chain_id = imported->front().chain_id;
  auto lease = client_->lease(Millis{60'000});
  auto mounts = lease->client().prepare_snapshot(best.snapshotter, "c", chain_id, {});
  EXPECT_TRUE(mounts.ok()) << mounts.error().text();
}

TEST_F(ImageStoreTest, SurvivesTheCollector) {
  Image image = store_->import(layout(), "")->front();
  ASSERT_TRUE(client_->lease(Millis{60'000})->release(/*collect=*/true).ok());
  EXPECT_TRUE(client_->snapshot("native", image.chain_id).ok());
  EXPECT_EQ(client_->contents()->size(), 3u);
}

TEST_F(ImageStoreTest, RemovesNameByNameAndThenTheBytes) {
  Image image = store_->import(layout(), "one")->front();
  ASSERT_TRUE(store_->import(layout(), "two").ok());
  ASSERT_TRUE(store_->remove("one").ok());
  EXPECT_EQ(store_->resolve("one").error().message, "the image one:latest is not on this machine");
  EXPECT_EQ(store_->resolve("two")->digest, image.digest);
  EXPECT_EQ(store_->resolve("two@" + image.digest)->name, "docker.io/library/two:latest");
  EXPECT_EQ(store_->resolve("three@" + image.digest).error().code, Code::kNotFound);
  ASSERT_TRUE(store_->remove("two").ok());
  EXPECT_EQ(store_->remove("two").error().code, Code::kNotFound);
  expect_nothing_left();
}

TEST_F(ImageStoreTest, RestoresLostLayers) {
  Image image = store_->import(layout(), "")->front();
  ASSERT_TRUE(client_->remove_snapshot("native", image.chain_id).ok());
  ASSERT_TRUE(store_->resolve("tiny:1").ok());
  EXPECT_TRUE(client_->snapshot("native", image.chain_id).ok());
}

TEST_F(ImageStoreTest, RefusesDamagedFilesAndLeavesNothing) {
  const std::string damaged = files() + "/damaged";
  fs::remove_all(damaged);
  fs::copy(layout(), damaged, fs::copy_options::recursive);
  const std::string layer = damaged + "/blobs/sha256/" + fs::path(layer_file()).filename().string();
  std::string bytes = *read_file(layer);
  bytes[bytes.size() / 2] = static_cast<char>(~bytes[bytes.size() / 2]);
  ASSERT_TRUE(write_file(layer, bytes).ok());
  auto flipped = store_->import(damaged, "");
  ASSERT_FALSE(flipped.ok());
  EXPECT_NE(flipped.error().message.find("cannot import " + damaged), std::string::npos);
  expect_nothing_left();

  fs::resize_file(layer, 1000);
  auto cut = store_->import(damaged, "");
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().code, Code::kInvalid);
  EXPECT_NE(cut.error().message.find("is 1000 bytes long where"), std::string::npos)
      << cut.error().text();

  fs::remove(layer);
  EXPECT_NE(store_->import(damaged, "").error().message.find("is missing"), std::string::npos);

  for (const std::string& archive : {oci_archive(), saved_archive()}) {
    const std::string half = files() + "/half.tar";
    ASSERT_TRUE(write_file(half, read_file(archive)->substr(0, 600'000)).ok());
    auto torn = store_->import(half, "");
    ASSERT_FALSE(torn.ok()) << archive;
    EXPECT_EQ(torn.error().code, Code::kInvalid);
    EXPECT_EQ(torn.error().message, cat("cannot import ", half, ": cannot read the archive ", half,
                                        ": tar: Unexpected EOF in archive"));
  }
  expect_nothing_left();
}

TEST_F(ImageStoreTest, SaysWhatAFileIsNot) {
  const std::string text = files() + "/notes.txt", empty = files() + "/empty",
                    tar = files() + "/t.tar";
  ASSERT_TRUE(write_file(text, std::string(5000, 'x')).ok());
  fs::create_directories(empty);
  must_run({"tar", "-C", files(), "-cf", tar, "notes.txt"});
  EXPECT_EQ(store_->import("/no/such", "").error().message, "there is no file or folder /no/such");
  EXPECT_EQ(store_->import(text, "").error().message,
            cat("cannot import ", text, ": cannot read the archive ", text,
                ": tar: This does not look like a tar archive"));
  EXPECT_EQ(store_->import(empty, "").error().message,
            cat("cannot import ", empty, ": the folder is no OCI layout (it has no oci-layout)"));
  EXPECT_EQ(store_->import(tar, "").error().message,
            cat("cannot import ", tar,
                ": it is neither a docker-save archive (no manifest.json) "
                "nor an OCI archive (no oci-layout)"));
  EXPECT_EQ(store_->import(layout(), "Bad Name").error().code, Code::kInvalid);
}

TEST_F(ImageStoreTest, TakesTheImageForThisMachineFromAnIndex) {
  const std::string multi = files() + "/multi";
  fs::remove_all(multi);
  fs::copy(layout(), multi, fs::copy_options::recursive);
  const Descriptor own = layout_images(multi)->front().descriptor;
  auto entry = [&](const std::string& digest, std::string_view architecture) {
    return cat(R"({"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":")", digest,
               R"(","size":)", own.size, R"(,"platform":{"os":"linux","architecture":")",
               architecture, R"("}})");
  };
  const std::string other = "sha256:" + std::string(64, '0');
  auto name_index = [&](const std::string& entries) {
    const std::string index = cat(R"({"schemaVersion":2,"manifests":[)", entries, "]}");
    const std::string digest = sha256_digest(index);
    ASSERT_TRUE(write_file(blob_path(multi + "/blobs", digest), index).ok());
    ASSERT_TRUE(write_file(multi + "/index.json",
                           cat(R"({"manifests":[{"mediaType":"x","digest":")", digest,
                               R"(","size":1,"annotations":{)",
                               R"("io.containerd.image.name":"example.org/multi:1"}}]})"))
                    .ok());
  };
  name_index(entry(other, "s390x") + "," + entry(own.digest, own_platform().architecture));
  auto imported = store_->import(multi, "");
  ASSERT_TRUE(imported.ok()) << imported.error().text();
  EXPECT_EQ(imported->front().name, "example.org/multi:1");
  EXPECT_EQ(imported->front().digest, own.digest);
  name_index(entry(other, "s390x"));
  EXPECT_EQ(store_->import(multi, "").error().message,
            cat("cannot import ", multi, ": there is no image for ", text(own_platform()),
                " in it: it has linux/s390x"));
}

TEST_F(ImageStoreTest, PullsFromARegistryThatWantsALogin) {
  PrivateRegistry registry(daemon_->folder());
  registry.push(cat("oci:", layout(), ":tiny:1"), "team/tiny:1");
  const std::string name = registry.address() + "/team/tiny:1";
  const std::string refused = cat("cannot pull ", name, ": ", registry.address());

  auto wrong = store_->pull(name, {PrivateRegistry::kUser, "guess", {}});
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, Code::kUnauthenticated);
  EXPECT_EQ(wrong.error().message, refused + " refuses the login");
  EXPECT_EQ(store_->pull(name, {}).error().message,
            refused + " wants a login, or does not have it");
  expect_nothing_left();

  std::vector<ImageProgress> told;
  const RegistryLogin login{PrivateRegistry::kUser, PrivateRegistry::kPassword, {}};
  auto pulled = store_->pull(name, login, [&](const ImageProgress& at) { told.push_back(at); });
  ASSERT_TRUE(pulled.ok()) << pulled.error().text();
  EXPECT_EQ(pulled->name, name);
  EXPECT_EQ(pulled->digest, layout_images(layout())->front().descriptor.digest);
  const auto size = static_cast<int64_t>(fs::file_size(layer_file()));
  EXPECT_EQ(told.front(), (ImageProgress{Phase::kResolving, 0, 0}));
  EXPECT_EQ(told.back(), (ImageProgress{Phase::kUnpacking, size, size}));
  EXPECT_TRUE(fs::is_empty(work_));

  auto missing = store_->pull(registry.address() + "/team/none:1", login);
  EXPECT_EQ(missing.error().code, Code::kNotFound) << missing.error().text();
  EXPECT_EQ(missing.error().message, cat("cannot pull ", registry.address(), "/team/none:1: ",
                                         registry.address(), " does not have it"));
}

// docker's schema 2 has another form of configuration than OCI's, and skopeo would rewrite it.
TEST_F(ImageStoreTest, KeepsTheDigestThatTheRegistryHas) {
  PrivateRegistry registry(daemon_->folder());
  registry.push(cat("docker-archive:", files(), "/saved.tar"), "docker:1");
  const std::string auth =
      cat(R"({"auths":{")", registry.address(), R"(":{"auth":"YWRhOmFuYWx5dGljYWwgZW5naW5l"}}})");
  auto pulled = store_->pull(registry.address() + "/docker:1", {{}, {}, auth});
  ASSERT_TRUE(pulled.ok()) << pulled.error().text();
  EXPECT_EQ(client_->image(pulled->name)->target.media_type,
            "application/vnd.docker.distribution.manifest.v2+json");
  auto again = store_->pull(cat(registry.address(), "/docker@", pulled->digest), {{}, {}, auth});
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->digest, pulled->digest);
}

TEST_F(ImageStoreTest, DownloadsNoLayerThatIsHere) {
  PrivateRegistry registry(daemon_->folder());
  registry.push(cat("oci:", layout(), ":tiny:1"), "tiny:1");
  ASSERT_TRUE(store_->import(layout(), "").ok());
  int64_t largest = 0;
  auto note = [&](const ImageProgress& at) {
    if (at.phase == Phase::kDownloading) largest = std::max(largest, at.total);
  };
  auto pulled = store_->pull(registry.address() + "/tiny:1",
                             {PrivateRegistry::kUser, PrivateRegistry::kPassword, {}}, note);
  ASSERT_TRUE(pulled.ok()) << pulled.error().text();
  EXPECT_EQ(largest, 0);
}

TEST_F(ImageStoreTest, SaysWhenARegistryCannotBeReached) {
  auto away = store_->pull("127.0.0.1:1/app:1", {});  // a port that nothing listens on
  ASSERT_FALSE(away.ok());
  EXPECT_EQ(away.error().code, Code::kUnavailable);
  EXPECT_EQ(away.error().message, "cannot pull 127.0.0.1:1/app:1: 127.0.0.1:1 cannot be reached");
  EXPECT_FALSE(away.error().hint.empty());
}

TEST_F(ImageStoreTest, SaysWhenSkopeoIsMissing) {
  ImageStoreOptions without = options();
  without.skopeo = "no-such-skopeo";
  auto pulled = ImageStore(*client_, without).pull("busybox", {});
  ASSERT_FALSE(pulled.ok());
  EXPECT_EQ(pulled.error().code, Code::kUnavailable);
  EXPECT_EQ(pulled.error().hint, "install the package skopeo");
}

TEST_F(ImageStoreTest, E3_TellsTheTruthAboutAFullDisk) {
  const std::string small = daemon_->folder() + "/small";
  ASSERT_TRUE(make_directories(small).ok());
  ASSERT_EQ(::mount("tmpfs", small.c_str(), "tmpfs", 0, "size=256k"), 0);
  ImageStoreOptions narrow = options();
  narrow.work_folder = small + "/work";
  ImageStore store(*client_, narrow);
  PrivateRegistry registry(daemon_->folder());
  registry.push(cat("oci:", layout(), ":tiny:1"), "tiny:1");
  const std::string name = registry.address() + "/tiny:1";
  auto pulled = store.pull(name, {PrivateRegistry::kUser, PrivateRegistry::kPassword, {}});
  ASSERT_FALSE(pulled.ok());
  EXPECT_EQ(pulled.error().code, Code::kExhausted);
  const std::string& told = pulled.error().message;
  EXPECT_TRUE(told.starts_with(cat("the image ", name, " needs at least ",
                                   byte_size(static_cast<int64_t>(fs::file_size(layer_file()))),
                                   ", 25")))  // of 256 KiB
      << told;
  EXPECT_TRUE(told.ends_with("kB are free on " + narrow.work_folder)) << told;
  EXPECT_EQ(pulled.error().hint, "make room there: no image is unused");
  narrow.storage_folder = small;
  ImageStore full(*client_, narrow);
  auto imported = full.import(layout(), "");
  ASSERT_FALSE(imported.ok());
  EXPECT_EQ(imported.error().code, Code::kExhausted);
  EXPECT_NE(imported.error().message.find("the image tiny:1 needs at least "), std::string::npos)
      << imported.error().text();
  EXPECT_NE(imported.error().message.find(" are free on " + small), std::string::npos)
      << imported.error().text();
  expect_nothing_left();

  // What a prune would free is told, and is what it frees.
  Image other = store_->import(layout(), "other")->front();
  store_->needed_by([] { return std::vector<std::string>(); });
  const int64_t before = folder_bytes(daemon_->root());
  auto helped = store_->helped(error(Code::kExhausted, "full"), "it");
  Pruned pruned = *store_->prune(std::nullopt, /*dry_run=*/false);
  EXPECT_EQ(helped.hint,
            cat("'tessera image prune --all' would free ", byte_size(pruned.freed_bytes)));
  // But for blocks that are not full: the snapshot's are counted whole.
  EXPECT_NEAR(static_cast<double>(before - folder_bytes(daemon_->root())),
              static_cast<double>(pruned.freed_bytes), 300'000.0);
}

// Not on /run and not on /tmp, whatever a tool thinks best.
TEST_F(ImageStoreTest, E8_UnpacksOnTheDisksOfItsOwnFolders) {
  const std::string elsewhere = daemon_->folder() + "/elsewhere";
  ASSERT_TRUE(make_directories(elsewhere).ok());
  ASSERT_EQ(::mount("tmpfs", elsewhere.c_str(), "tmpfs", 0, "size=64k"), 0);
  ASSERT_EQ(::setenv("TMPDIR", elsewhere.c_str(), 1), 0);
  PrivateRegistry registry(daemon_->folder());
  registry.push(cat("oci:", layout(), ":tiny:1"), "tiny:1");
  const RegistryLogin login{PrivateRegistry::kUser, PrivateRegistry::kPassword, {}};
  EXPECT_TRUE(store_->pull(registry.address() + "/tiny:1", login).ok());
  for (const std::string& path : {oci_archive(), saved_archive(), layout()}) {
    auto imported = store_->import(path, "tiny");
    EXPECT_TRUE(imported.ok()) << imported.error().text();
  }
  EXPECT_EQ(::unsetenv("TMPDIR"), 0);
  EXPECT_TRUE(fs::is_empty(elsewhere));
  ::umount(elsewhere.c_str());
}

TEST_F(ImageStoreTest, E10_PrunesWhatWasNotUsedForATimeAndIsNotNeeded) {
  const Instant start = wall_now();
  for (const char* name : {"old", "fresh", "run", "queued", "held"})
    ASSERT_TRUE(store_->import(layout(), name).ok());
  auto whole = [](const std::string& name) { return "docker.io/library/" + name + ":latest"; };
  auto make_old = [&](const std::string& name) {
    ASSERT_TRUE(client_->set_image_labels(whole(name), {{"tessera.dev/last-used", "1000"}}).ok());
  };
  for (const char* name : {"old", "run", "queued", "held"}) make_old(name);
  ASSERT_TRUE(
      client_->create_container({.id = "c", .image = whole("run"), .spec_json = "{}"}).ok());
  store_->needed_by([&] {
    return std::vector{"queued@" + store_->resolve("queued")->digest, std::string("Not A Name")};
  });
  auto hold = std::make_unique<ImageStore::Hold>(*store_, "held");

  auto names = [](const Result<Pruned>& pruned) {
    std::string out;
    for (const Image& image : pruned->images) out += api::familiar_name(image.name) + " ";
    return out;
  };
  const Instant week_ago = start + Millis{168 * 3'600'000} * -1;
  auto would = store_->prune(week_ago, /*dry_run=*/true);
  ASSERT_TRUE(would.ok()) << would.error().text();
  EXPECT_EQ(names(would), "old:latest ");
  EXPECT_EQ(would->freed_bytes, 0) << "others have the same layers";
  EXPECT_EQ(store_->list()->size(), 5u);
  EXPECT_EQ(names(store_->prune(week_ago, false)), "old:latest ");
  EXPECT_EQ(names(store_->prune(std::nullopt, false)), "fresh:latest ");

  hold.reset();
  EXPECT_EQ(names(store_->prune(week_ago, false)), "held:latest ");
  // Its use is noted, and a new store knows it.
  store_->note_use(whole("queued"));
  ImageStore later(*client_, options());
  const std::vector<Image> known = later.list().value();
  for (const Image& image : known)
    EXPECT_EQ(image.last_used >= start, image.name == whole("queued")) << image.name;
  ASSERT_TRUE(client_->delete_container("c").ok());
  auto last = later.prune(std::nullopt, false);
  EXPECT_EQ(names(last), "queued:latest run:latest ");
  EXPECT_GT(last->freed_bytes, 1'000'000) << "layers and their files";
  expect_nothing_left();
}

TEST_F(ImageStoreTest, InspectsInDockersWords) {
  Image image = store_->import(layout(), "one:1")->front();
  ASSERT_TRUE(store_->import(layout(), "one:2").ok());
  auto told = store_->inspect("one:2");
  ASSERT_TRUE(told.ok()) << told.error().text();
  EXPECT_EQ(told->Id, image.blobs[1].digest);
  EXPECT_EQ(told->RepoTags, (std::vector<std::string>{"one:1", "one:2"}));
  EXPECT_EQ(told->RepoDigests, std::vector<std::string>{"one@" + image.digest});
  EXPECT_EQ(told->Config.User, "app");
  EXPECT_EQ(told->Config.Cmd, std::vector<std::string>{"/bin/sh"});
  EXPECT_EQ(told->RootFS.Layers, image.config.diff_ids);
  EXPECT_EQ(told->Size, image.size_bytes);
  EXPECT_EQ(store_->inspect("none").error().code, Code::kNotFound);
}

TEST_F(ImageStoreTest, ImportsAgainAfterContainerdWasKilledMidway) {
  bool killed = false;
  auto kill_once = [&](const ImageProgress& at) {
    if (at.phase == Phase::kUnpacking && !std::exchange(killed, true)) daemon_->kill();
  };
  auto broken = store_->import(layout(), "", kill_once);
  EXPECT_TRUE(killed);
  // The watcher may be quick enough for the import not to notice.
  EXPECT_TRUE(broken.ok() || broken.error().code == Code::kUnavailable) << broken.error().text();
  auto again = store_->import(layout(), "");
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_TRUE(client_->snapshot("native", again->front().chain_id).ok());
}

TEST_F(ImageStoreTest, SeveralImportsAtOnceShareTheirLayers) {
  std::vector<std::thread> threads;
  std::vector<Status> done(4, Ok);
  for (size_t i = 0; i < done.size(); ++i)
    threads.emplace_back([&, i] {
      auto imported = store_->import(i % 2 ? layout() : oci_archive(), cat("copy:", i));
      if (!imported.ok()) done[i] = imported.error();
    });
  for (std::thread& thread : threads) thread.join();
  for (const Status& each : done) EXPECT_TRUE(each.ok()) << each.error().text();
  EXPECT_EQ(store_->list()->size(), done.size());
  EXPECT_EQ(client_->snapshots("native")->size(), 1u);
}

TEST_F(ImageStoreTest, ClearsWhatAKilledProcessLeft) {
  ASSERT_TRUE(make_directories(work_ + "/abc/def").ok());
  ImageStore fresh(*client_, options());
  EXPECT_TRUE(fs::is_empty(work_));
}

TEST_F(ImageStoreTest, RefusesWorkOnceStopped) {
  store_->stop();
  EXPECT_FALSE(store_->import(oci_archive(), "").ok());
  expect_nothing_left();
}

}  // namespace
}  // namespace tessera::local
