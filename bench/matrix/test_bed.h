#pragma once

#include <memory>
#include <string>

#include "cli/local_cluster.h"
#include "common/status.h"

namespace segue::bench {

/// A directory that is gone with all in it when this object goes.
class ScratchDirectory {
 public:
  explicit ScratchDirectory(std::string path);
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A router r1 and a node n1 of their own, with durability sync and an empty data directory, which
/// goes with them. One thread.
class TestBed {
 public:
  /// `binaries`: where segue-router and segue-node are; `storage`: more of that key, in lines
  /// indented by two. Returns
  /// once both run, not once they are ready.
  static Result<std::unique_ptr<TestBed>> start(const std::string& directory,
                                                const std::string& binaries,
                                                const std::string& storage = "");
  ~TestBed();

  const std::string& router() const { return router_; }
  const std::string& directory() const { return scratch_.path(); }
  cli::LocalCluster& cluster() { return *cluster_; }

 private:
  explicit TestBed(const std::string& directory) : scratch_(directory) {}

  ScratchDirectory scratch_;
  std::string router_;
  std::unique_ptr<cli::LocalCluster> cluster_;
};

}  // namespace segue::bench
