#include "engine/local/containerd/subscription.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "base/text.h"
#include "containerd/events/task.pb.h"
#include "engine/local/containerd/connection.h"

namespace tessera::local {

namespace {

namespace v1 = services::events::v1;

// How long to wait before asking again whether the subscription is in force.
constexpr std::chrono::milliseconds kProbeEvery{50};
// Between attempts to reach a containerd that is away.
constexpr std::chrono::milliseconds kRetryEvery{200};

template <class Message>
std::optional<Message> decode(const v1::Envelope& envelope, std::string_view type) {
  Message message;
  if (envelope.event().type_url() != type || !message.ParseFromString(envelope.event().value()))
    return std::nullopt;
  return message;
}

// Starting and exiting of a container's first process and of execs, OOM; nullopt for all else.
std::optional<Event> to_event(const v1::Envelope& envelope) {
  using What = Event::What;
  namespace events = ::containerd::events;
  Instant at = instant(envelope.timestamp());
  if (auto e = decode<events::TaskExit>(envelope, "containerd.events.TaskExit"))
    return Event{What::kExited, e->container_id(), e->id() == e->container_id() ? "" : e->id(),
                 e->pid(),      e->exit_status(),  instant(e->exited_at())};
  if (auto e = decode<events::TaskOOM>(envelope, "containerd.events.TaskOOM"))
    return Event{What::kOutOfMemory, e->container_id(), {}, 0, 0, at};
  if (auto e = decode<events::TaskStart>(envelope, "containerd.events.TaskStart"))
    return Event{What::kStarted, e->container_id(), {}, e->pid(), 0, at};
  if (auto e = decode<events::TaskExecStarted>(envelope, "containerd.events.TaskExecStarted"))
    return Event{What::kStarted, e->container_id(), e->exec_id(), e->pid(), 0, at};
  if (auto e = decode<events::TaskDelete>(envelope, "containerd.events.TaskDelete"))
    return Event{What::kDeleted, e->container_id(), e->id() == e->container_id() ? "" : e->id(),
                 e->pid(),       e->exit_status(),  instant(e->exited_at())};
  return std::nullopt;
}

std::string fresh_topic() {
  std::random_device random;
  return cat("/tessera/subscribed/", random(), "-", random());
}

}  // namespace

// One stream at a time, read on the own thread. containerd does not say when a subscription is in
// force, and a list made before that could miss an exit for ever. So we publish an event of our own
// until it comes back to us: only then is the stream connected.
class Subscription::Impl {
 public:
  Impl(std::shared_ptr<const Connection> connection, std::function<void(const Event&)> on_event)
      : connection_(std::move(connection)),
        on_event_(std::move(on_event)),
        thread_([this] { run(); }) {}

  ~Impl() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      if (context_) context_->TryCancel();
    }
    stop_.notify_all();
    thread_.join();
  }

 private:
  void run() {
    while (!stopped()) {
      follow();
      std::unique_lock lock(mutex_);
      stop_.wait_for(lock, kRetryEvery, [this] { return stopping_; });
    }
  }

  bool stopped() {
    std::lock_guard lock(mutex_);
    return stopping_;
  }

  // One stream, from its start to its end.
  void follow() {
    grpc::ClientContext context;
    context.AddMetadata("containerd-namespace", connection_->ns);
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return;
      context_ = &context;
    }
    connected_ = false;
    topic_ = fresh_topic();
    read(context);
    {
      std::lock_guard lock(mutex_);
      context_ = nullptr;
    }
    if (connected_ && !stopped()) on_event_({Event::What::kDisconnected, {}, {}, 0, 0, {}});
  }

  void read(grpc::ClientContext& context) {
    v1::SubscribeRequest request;
    request.add_filters(cat("namespace==", connection_->ns, ",topic~=\"^/tasks/\""));
    request.add_filters(cat("topic==\"", topic_, "\""));
    grpc::CompletionQueue queue;
    v1::Envelope envelope;
    grpc::Status status;
    auto stream = connection_->events->AsyncSubscribe(&context, request, &queue, this);
    bool ok = next(queue);
    while (ok) {
      stream->Read(&envelope, this);
      ok = next(queue);
      if (ok) deliver(envelope);
    }
    stream->Finish(&status, this);
    next(queue);
    queue.Shutdown();
    next(queue);
  }

  // The next completion; probes while it is not yet known that the subscription is in force.
  bool next(grpc::CompletionQueue& queue) {
    void* tag = nullptr;
    bool ok = false;
    while (true) {
      if (connected_) return queue.Next(&tag, &ok) && ok;
      auto soon = std::chrono::system_clock::now() + kProbeEvery;
      grpc::CompletionQueue::NextStatus got = queue.AsyncNext(&tag, &ok, soon);
      if (got != grpc::CompletionQueue::TIMEOUT)
        return got == grpc::CompletionQueue::GOT_EVENT && ok;
      probe();
    }
  }

  void probe() {
    grpc::ClientContext context;
    context.AddMetadata("containerd-namespace", connection_->ns);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(1));
    v1::PublishRequest request;
    request.set_topic(topic_);
    request.mutable_event()->set_type_url("google.protobuf.Empty");
    google::protobuf::Empty reply;
    connection_->events->Publish(&context, request, &reply);  // lost ones are sent again
  }

  void deliver(const v1::Envelope& envelope) {
    if (envelope.topic() == topic_) {
      if (!std::exchange(connected_, true)) on_event_({Event::What::kConnected, {}, {}, 0, 0, {}});
      return;
    }
    // What comes before kConnected is told too: the list that follows it will agree.
    if (std::optional<Event> event = to_event(envelope)) on_event_(*event);
  }

  const std::shared_ptr<const Connection> connection_;
  const std::function<void(const Event&)> on_event_;
  bool connected_ = false;  // own thread
  std::string topic_;       // own thread

  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;                   // under mutex_
  grpc::ClientContext* context_ = nullptr;  // under mutex_
  std::thread thread_;                      // last: it uses all of the above
};

Subscription::Subscription(const Containerd& client, std::function<void(const Event&)> on_event)
    : impl_(std::make_unique<Impl>(client.connection_, std::move(on_event))) {}

Subscription::~Subscription() = default;

}  // namespace tessera::local
