#include "bench/matrix/test_bed.h"

#include <filesystem>
#include <fstream>

#include "cli/cluster_plan.h"

namespace segue::bench {

ScratchDirectory::ScratchDirectory(std::string path) : path_(std::move(path)) {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

Result<std::unique_ptr<TestBed>> TestBed::start(const std::string& directory,
                                                const std::string& binaries,
                                                const std::string& storage) {
  std::unique_ptr<TestBed> bed(new TestBed(directory));
  bed->router_ = cli::free_router_endpoint();
  const Result<std::string> yaml = cli::cluster_yaml({directory, 1, bed->router_, "sync"});
  if (!yaml) return yaml.status();
  const std::string path = directory + "/cluster.yaml";
  std::ofstream(path, std::ios::binary) << *yaml << storage;
  const Result<ClusterConfig> config = load_cluster_config(path, process_environment());
  if (!config) return config.status();
  bed->cluster_ = std::make_unique<cli::LocalCluster>(
      *config, cli::LocalCluster::Options{path, binaries, directory, false});
  SEGUE_RETURN_IF_ERROR(bed->cluster_->start());
  return bed;
}

TestBed::~TestBed() {
  if (cluster_) cluster_->stop(std::chrono::seconds(20));
}

}  // namespace segue::bench
