#pragma once
// Every endpoint, one typed row each. The client, the command line, OpenAPI and the authorisation
// test derive from these rows; the server binds one handler to each and does not start when one is
// missing. A row without a permission cannot be written.

#include <span>

#include "api/codec.h"
#include "api/images.h"
#include "api/permissions.h"
#include "api/requests.h"
#include "api/usage.h"
#include "api/usage_report.h"

namespace tessera::api {

enum class Method { kGet, kPost, kPut, kPatch, kDelete };
constexpr std::array<std::string_view, 5> enum_names(Method) {
  return {"GET", "POST", "PUT", "PATCH", "DELETE"};
}

enum class Shape {
  kJson,       // one document
  kText,       // text as it is (logs)
  kStream,     // newline-delimited JSON documents of the response type
  kWebSocket,  // channels, see ExecQuery
};

struct RouteInfo {
  std::string_view id;  // unique, camelCase: OpenAPI's operationId
  Method method;
  std::string_view path;  // "/api/v1/projects/{project}/jobs/{name}"
  Permission permission;
  Shape shape;
  std::string_view doc;
  const schema::Type& (*query)();
  const schema::Type& (*request)();
  const schema::Type& (*response)();
};

template <class Q, class B, class A>
struct Route : RouteInfo {
  using Query = Q;
  using Body = B;
  using Answer = A;
  constexpr Route(std::string_view id_, Method method_, std::string_view path_,
                  Permission permission_, std::string_view doc_, Shape shape_ = Shape::kJson)
      : RouteInfo{id_,
                  method_,
                  path_,
                  permission_,
                  shape_,
                  doc_,
                  &schema::describe<Q>,
                  &schema::describe<B>,
                  &schema::describe<A>} {}
};

namespace routes {

#define JOBS "/api/v1/projects/{project}/jobs"
#define SECRETS "/api/v1/projects/{project}/secrets"

inline constexpr Route<Nothing, Nothing, Nothing> kHealthz{
    "healthz", Method::kGet, "/healthz", Permission::kPublic, "The process lives.", Shape::kText};
inline constexpr Route<Nothing, Nothing, Nothing> kReadyz{
    "readyz",
    Method::kGet,
    "/readyz",
    Permission::kPublic,
    "The server takes and runs jobs; else 503 and why.",
    Shape::kText};
inline constexpr Route<Nothing, Nothing, Value> kOpenApi{"openapi", Method::kGet, "/openapi.json",
                                                         Permission::kPublic,
                                                         "This API as an OpenAPI 3.1 document."};
inline constexpr Route<Nothing, Nothing, Version> kVersion{"version", Method::kGet,
                                                           "/api/v1/version", Permission::kPublic,
                                                           "Version of the server and its engine."};

inline constexpr Route<ListQuery, Nothing, ListOf<Job>> kListAllJobs{
    "listAllJobs", Method::kGet, "/api/v1/jobs", Permission::kViewCluster,
    "Jobs of all projects that the caller may see."};
inline constexpr Route<ListQuery, Nothing, ListOf<Job>> kListJobs{
    "listJobs", Method::kGet, JOBS, Permission::kViewProject, "Jobs of a project."};
inline constexpr Route<Nothing, Job, Job> kCreateJob{
    "createJob", Method::kPost, JOBS, Permission::kRunJobs,
    "Submits a job. It is kept when this has answered. With an Idempotency-Key header a repeated "
    "call gives the first one's job."};
inline constexpr Route<Nothing, Nothing, Job> kGetJob{"getJob", Method::kGet, JOBS "/{name}",
                                                      Permission::kViewProject, "One job."};
inline constexpr Route<Nothing, Job, Job> kReplaceJob{
    "replaceJob", Method::kPut, JOBS "/{name}", Permission::kRunJobs,
    "Changes labels, annotations, priority, retries, maxRuntime or removeAfter of a job."};
inline constexpr Route<Nothing, Value, Job> kPatchJob{"patchJob", Method::kPatch, JOBS "/{name}",
                                                      Permission::kRunJobs,
                                                      "The same by JSON merge patch."};
inline constexpr Route<DeleteQuery, Nothing, Job> kDeleteJob{
    "deleteJob", Method::kDelete, JOBS "/{name}", Permission::kRunJobs,
    "Stops the job if it runs, then removes it with its logs."};
inline constexpr Route<Nothing, StopRequest, Job> kStopJob{
    "stopJob", Method::kPost, JOBS "/{name}/stop", Permission::kRunJobs,
    "Stops the job: signal, grace, SIGKILL. It ends as Cancelled."};
inline constexpr Route<Nothing, SignalRequest, Job> kSignalJob{
    "signalJob", Method::kPost, JOBS "/{name}/signal", Permission::kRunJobs,
    "Sends a signal to every process of a running job."};
inline constexpr Route<Nothing, Nothing, ListOf<Task>> kListTasks{
    "listTasks", Method::kGet, JOBS "/{name}/tasks", Permission::kViewProject,
    "The job's tasks: where they run, what they hold, how they ended."};
inline constexpr Route<Nothing, Nothing, Why> kWhy{
    "whyJob", Method::kGet, JOBS "/{name}/why", Permission::kViewProject,
    "Why the job waits and what would let it start."};
inline constexpr Route<LogQuery, Nothing, Nothing> kJobLogs{
    "jobLogs",
    Method::kGet,
    JOBS "/{name}/logs",
    Permission::kViewProject,
    "Output of a task, stdout and stderr together. With \"Accept: "
    "application/vnd.docker.multiplexed-stream\" in docker's frames, which tell them apart.",
    Shape::kText};
inline constexpr Route<ExecQuery, Nothing, Nothing> kExecJob{
    "execJob",
    Method::kGet,
    JOBS "/{name}/exec",
    Permission::kRunJobs,
    "Runs a program in a task's container.",
    Shape::kWebSocket};
inline constexpr Route<ExecQuery, Nothing, Nothing> kAttachJob{
    "attachJob",
    Method::kGet,
    JOBS "/{name}/attach",
    Permission::kRunJobs,
    "Connects to the standard streams of a task's own program.",
    Shape::kWebSocket};

inline constexpr Route<FilesQuery, Nothing, Nothing> kJobFiles{
    "jobFiles",
    Method::kGet,
    JOBS "/{name}/files",
    Permission::kRunJobs,
    "Copies files out of a task's container or into it, with the rights of its user.",
    Shape::kWebSocket};
inline constexpr Route<PortForwardQuery, Nothing, Nothing> kForwardPort{
    "forwardPort",
    Method::kGet,
    JOBS "/{name}/portforward",
    Permission::kRunJobs,
    "Connects to a port of a program in a task's container.",
    Shape::kWebSocket};

inline constexpr Route<ListQuery, Nothing, ListOf<Event>> kListAllEvents{
    "listAllEvents", Method::kGet, "/api/v1/events", Permission::kViewCluster,
    "Events of the cluster and of all projects that the caller may see."};
inline constexpr Route<ListQuery, Nothing, ListOf<Event>> kListEvents{
    "listEvents", Method::kGet, "/api/v1/projects/{project}/events", Permission::kViewProject,
    "Events of a project, oldest first."};

inline constexpr Route<ListQuery, Nothing, ListOf<Secret>> kListSecrets{
    "listSecrets", Method::kGet, SECRETS, Permission::kManageSecrets,
    "Secrets of a project; their keys, never their values."};
inline constexpr Route<Nothing, Secret, Secret> kCreateSecret{
    "createSecret", Method::kPost, SECRETS, Permission::kManageSecrets, "Adds a secret."};
inline constexpr Route<Nothing, Nothing, Secret> kGetSecret{
    "getSecret", Method::kGet, SECRETS "/{name}", Permission::kManageSecrets,
    "One secret; its keys, never its values."};
inline constexpr Route<Nothing, Secret, Secret> kReplaceSecret{
    "replaceSecret", Method::kPut, SECRETS "/{name}", Permission::kManageSecrets,
    "Replaces a secret. Running jobs keep the old values."};
inline constexpr Route<DeleteQuery, Nothing, Secret> kDeleteSecret{
    "deleteSecret", Method::kDelete, SECRETS "/{name}", Permission::kManageSecrets,
    "Removes a secret."};

inline constexpr Route<ListQuery, Nothing, ListOf<Project>> kListProjects{
    "listProjects", Method::kGet, "/api/v1/projects", Permission::kViewCluster,
    "All projects that the caller may see."};
inline constexpr Route<Nothing, Project, Project> kCreateProject{
    "createProject", Method::kPost, "/api/v1/projects", Permission::kManageCluster,
    "Adds a project."};
inline constexpr Route<Nothing, Nothing, Project> kGetProject{
    "getProject", Method::kGet, "/api/v1/projects/{name}", Permission::kViewProject,
    "One project."};
inline constexpr Route<Nothing, Project, Project> kReplaceProject{
    "replaceProject", Method::kPut, "/api/v1/projects/{name}", Permission::kManageProject,
    "Changes a project. Quota and mounts only an admin changes."};
inline constexpr Route<DeleteQuery, Nothing, Project> kDeleteProject{
    "deleteProject", Method::kDelete, "/api/v1/projects/{name}", Permission::kManageCluster,
    "Removes a project that has no jobs and no secrets."};

inline constexpr Route<Nothing, Nothing, WhoAmI> kWhoAmI{
    "whoAmI", Method::kGet, "/api/v1/whoami", Permission::kViewCluster,
    "Who the caller is, and which roles that gives."};
inline constexpr Route<ListQuery, Nothing, ListOf<User>> kListUsers{
    "listUsers", Method::kGet, "/api/v1/users", Permission::kManageCluster, "All users."};
inline constexpr Route<Nothing, User, User> kCreateUser{
    "createUser", Method::kPost, "/api/v1/users", Permission::kManageCluster, "Adds a user."};
inline constexpr Route<Nothing, Nothing, User> kGetUser{
    "getUser", Method::kGet, "/api/v1/users/{name}", Permission::kManageCluster, "One user."};
inline constexpr Route<Nothing, User, User> kReplaceUser{
    "replaceUser", Method::kPut, "/api/v1/users/{name}", Permission::kManageCluster,
    "Changes a user. It counts for the next request."};
inline constexpr Route<DeleteQuery, Nothing, User> kDeleteUser{
    "deleteUser", Method::kDelete, "/api/v1/users/{name}", Permission::kManageCluster,
    "Removes a user with their tokens and memberships; their jobs stay."};
inline constexpr Route<ListQuery, Nothing, ListOf<Token>> kListTokens{
    "listTokens", Method::kGet, "/api/v1/tokens", Permission::kOwnAccount,
    "The caller's tokens; for an admin everyone's. Never their texts."};
inline constexpr Route<Nothing, Token, IssuedToken> kCreateToken{
    "createToken", Method::kPost, "/api/v1/tokens", Permission::kOwnAccount,
    "Makes a token. Its text is in this answer and never seen again."};
inline constexpr Route<Nothing, Nothing, Token> kGetToken{
    "getToken", Method::kGet, "/api/v1/tokens/{name}", Permission::kOwnAccount, "One token."};
inline constexpr Route<DeleteQuery, Nothing, Token> kDeleteToken{
    "deleteToken", Method::kDelete, "/api/v1/tokens/{name}", Permission::kOwnAccount,
    "Revokes a token: it is refused from now on."};
inline constexpr Route<AuditQuery, Nothing, ListOf<AuditRecord>> kListAudit{
    "listAudit", Method::kGet, "/api/v1/audit", Permission::kManageCluster,
    "Who tried to change what, newest first. Of jobs' changes the last 100,000 are kept, and as "
    "many of all others."};

inline constexpr Route<ListQuery, Nothing, ListOf<Node>> kListNodes{
    "listNodes", Method::kGet, "/api/v1/nodes", Permission::kViewCluster, "All nodes."};
inline constexpr Route<Nothing, Nothing, Node> kGetNode{
    "getNode", Method::kGet, "/api/v1/nodes/{name}", Permission::kViewCluster, "One node."};
inline constexpr Route<Nothing, Value, Node> kPatchNode{
    "patchNode", Method::kPatch, "/api/v1/nodes/{name}", Permission::kOperateCluster,
    "Cordons a node or changes its labels, by JSON merge patch."};
inline constexpr Route<ListQuery, Nothing, ListOf<Accelerator>> kListAccelerators{
    "listAccelerators", Method::kGet, "/api/v1/accelerators", Permission::kViewCluster,
    "All accelerators, in order of their UUIDs."};
inline constexpr Route<Nothing, Nothing, Top> kTop{
    "top", Method::kGet, "/api/v1/top", Permission::kViewCluster,
    "What the accelerators are doing now, and for whom; programs that Tessera did not start too."};
inline constexpr Route<UsageQuery, Nothing, UsageReport> kUsage{
    "usage", Method::kGet, "/api/v1/usage", Permission::kViewCluster,
    "Who held how much for how long, and how their jobs ended, in the projects that the caller may "
    "see. Kept for ever, also of jobs and projects that are gone."};
inline constexpr Route<Nothing, Nothing, Accelerator> kGetAccelerator{
    "getAccelerator", Method::kGet, "/api/v1/accelerators/{name}", Permission::kViewCluster,
    "One accelerator, by UUID."};

inline constexpr Route<Nothing, Nothing, ListOf<Image>> kListImages{
    "listImages", Method::kGet, "/api/v1/images", Permission::kViewCluster,
    "Images that are on the node."};
inline constexpr Route<Nothing, PullRequest, ImageProgress> kPullImage{
    "pullImage",
    Method::kPost,
    "/api/v1/images/pull",
    Permission::kOperateCluster,
    "Pulls an image from its registry.",
    Shape::kStream};
inline constexpr Route<Nothing, ImportRequest, ImageProgress> kImportImage{
    "importImage",
    Method::kPost,
    "/api/v1/images/import",
    Permission::kOperateCluster,
    "Imports a docker-save archive, an OCI archive or an OCI layout.",
    Shape::kStream};
inline constexpr Route<BuildQuery, Nothing, Nothing> kBuildImage{
    "buildImage",
    Method::kGet,
    "/api/v1/projects/{project}/images/build",
    Permission::kOperateCluster,
    "Builds an image from a Dockerfile and its context, in the project's network.",
    Shape::kWebSocket};
inline constexpr Route<ImageQuery, Nothing, ImageDetails> kInspectImage{
    "inspectImage", Method::kGet, "/api/v1/images/inspect", Permission::kViewCluster,
    "What an image says of itself, in docker inspect's words."};
inline constexpr Route<Nothing, PruneRequest, PruneResult> kPruneImages{
    "pruneImages", Method::kPost, "/api/v1/images/prune", Permission::kOperateCluster,
    "Removes images that were not used for a time and that no job needs."};
inline constexpr Route<ImageQuery, Nothing, Nothing> kDeleteImage{
    "deleteImage", Method::kDelete, "/api/v1/images", Permission::kOperateCluster,
    "Removes an image."};

#undef JOBS
#undef SECRETS

// The table of contents of the API, in the order of the reference.
inline constexpr const RouteInfo* kAll[] = {
    &kHealthz,        &kReadyz,           &kOpenApi,        &kVersion,       &kListAllJobs,
    &kListJobs,       &kCreateJob,        &kGetJob,         &kReplaceJob,    &kPatchJob,
    &kDeleteJob,      &kStopJob,          &kSignalJob,      &kListTasks,     &kWhy,
    &kJobLogs,        &kExecJob,          &kAttachJob,      &kJobFiles,      &kForwardPort,
    &kListAllEvents,  &kListEvents,       &kListSecrets,    &kCreateSecret,  &kGetSecret,
    &kReplaceSecret,  &kDeleteSecret,     &kListProjects,   &kCreateProject, &kGetProject,
    &kReplaceProject, &kDeleteProject,    &kWhoAmI,         &kListUsers,     &kCreateUser,
    &kGetUser,        &kReplaceUser,      &kDeleteUser,     &kListTokens,    &kCreateToken,
    &kGetToken,       &kDeleteToken,      &kListAudit,      &kListNodes,     &kGetNode,
    &kPatchNode,      &kListAccelerators, &kGetAccelerator, &kTop,           &kUsage,
    &kListImages,     &kPullImage,        &kImportImage,    &kBuildImage,    &kInspectImage,
    &kPruneImages,    &kDeleteImage,
};

}  // namespace routes
}  // namespace tessera::api
