#pragma once
// What a caller may be allowed to do, and which roles allow it: the one table behind every request.

#include <array>
#include <optional>
#include <string_view>

namespace tessera::api {

// In a project; each role may all that the one before it may.
enum class ProjectRole { kViewer, kMember, kMaintainer };
constexpr std::array<std::string_view, 3> enum_names(ProjectRole) {
  return {"viewer", "member", "maintainer"};
}

// Over the whole cluster, each again more than the one before. A user without one ("none") sees the
// machines and the projects that he is a member of.
enum class ClusterRole { kNone, kOperator, kAdmin };
constexpr std::array<std::string_view, 3> enum_names(ClusterRole) {
  return {"none", "operator", "admin"};
}

// Public routes need no identity at all; every other needs a known caller.
enum class Permission {
  kPublic,
  kViewCluster,
  kOwnAccount,
  kViewProject,
  kRunJobs,
  kManageSecrets,
  kManageProject,
  kOperateCluster,
  kManageCluster,
};
constexpr std::array<std::string_view, 9> enum_names(Permission) {
  return {"public",          "cluster.view",   "account.own",     "project.view",  "project.jobs",
          "project.secrets", "project.manage", "cluster.operate", "cluster.manage"};
}

struct PermissionInfo {
  Permission permission;
  std::optional<ProjectRole> project;  // the least role in the project that has it
  ClusterRole cluster;                 // the least role over the cluster that has it
  std::string_view doc;
};

inline constexpr std::array<PermissionInfo, 9> kPermissions = {{
    {Permission::kPublic, {}, ClusterRole::kNone, "Anyone, without signing in."},
    {Permission::kViewCluster,
     {},
     ClusterRole::kNone,
     "Anyone who has signed in. Lists show what the caller may see: machines, and what belongs to "
     "projects in which the caller has a role."},
    {Permission::kOwnAccount,
     {},
     ClusterRole::kNone,
     "Anyone who has signed in, for tokens of their own; an admin for everyone's."},
    {Permission::kViewProject, ProjectRole::kViewer, ClusterRole::kOperator,
     "See jobs, logs and events of a project."},
    {Permission::kRunJobs, ProjectRole::kMember, ClusterRole::kOperator,
     "Submit, change, stop and delete jobs of a project, and run programs inside them."},
    {Permission::kManageSecrets, ProjectRole::kMaintainer, ClusterRole::kAdmin,
     "Write secrets of a project."},
    {Permission::kManageProject, ProjectRole::kMaintainer, ClusterRole::kAdmin,
     "Change members, labels and description of a project; quota and mounts are the admin's."},
    {Permission::kOperateCluster,
     {},
     ClusterRole::kOperator,
     "Cordon nodes; pull, import, build, prune and remove images."},
    {Permission::kManageCluster,
     {},
     ClusterRole::kAdmin,
     "Add and remove projects and users, read the audit log."},
}};

constexpr const PermissionInfo& permission_info(Permission permission) {
  return kPermissions[static_cast<size_t>(permission)];
}

consteval bool permissions_in_order() {
  for (size_t i = 0; i < kPermissions.size(); ++i)
    if (kPermissions[i].permission != static_cast<Permission>(i)) return false;
  return true;
}
static_assert(permissions_in_order());

// May someone with these roles? `project` is the role in the project that the request is about;
// nullopt when it is about none, or the caller has none there.
constexpr bool allows(Permission permission, ClusterRole cluster,
                      std::optional<ProjectRole> project) {
  const PermissionInfo& row = permission_info(permission);
  return cluster >= row.cluster || (row.project && project && *project >= *row.project);
}

}  // namespace tessera::api
