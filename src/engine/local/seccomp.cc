#include "engine/local/seccomp.h"

#include <cerrno>
#include <cstdint>

#include "base/text.h"

namespace tessera::local {

namespace {

// Names that an architecture or a kernel does not know are passed over by runc, so one list serves
// all. The names ending in 32, 64 and time64 are what 32-bit programs call.
constexpr std::string_view kAllowed[] = {
    // Files and folders
    "access chdir chmod chown chown32 close close_range copy_file_range creat dup dup2 dup3 "
    "faccessat faccessat2 fadvise64 fadvise64_64 fallocate fchdir fchmod fchmodat fchmodat2 fchown "
    "fchown32 fchownat fcntl fcntl64 fdatasync flock fstat fstat64 fstatat64 fstatfs fstatfs64 "
    "fsync ftruncate ftruncate64 futimesat getcwd getdents getdents64 ioctl lchown lchown32 link "
    "linkat _llseek lseek lstat lstat64 mkdir mkdirat mknod mknodat newfstatat open openat openat2 "
    "readahead readlink readlinkat rename renameat renameat2 rmdir stat stat64 statfs statfs64 "
    "statx symlink symlinkat sync sync_file_range sync_file_range2 arm_sync_file_range syncfs "
    "truncate truncate64 umask unlink unlinkat utime utimensat utimensat_time64 utimes "
    "arm_fadvise64_64",
    "fgetxattr flistxattr fremovexattr fsetxattr getxattr lgetxattr listxattr llistxattr "
    "lremovexattr lsetxattr removexattr setxattr getxattrat listxattrat removexattrat setxattrat",
    "fanotify_mark inotify_add_watch inotify_init inotify_init1 inotify_rm_watch",
    // Reading, writing, waiting for it
    "pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readv write writev pipe pipe2 splice "
    "tee vmsplice sendfile sendfile64",
    "epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait "
    "epoll_wait_old eventfd eventfd2 _newselect poll ppoll ppoll_time64 pselect6 pselect6_time64 "
    "select signalfd signalfd4",
    "io_cancel io_destroy io_getevents io_pgetevents io_pgetevents_time64 io_setup io_submit",
    // Memory
    "brk madvise map_shadow_stack membarrier memfd_create memfd_secret mincore mlock mlock2 "
    "mlockall mmap mmap2 mprotect mremap mseal msync munlock munlockall munmap pkey_alloc "
    "pkey_free "
    "pkey_mprotect remap_file_pages process_mrelease cachestat",
    // Placement on NUMA nodes: docker keeps it for CAP_SYS_NICE, but data loaders and collective
    // libraries want it, and it concerns their own pages only.
    "get_mempolicy mbind set_mempolicy set_mempolicy_home_node",
    // Sockets (socket() itself is below)
    "accept accept4 bind connect getpeername getsockname getsockopt listen recv recvfrom recvmmsg "
    "recvmmsg_time64 recvmsg send sendmmsg sendmsg sendto setsockopt shutdown socketcall "
    "socketpair",
    // Processes and threads
    "arch_prctl capget capset execve execveat exit exit_group fork futex futex_requeue "
    "futex_time64 futex_wait futex_waitv futex_wake get_robust_list get_thread_area getcpu getpgid "
    "getpgrp getpid getppid getpriority getrandom getrlimit getrusage getsid gettid ioprio_get "
    "ioprio_set kill modify_ldt pause pidfd_open pidfd_send_signal prctl prlimit64 "
    "restart_syscall rseq seccomp set_robust_list set_thread_area set_tid_address set_tls setpgid "
    "setpriority setrlimit setsid sysinfo tgkill tkill ugetrlimit uname vfork wait4 waitid waitpid "
    "cacheflush breakpoint riscv_flush_icache",
    "landlock_add_rule landlock_create_ruleset landlock_restrict_self",
    "rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend "
    "rt_sigtimedwait rt_sigtimedwait_time64 rt_tgsigqueueinfo sigaltstack sigprocmask sigreturn",
    "sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam "
    "sched_getscheduler sched_rr_get_interval sched_rr_get_interval_time64 sched_setaffinity "
    "sched_setattr sched_setparam sched_setscheduler sched_yield",
    // Looking into one's own processes: the kernel checks the right to trace before each. Shared
    // memory between the ranks of a job goes through them.
    "pidfd_getfd process_madvise process_vm_readv process_vm_writev ptrace",
    // Users and groups
    "getegid getegid32 geteuid geteuid32 getgid getgid32 getgroups getgroups32 getresgid "
    "getresgid32 getresuid getresuid32 getuid getuid32 setfsgid setfsgid32 setfsuid setfsuid32 "
    "setgid setgid32 setgroups setgroups32 setregid setregid32 setresgid setresgid32 setresuid "
    "setresuid32 setreuid setreuid32 setuid setuid32",
    // System V and POSIX IPC
    "ipc mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedreceive_time64 mq_timedsend "
    "mq_timedsend_time64 mq_unlink msgctl msgget msgrcv msgsnd semctl semget semop semtimedop "
    "semtimedop_time64 shmat shmctl shmdt shmget",
    // Time; setting it needs a capability besides
    "adjtimex alarm clock_adjtime clock_adjtime64 clock_getres clock_getres_time64 clock_gettime "
    "clock_gettime64 clock_nanosleep clock_nanosleep_time64 getitimer gettimeofday nanosleep "
    "setitimer time timer_create timer_delete timer_getoverrun timer_gettime timer_gettime64 "
    "timer_settime timer_settime64 timerfd_create timerfd_gettime timerfd_gettime64 "
    "timerfd_settime timerfd_settime64 times",
    // Guarded by CAP_SYS_CHROOT, which containers have
    "chroot",
};

// What more a capability opens: without these calls it would be worth nothing.
struct Opened {
  std::string_view capability;
  std::string_view names;
};
constexpr Opened kOpened[] = {
    {"SYS_ADMIN",
     "bpf fanotify_init fsconfig fsmount fsopen fspick lookup_dcookie mount mount_setattr "
     "move_mount open_tree perf_event_open pivot_root quotactl quotactl_fd setdomainname "
     "sethostname setns swapoff swapon syslog umount umount2 unshare"},
    {"SYS_BOOT", "reboot"},
    {"SYS_MODULE", "delete_module finit_module init_module"},
    {"SYS_PACCT", "acct"},
    {"SYS_PTRACE", "kcmp"},
    {"SYS_RAWIO", "ioperm iopl"},
    {"SYS_TIME", "clock_settime clock_settime64 settimeofday stime"},
    {"SYS_TTY_CONFIG", "vhangup"},
    {"SYSLOG", "syslog"},
    {"BPF", "bpf"},
    {"PERFMON", "perf_event_open"},
    {"DAC_READ_SEARCH", "name_to_handle_at open_by_handle_at"},
};

// CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET: no new namespaces, and so none
// of the kernel's code that only root can reach elsewhere.
constexpr int64_t kNewNamespaces = 0x7E020000;

// ADDR_NO_RANDOMIZE and the like stay away; these are Linux, Linux on 32 bits, BSD, and the
// question for what is set.
constexpr int64_t kPersonalities[] = {0x0, 0x0008, 0x20000, 0x20008, 0xffffffff};

// Sockets to the hypervisor: they know no network namespace.
constexpr int64_t kVsock = 40;

Value strings(std::string_view names) {
  Value::List out;
  for (std::string& name : split(names, ' ')) out.emplace_back(std::move(name));
  return out;
}

Value allow(Value names) {
  return Value::Map{{"names", std::move(names)}, {"action", "SCMP_ACT_ALLOW"}};
}

Value allow_if(std::string_view name, std::string_view op, int64_t value, int64_t value_two) {
  Value rule = allow(strings(name));
  rule.set("args",
           Value::List{Value::Map{
               {"index", int64_t{0}}, {"value", value}, {"valueTwo", value_two}, {"op", op}}});
  return rule;
}

Value architectures() {
#if defined(__x86_64__)
  return strings("SCMP_ARCH_X86_64 SCMP_ARCH_X86 SCMP_ARCH_X32");
#elif defined(__aarch64__)
  return strings("SCMP_ARCH_AARCH64 SCMP_ARCH_ARM");
#else
  return Value::List{};  // runc then takes the machine's own
#endif
}

}  // namespace

Value seccomp_profile(const std::set<std::string>& capabilities) {
  Value::List rules;
  for (std::string_view names : kAllowed) rules.push_back(allow(strings(names)));
  for (const Opened& row : kOpened)
    if (capabilities.contains(std::string(row.capability)))
      rules.push_back(allow(strings(row.names)));
  for (int64_t personality : kPersonalities)
    rules.push_back(allow_if("personality", "SCMP_CMP_EQ", personality, 0));
  rules.push_back(allow_if("socket", "SCMP_CMP_NE", kVsock, 0));
  if (capabilities.contains("SYS_ADMIN"))
    rules.push_back(allow(strings("clone")));
  else
    rules.push_back(allow_if("clone", "SCMP_CMP_MASKED_EQ", kNewNamespaces, 0));
  // Its flags lie in memory, where no filter sees them. "No such call" makes libraries fall back to
  // clone().
  rules.push_back(Value::Map{
      {"names", strings("clone3")}, {"action", "SCMP_ACT_ERRNO"}, {"errnoRet", int64_t{ENOSYS}}});
  return Value::Map{{"defaultAction", "SCMP_ACT_ERRNO"},
                    {"defaultErrnoRet", int64_t{EPERM}},
                    {"architectures", architectures()},
                    {"syscalls", std::move(rules)}};
}

}  // namespace tessera::local
