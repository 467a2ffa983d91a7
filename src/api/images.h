#pragma once
// Images: what is told of them, and what is asked of them.

#include "api/requests.h"

namespace tessera::api {

struct Image {
  std::string reference;
  std::string digest;
  int64_t sizeBytes = 0;
  Instant created;
  Instant lastUsed;

  bool operator==(const Image&) const = default;
  static constexpr std::string_view kTypeName = "Image";
  static constexpr auto fields() {
    return std::tuple(
        field("reference", &Image::reference, "Name and tag.", {.required = true}),
        field("digest", &Image::digest, "Digest of the manifest."),
        field("sizeBytes", &Image::sizeBytes, "Size of config and layers as stored, in bytes."),
        field("created", &Image::created, "When it was built."),
        field("lastUsed", &Image::lastUsed,
              "When it was last pulled or imported, or a container of it started or ended; to the "
              "hour."));
  }
};
static_assert(schema::complete<Image>());

struct ImageQuery {
  std::string reference;

  bool operator==(const ImageQuery&) const = default;
  static constexpr std::string_view kTypeName = "ImageQuery";
  static constexpr auto fields() {
    return std::tuple(field("reference", &ImageQuery::reference, "Image reference.",
                            {.required = true, .example = "busybox:latest"}));
  }
};
static_assert(schema::complete<ImageQuery>());

struct PullRequest {
  std::string reference;
  std::string user;
  std::string password;
  std::string auths;

  bool operator==(const PullRequest&) const = default;
  static constexpr std::string_view kTypeName = "PullRequest";
  static constexpr auto fields() {
    return std::tuple(
        field("reference", &PullRequest::reference, "Image to pull.", {.required = true}),
        field("user", &PullRequest::user, "Name at the registry."),
        field("password", &PullRequest::password, "Password or token at the registry.",
              {.secret = true}),
        field("auths", &PullRequest::auths,
              "Content of a docker config.json to take credentials from.",
              {.secret = true, .maximum = 1 << 20}));
  }
};
static_assert(schema::complete<PullRequest>());

struct ImportRequest {
  std::string path;
  std::string reference;

  bool operator==(const ImportRequest&) const = default;
  static constexpr std::string_view kTypeName = "ImportRequest";
  static constexpr auto fields() {
    return std::tuple(
        field("path", &ImportRequest::path, "Archive or OCI layout on the server's disk.",
              {.required = true, .format = schema::Format::kAbsolutePath}),
        field("reference", &ImportRequest::reference,
              "Name to give it; the archive's own when empty."));
  }
};
static_assert(schema::complete<ImportRequest>());

// One line of the stream that pull and import answer with: progress, then the images or an error.
struct ImageProgress {
  std::string progress;
  std::vector<Image> images;
  std::optional<ErrorBody> error;

  bool operator==(const ImageProgress&) const = default;
  static constexpr std::string_view kTypeName = "ImageProgress";
  static constexpr auto fields() {
    return std::tuple(field("progress", &ImageProgress::progress, "What is going on."),
                      field("images", &ImageProgress::images, "Last line: what there is now."),
                      field("error", &ImageProgress::error, "Last line: why it failed."));
  }
};
static_assert(schema::complete<ImageProgress>());

// docker inspect's names from here on, so that what reads its output reads ours.
struct ImageHealthcheck {
  std::vector<std::string> Test;
  int64_t Interval = 0;
  int64_t Timeout = 0;
  int64_t StartPeriod = 0;
  int64_t Retries = 0;

  bool operator==(const ImageHealthcheck&) const = default;
  static constexpr std::string_view kTypeName = "ImageHealthcheck";
  static constexpr auto fields() {
    return std::tuple(
        field("Test", &ImageHealthcheck::Test, "NONE, or CMD or CMD-SHELL and the command."),
        field("Interval", &ImageHealthcheck::Interval, "Between two checks, in nanoseconds."),
        field("Timeout", &ImageHealthcheck::Timeout, "For one check, in nanoseconds."),
        field("StartPeriod", &ImageHealthcheck::StartPeriod,
              "Before failures count, in nanoseconds."),
        field("Retries", &ImageHealthcheck::Retries, "Failures in a row that make it unhealthy."));
  }
};
static_assert(schema::complete<ImageHealthcheck>());

struct ImageConfig {
  std::string User;
  std::map<std::string, Nothing> ExposedPorts;
  std::vector<std::string> Env;
  std::vector<std::string> Entrypoint;
  std::vector<std::string> Cmd;
  std::optional<ImageHealthcheck> Healthcheck;
  std::map<std::string, Nothing> Volumes;
  std::string WorkingDir;
  std::map<std::string, std::string> Labels;
  std::string StopSignal;

  bool operator==(const ImageConfig&) const = default;
  static constexpr std::string_view kTypeName = "ImageConfig";
  static constexpr auto fields() {
    return std::tuple(
        field("User", &ImageConfig::User, "user[:group] that its programs run as."),
        field("ExposedPorts", &ImageConfig::ExposedPorts, "Ports that its programs listen on."),
        field("Env", &ImageConfig::Env, "NAME=value."),
        field("Entrypoint", &ImageConfig::Entrypoint, "Program and first arguments."),
        field("Cmd", &ImageConfig::Cmd, "Arguments unless others are given."),
        field("Healthcheck", &ImageConfig::Healthcheck, "How to tell whether it is well."),
        field("Volumes", &ImageConfig::Volumes, "Folders meant to be mounted."),
        field("WorkingDir", &ImageConfig::WorkingDir, "Folder that its programs start in."),
        field("Labels", &ImageConfig::Labels, "Free text by name."),
        field("StopSignal", &ImageConfig::StopSignal, "What asks its program to end."));
  }
};
static_assert(schema::complete<ImageConfig>());

struct ImageLayers {
  std::string Type;
  std::vector<std::string> Layers;

  bool operator==(const ImageLayers&) const = default;
  static constexpr std::string_view kTypeName = "ImageLayers";
  static constexpr auto fields() {
    return std::tuple(
        field("Type", &ImageLayers::Type, "Always layers."),
        field("Layers", &ImageLayers::Layers, "Digests of the layers uncompressed, lowest first."));
  }
};
static_assert(schema::complete<ImageLayers>());

struct ImageDetails {
  std::string Id;
  std::vector<std::string> RepoTags;
  std::vector<std::string> RepoDigests;
  Instant Created;
  ImageConfig Config;
  std::string Architecture;
  std::string Variant;
  std::string Os;
  int64_t Size = 0;
  ImageLayers RootFS;
  Instant LastUsed;

  bool operator==(const ImageDetails&) const = default;
  static constexpr std::string_view kTypeName = "ImageDetails";
  static constexpr auto fields() {
    return std::tuple(
        field("Id", &ImageDetails::Id, "Digest of its configuration.", {.required = true}),
        field("RepoTags", &ImageDetails::RepoTags, "Names that it has here."),
        field("RepoDigests", &ImageDetails::RepoDigests, "The same with the manifest's digest."),
        field("Created", &ImageDetails::Created, "When it was built."),
        field("Config", &ImageDetails::Config, "What containers of it get unless told otherwise."),
        field("Architecture", &ImageDetails::Architecture, "Of the machines that it is for."),
        field("Variant", &ImageDetails::Variant, "Of the architecture."),
        field("Os", &ImageDetails::Os, "Of the machines that it is for."),
        field("Size", &ImageDetails::Size, "Of config and layers as stored, in bytes."),
        field("RootFS", &ImageDetails::RootFS, "Its layers."),
        field("LastUsed", &ImageDetails::LastUsed,
              "When one of its names was last used; docker has no such field."));
  }
};
static_assert(schema::complete<ImageDetails>());

// The stream is as of ExecQuery: the context as a tar archive on channel 0, what the build says on
// channel 2, the names of the image on channel 1.
struct BuildQuery {
  std::vector<std::string> tags;
  std::string dockerfile;
  std::vector<std::string> buildArgs;
  std::vector<std::string> labels;
  std::string target;
  bool noCache = false;
  bool pull = false;
  std::string platform;

  bool operator==(const BuildQuery&) const = default;
  static constexpr std::string_view kTypeName = "BuildQuery";
  static constexpr auto fields() {
    return std::tuple(
        field("tags", &BuildQuery::tags, "Names for the image, the parameter given once for each.",
              {.required = true, .minimum = 1, .maximum = 32, .example = "team/train:1"}),
        field("dockerfile", &BuildQuery::dockerfile,
              "Where it is in the context; Dockerfile or Containerfile when empty.",
              {.maximum = 4096}),
        field("buildArgs", &BuildQuery::buildArgs, "NAME=value for an ARG.", {.maximum = 256}),
        field("labels", &BuildQuery::labels, "NAME=value of the image.", {.maximum = 256}),
        field("target", &BuildQuery::target, "The stage to build; the last one when empty.",
              {.maximum = 256}),
        field("noCache", &BuildQuery::noCache, "Run each step, also those that ran before."),
        field("pull", &BuildQuery::pull,
              "Ask the registries for the images that it begins from, also for those that are "
              "here."),
        field("platform", &BuildQuery::platform, "Refused unless it is that of the machine.",
              {.maximum = 64, .example = "linux/amd64"}));
  }
};
static_assert(schema::complete<BuildQuery>());

struct PruneRequest {
  Millis unusedFor;
  bool dryRun = false;

  bool operator==(const PruneRequest&) const = default;
  static constexpr std::string_view kTypeName = "PruneRequest";
  static constexpr auto fields() {
    return std::tuple(field("unusedFor", &PruneRequest::unusedFor,
                            "Remove what was last used longer ago than this; 0s: whatever is in no "
                            "use now.",
                            {.required = true, .minimum = 0, .example = "168h"}),
                      field("dryRun", &PruneRequest::dryRun, "Tell only, remove nothing."));
  }
};
static_assert(schema::complete<PruneRequest>());

struct PruneResult {
  std::vector<Image> images;
  int64_t freedBytes = 0;

  bool operator==(const PruneResult&) const = default;
  static constexpr std::string_view kTypeName = "PruneResult";
  static constexpr auto fields() {
    return std::tuple(
        field("images", &PruneResult::images, "What was removed.", {.required = true}),
        field("freedBytes", &PruneResult::freedBytes,
              "What that frees on the disk: layers that no other image has.", {.required = true}));
  }
};
static_assert(schema::complete<PruneResult>());

}  // namespace tessera::api
