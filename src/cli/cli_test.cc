// Whole command lines against a scripted server.

#include "cli/cli.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <mutex>

#include "api/log_frame.h"
#include "base/file.h"
#include "base/text.h"
#include "net/server.h"

namespace tessera::cli {
namespace {

class CliTest : public testing::Test {
 protected:
  using Answer = std::function<void(const net::Request&, const net::Exchange&)>;

  void SetUp() override {
    std::string pattern = testing::TempDir() + "/cli.XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    ::setenv("XDG_CONFIG_HOME", folder_.c_str(), 1);
    ::setenv("TESSERA_SERVER", (folder_ + "/s").c_str(), 1);
    server_ = std::make_unique<net::Server>(
        [this](const net::Request& request, net::Peer, const net::Exchange& exchange) {
          std::lock_guard lock(mutex_);
          std::string call = cat(request.method, " ", request.path);
          if (request.params.get("watch") == "true") call += " watch";
          calls_.push_back(call);
          bodies_[call] = request.body;
          auto found = answers_.find(call);
          if (found != answers_.end()) return found->second(request, exchange);
          exchange.respond(json(404, R"({"code":"not_found","message":"no such thing"})"));
        });
    ASSERT_TRUE(server_->listen(folder_ + "/s").ok());
  }
  void TearDown() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  static net::Response json(int status, std::string body) {
    return {.status = status, .headers = {{"Content-Type", "application/json"}}, .body = body};
  }
  void on(std::string call, Answer answer) {
    std::lock_guard lock(mutex_);
    answers_[std::move(call)] = std::move(answer);
  }
  void on(std::string call, std::string body, int status = 200) {
    on(std::move(call),
       [body = std::move(body), status](const net::Request&, const net::Exchange& exchange) {
         exchange.respond(json(status, body));
       });
  }

  // Runs `tessera LINE`; "~" stands for a blank inside a word.
  int run(std::string_view line, std::string_view input = {}) {
    Fd in(::memfd_create("in", MFD_CLOEXEC)), out(::memfd_create("out", MFD_CLOEXEC)),
        err(::memfd_create("err", MFD_CLOEXEC));
    EXPECT_EQ(::write(in.get(), input.data(), input.size()), static_cast<ssize_t>(input.size()));
    ::lseek(in.get(), 0, SEEK_SET);
    std::vector<std::string> words;
    for (const std::string& word : split(line, ' ')) words.push_back(replace_all(word, "~", " "));
    int code = run_cli(words, Console(in.get(), out.get(), err.get()));
    out_ = content(out.get());
    err_ = content(err.get());
    return code;
  }
  static std::string content(int fd) {
    std::string text(static_cast<size_t>(::lseek(fd, 0, SEEK_END)), '\0');
    EXPECT_EQ(::pread(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return text;
  }

  std::string folder_, out_, err_;
  std::unique_ptr<net::Server> server_;
  std::mutex mutex_;  // guards all below, which the server's thread uses too
  std::map<std::string, Answer> answers_;
  std::vector<std::string> calls_;
  std::map<std::string, std::string> bodies_;
};

constexpr std::string_view kJobs = "/api/v1/projects/default/jobs";

std::string job(std::string_view status, std::string_view spec = R"("image":"busybox")") {
  return cat(R"({"apiVersion":"tessera.dev/v1","kind":"Job","metadata":{"name":"a","project":)",
             R"("default","uid":"u","resourceVersion":5},"spec":{)", spec, R"(},"status":{)",
             status, "}}");
}
std::string list_of(std::string_view item) {
  return cat(R"({"items":[)", item, R"(],"resourceVersion":5})");
}
std::string line(std::string_view type, std::string_view object) {
  return cat(R"({"type":")", type, R"(","object":)", object, "}\n");
}

TEST_F(CliTest, RunWaitsAloudShowsTheOutputAndExitsWithTheJobsCode) {
  on(cat("POST ", kJobs), job(R"("phase":"Queued")"), 201);
  on(cat("GET ", kJobs),
     list_of(job(R"("phase":"Queued","waiting":{"message":"no GPU is free"})")));
  on(cat("GET ", kJobs, " watch"), [](const net::Request& request, const net::Exchange& exchange) {
    EXPECT_EQ(request.params.get("fieldSelector"), "metadata.name=a");
    EXPECT_EQ(request.params.get("resourceVersion"), "5");
    auto stream = exchange.start_stream(200, {});
    stream->write(line("MODIFIED", job(R"("phase":"Running","attempts":1,"node":"n1")")));
    stream->write(line("MODIFIED", job(R"("phase":"Failed","reason":"ExitCode","attempts":1,)"
                                       R"("exitCode":3)")));
    stream->finish();
  });
  on(cat("GET ", kJobs, "/a/logs"), [](const net::Request& request, const net::Exchange& exchange) {
    EXPECT_EQ(request.params.get("follow"), "true");
    EXPECT_EQ(request.params.get("attempt"), "1");
    exchange.respond({.status = 200, .headers = {}, .body = api::log_frame(1, "hello\n")});
  });
  on(cat("DELETE ", kJobs, "/a"), job(R"("phase":"Failed")"));
  EXPECT_EQ(run("run --rm --gpus 1 busybox echo hello"), 3);
  EXPECT_EQ(out_, "hello\n");
  EXPECT_EQ(err_, "tessera: job a waits: no GPU is free\ntessera: job a runs on n1\n");
  EXPECT_EQ(calls_.back(), cat("DELETE ", kJobs, "/a"));
}

TEST_F(CliTest, RunFollowsEveryAttemptOnceAcrossAServerThatGoesAway) {
  on(cat("POST ", kJobs), job(R"("phase":"Queued")"), 201);
  on(cat("GET ", kJobs), list_of(job(R"("phase":"Running","attempts":1)")));
  // The server stops, ending its streams, when the log has been read in part and is watched.
  std::shared_ptr<net::BodyStream> first_watch;
  bool read_once = false, watched_once = false;
  auto stop_when_both = [&] {
    if (!read_once || !first_watch) return;
    answers_[cat("GET ", kJobs)] = [](const net::Request&, const net::Exchange& exchange) {
      exchange.respond(json(200, list_of(job(R"("phase":"Queued","attempts":1)"))));
    };
    first_watch->finish();
  };
  on(cat("GET ", kJobs, " watch"), [&](const net::Request&, const net::Exchange& exchange) {
    auto stream = exchange.start_stream(200, {});
    if (!std::exchange(watched_once, true)) {
      first_watch = stream;
      return stop_when_both();
    }
    stream->write(line("MODIFIED", job(R"("phase":"Starting","attempts":2)")));
    stream->write(line("MODIFIED", job(R"("phase":"Succeeded","attempts":2)")));
    stream->finish();
  });
  auto give_log = [&](const net::Request& request, const net::Exchange& exchange) {
    std::string body = request.params.get("attempt") == "2" ? "second\n" : "one\ntwo\n";
    if (!std::exchange(read_once, true)) {
      body = "one\n";
      stop_when_both();
    }
    exchange.respond({.status = 200, .headers = {}, .body = api::log_frame(1, body)});
  };
  on(cat("GET ", kJobs, "/a/logs"), give_log);
  EXPECT_EQ(run("run busybox"), 0);
  EXPECT_EQ(out_, "one\ntwo\nsecond\n");
  server_.reset();
}

TEST_F(CliTest, RunWithAnImageThatCannotBePulledExits125AndSaysWhy) {
  on(cat("POST ", kJobs), job(R"("phase":"Queued")"), 201);
  on(cat("GET ", kJobs), list_of(job(R"("phase":"Failed","reason":"ImagePull","attempts":1,)"
                                     R"("message":"no such image")")));
  EXPECT_EQ(run("run nope"), 125);
  EXPECT_EQ(err_, "tessera: job a failed: ImagePull: no such image\n");
  EXPECT_EQ(run("run --sysctl a=b busybox"), 125);
  EXPECT_TRUE(err_.starts_with("tessera: --sysctl: is not offered: ")) << err_;
}

TEST_F(CliTest, RunDetachedPrintsTheName) {
  on(cat("POST ", kJobs), job(R"("phase":"Queued")"), 201);
  EXPECT_EQ(run("run -d --name a busybox"), 0);
  EXPECT_EQ(out_, "a\n");
  EXPECT_EQ(err_, "");
}

TEST_F(CliTest, AllGpusAreThoseOfTheLargestNode) {
  on("GET /api/v1/accelerators",
     R"({"items":[{"status":{"node":"n1","health":"Healthy"}},)"
     R"({"status":{"node":"n2","health":"Healthy"}},{"status":{"node":"n2","health":"Fenced"}},)"
     R"({"status":{"node":"n2","health":"Healthy"}}]})");
  on(cat("POST ", kJobs), job(R"("phase":"Queued")"), 201);
  EXPECT_EQ(run("run -d --gpus all busybox"), 0);
  EXPECT_EQ(err_, "tessera: --gpus all is 2 GPUs: all of node n2\n");
  EXPECT_TRUE(bodies_[cat("POST ", kJobs)].find(R"("gpus":2)") != std::string::npos);
}

TEST_F(CliTest, GetPrintsTablesNamesAndTheApisObjects) {
  on(cat("GET ", kJobs), list_of(job(R"("phase":"Running","node":"n1")")));
  on(cat("GET ", kJobs, "/a"), job(R"("phase":"Running","node":"n1")"));
  EXPECT_EQ(run("get jobs -o name"), 0);
  EXPECT_EQ(out_, "job/a\n");
  EXPECT_EQ(run("get job/a -o yaml"), 0);
  EXPECT_EQ(out_,
            "apiVersion: tessera.dev/v1\nkind: Job\nmetadata:\n  name: a\n  project: default\n  "
            "uid: u\n  resourceVersion: 5\nspec:\n  image: busybox\nstatus:\n  phase: Running\n  "
            "node: n1\n");
  EXPECT_EQ(run("get jobs"), 0);
  EXPECT_TRUE(
      out_.starts_with("NAME   PHASE     REASON   GPUS   NODE   AGE\na      Running   -  "
                       "      -      n1     "))
      << out_;
  EXPECT_EQ(run("get job nope"), 4);
  EXPECT_EQ(err_, "tessera: no such thing\n");
  EXPECT_EQ(run("get jbos"), 2);
  EXPECT_EQ(err_, "tessera: 'jbos' is not a kind (did you mean jobs?)\n");
}

constexpr std::string_view kManifests =
    "apiVersion: tessera.dev/v1\nkind: Job\nmetadata: {name: a}\nspec: {image: busybox}\n---\n"
    "apiVersion: tessera.dev/v1\nkind: Job\nmetadata: {name: b}\nspec: {image: busybox}\n";

TEST_F(CliTest, ApplyCreatesWhatIsNotThereAndReplacesWhatDiffers) {
  on(cat("GET ", kJobs, "/a"), job(R"("phase":"Running")"));
  on(cat("POST ", kJobs),
     R"({"metadata":{"name":"b"},"spec":{"image":"busybox"},"status":{"phase":"Queued"}})", 201);
  EXPECT_EQ(run("apply -f -", kManifests), 0) << err_;
  EXPECT_EQ(out_, "job/a unchanged\njob/b created\n");

  on(cat("PUT ", kJobs, "/a"), job(R"("phase":"Running")"));
  std::string changed = replace_all(kManifests, "{name: a}", "{name: a, labels: {x: y}}");
  EXPECT_EQ(run("apply -f -", changed), 0) << err_;
  EXPECT_EQ(out_, "job/a configured\njob/b created\n");
  // Not over somebody's faster change.
  EXPECT_TRUE(bodies_[cat("PUT ", kJobs, "/a")].find(R"("resourceVersion":5)") !=
              std::string::npos);
}

TEST_F(CliTest, ApplyDoesNothingWhenOneObjectIsWrong) {
  EXPECT_EQ(run("apply -f -", replace_all(kManifests, "{name: b}\nspec", "{name: b}\nsepc")), 2);
  EXPECT_EQ(err_,
            "tessera: standard input: object 2: sepc: unknown field (line 9) (did you mean "
            "spec?)\n");
  EXPECT_EQ(run("apply -f -", "apiVersion: tessera.dev/v1\nkind: Jbo\n"), 2);
  EXPECT_EQ(err_,
            "tessera: standard input: kind: 'Jbo' is not a kind (line 2) (did you mean Job?)\n");
  EXPECT_EQ(run("apply -f -",
                "apiVersion: tessera.dev/v1\nkind: Secret\nmetadata: {name: "
                "s}\ndata: {token: ''}\n"),
            2);
  EXPECT_TRUE(err_.starts_with("tessera: data.token: is empty")) << err_;
  EXPECT_TRUE(calls_.empty());
}

TEST_F(CliTest, WaitExitsWithTheCodeOfTheJob) {
  on(cat("GET ", kJobs),
     list_of(job(R"("phase":"Failed","reason":"Signal","exitCode":139,"message":"crashed")")));
  EXPECT_EQ(run("wait a"), 139);
  EXPECT_EQ(err_, "tessera: job a failed: Signal: crashed\n");
}

TEST_F(CliTest, WhySaysWhatWouldHelp) {
  on(cat("GET ", kJobs, "/a/why"),
     R"({"job":"a","phase":"Queued","position":2,"message":"no GPU is free",)"
     R"("details":["n1: all 8 in use"],"remedies":["with one GPU less: at once"]})");
  EXPECT_EQ(run("why job/a"), 0);
  EXPECT_EQ(out_,
            "job/a is Queued, place 2 of the queue: no GPU is free\n\nDetails:\n  - n1: all 8 in "
            "use\n\nWhat would let it start:\n  - with one GPU less: at once\n");
}

TEST_F(CliTest, ImagePullShowsProgressThenTheImage) {
  on("POST /api/v1/images/pull", [](const net::Request&, const net::Exchange& exchange) {
    auto stream = exchange.start_stream(200, {});
    stream->write("{\"progress\":\"layer 1 of 2\"}\n");
    stream->write("{\"images\":[{\"reference\":\"busybox:latest\"}]}\n");
    stream->finish();
  });
  EXPECT_EQ(run("image pull busybox"), 0);
  EXPECT_EQ(out_, "busybox:latest\n");
  EXPECT_EQ(err_, "layer 1 of 2\n");
  on("POST /api/v1/images/pull", [](const net::Request&, const net::Exchange& exchange) {
    auto stream = exchange.start_stream(200, {});
    stream->write("{\"error\":{\"code\":\"unavailable\",\"message\":\"no route\"}}\n");
    stream->finish();
  });
  EXPECT_EQ(run("image pull busybox"), 7);
  EXPECT_EQ(err_, "tessera: no route\n");
}

TEST_F(CliTest, ExecMovesInputAndBothOutputs) {
  std::shared_ptr<net::WebSocket> socket;
  std::vector<std::string> command;
  on(cat("GET ", kJobs), list_of(job(R"("phase":"Running")")));
  on(cat("GET ", kJobs, " watch"), [](const net::Request&, const net::Exchange& exchange) {
    exchange.start_stream(200, {})->finish();
  });
  on(cat("GET ", kJobs, "/a/exec"),
     [&](const net::Request& request, const net::Exchange& exchange) {
       command = request.params.all("command");
       auto opened = exchange.upgrade("v5.channel.k8s.io");
       ASSERT_TRUE(opened.ok());
       socket = *opened;
       socket->on_message([&](const std::string& message) {
         if (message.starts_with('\0')) {  // typed: echoed on both outputs
           socket->send("\1" + message.substr(1));
           socket->send("\2" + message.substr(1));
         } else if (message == "\xff" + std::string(1, '\0')) {
           socket->send("\3{\"exitCode\":9}");
           socket->close();
         }
       });
     });
  EXPECT_EQ(run("exec -i a sh -c cat~-", "typed"), 9);
  EXPECT_EQ(command, (std::vector<std::string>{"sh", "-c", "cat -"}));
  EXPECT_EQ(out_, "typed");
  EXPECT_EQ(err_, "typed");
  server_.reset();
}

TEST_F(CliTest, SlipsOnTheCommandLine) {
  EXPECT_EQ(run("runn"), 2);
  EXPECT_EQ(err_, "tessera: unknown command 'runn' (did you mean run?)\n");
  EXPECT_EQ(run("rm a"), 2);
  EXPECT_EQ(err_, "tessera: unknown command 'rm' (here it is 'tessera delete job')\n");
  EXPECT_EQ(run("squeue"), 2);
  EXPECT_EQ(err_, "tessera: unknown command 'squeue' (here it is 'tessera queue')\n");
  EXPECT_EQ(run("image lss"), 2);
  EXPECT_EQ(err_,
            "tessera: unknown command 'image lss' (there are image ls, image pull, image import, "
            "image rm, image build, image inspect, image prune)\n");
  EXPECT_EQ(run("ps --al"), 2);
  EXPECT_EQ(err_, "tessera: unknown flag --al (did you mean --all?)\n");
  EXPECT_EQ(run("logs"), 2);
  EXPECT_EQ(err_, "tessera: too few operands (usage: tessera logs [FLAGS] JOB)\n");
  EXPECT_EQ(run("exec -it a sh"), 125);
  EXPECT_EQ(err_,
            "tessera: --tty: the input is not a terminal (leave out -t to send it a file or a "
            "pipe)\n");
  EXPECT_EQ(run("--server /nowhere/s ps"), 7);
  EXPECT_EQ(err_,
            "tessera: no Tessera server listens at /nowhere/s: start one with 'tessera server'\n");
}

TEST_F(CliTest, CommandsOfTheProgramStandBesideTheOthers) {
  Console console;
  Command extra{.name = "extra", .operands = "", .doc = "Does more.", .connects = false};
  extra.run = [](Context&, const Args&) -> Result<int> { return 42; };
  std::vector<std::string> words = {"extra"};
  EXPECT_EQ(run_cli(words, console, {extra}), 42);
}

TEST_F(CliTest, UsageIsHoursWithASum) {
  std::map<std::string, std::string> asked;
  on("GET /api/v1/usage", [&](const net::Request& request, const net::Exchange& exchange) {
    for (const char* name : {"since", "until", "by", "project"})
      asked[name] = request.params.get(name);
    exchange.respond(json(200, R"({"time":"2026-03-01T00:00:00.000Z","items":[
      {"project":"p","user":"ana","acceleratorMs":5400000,"cpuMs":36000,
       "memoryMibSeconds":3686400,"jobs":3,"failed":1},
      {"project":"p","user":"","acceleratorMs":1,"cpuMs":0,"memoryMibSeconds":0,"jobs":1,
       "failed":0}]})"));
  });
  EXPECT_EQ(run("usage --since 2026-01-01 --until 2026-01-31 --by user,project --project p"), 0);
  EXPECT_EQ(out_,
            "USER    PROJECT   GPU-HOURS   CPU-HOURS   GIB-HOURS   JOBS   FAILED\n"
            "-       p         0.00        0.00        0.00        1      0\n"
            "ana     p         1.50        0.01        1.00        3      1\n"
            "(all)             1.50        0.01        1.00        4      1\n");
  EXPECT_EQ(
      asked,
      (std::map<std::string, std::string>{
          {"since", "2026-01-01"}, {"until", "2026-01-31"}, {"by", "user"}, {"project", "p"}}));
  EXPECT_EQ(run("usage --by user -o csv"), 0);
  EXPECT_EQ(out_,
            "user,accelerator_hours,cpu_hours,memory_gib_hours,jobs,failed\n"
            ",0.000000,0.000000,0.000000,1,0\n"
            "ana,1.500000,0.010000,1.000000,3,1\n");
  EXPECT_EQ(asked["project"], "");
  EXPECT_EQ(run("usage -o json"), 0);
  EXPECT_NE(out_.find("\"acceleratorMs\": 5400000"), std::string::npos) << out_;
  for (const auto& [line, message] :
       {std::pair("usage --since yesterday",
                  "tessera: --since: 'yesterday' is neither a day nor a duration (write it like "
                  "2026-01-31 or 7d)\n"),
        std::pair("usage --until 7d",
                  "tessera: --until: '7d' is not a day (write it like 2026-01-31)\n"),
        std::pair("usage --by group",
                  "tessera: --by: 'group' is none of project, user, day (write it like --by "
                  "project,day)\n")}) {
    EXPECT_NE(run(line), 0);
    EXPECT_EQ(err_, message);
  }
}

TEST_F(CliTest, ProjectSetChangesWhatItNames) {
  constexpr std::string_view kProject = R"({"metadata":{"name":"p","resourceVersion":4},"spec":)"
                                        R"({"description":"d","hostPaths":["/a","/b"],)"
                                        R"("quota":{"max":"2"}}})";
  on("GET /api/v1/projects/p", std::string(kProject));
  on("PUT /api/v1/projects/p", std::string(kProject));
  EXPECT_EQ(run("project set p --add-host-path /c --add-host-path /a --remove-host-path /b"), 0);
  const std::string& body = bodies_["PUT /api/v1/projects/p"];
  EXPECT_NE(body.find(R"("hostPaths":["/a","/c"])"), std::string::npos) << body;
  EXPECT_NE(body.find(R"("description":"d")"), std::string::npos) << body;
  EXPECT_EQ(run("project set p --max-gpus none"), 0);
  EXPECT_EQ(body.find("\"max\""), std::string::npos) << body;
  EXPECT_NE(run("project set p --remove-host-path /x"), 0);
  EXPECT_EQ(err_, "tessera: --remove-host-path: /x is not among the folders that it may mount\n");
}

}  // namespace
}  // namespace tessera::cli
