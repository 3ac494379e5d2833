// Runs a fuzz target once on each file of the folders and files that it is given: the corpus as a
// test in builds without libFuzzer. Also on the empty input, and on each file cut short and with
// single bytes changed, since that costs little.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace {

constexpr std::size_t kMutationsOfAFile = 64;

/// Copies the input to memory of exactly its size, so that a sanitizer sees a read past its end.
void run(const std::string& input) {
  const std::vector<std::uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

void run_with_mutations(const std::string& input) {
  run(input);
  const std::size_t stride = input.size() / kMutationsOfAFile + 1;
  for (std::size_t at = 0; at < input.size(); at += stride) {
    run(input.substr(0, at));
    std::string changed = input;
    changed[at] = static_cast<char>(changed[at] ^ 1 << (at % 8));
    run(changed);
  }
}

bool run_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    return false;
  }
  // Names the file before it runs, so that a crash shows which one it was.
  std::printf("%s\n", path.c_str());
  std::fflush(stdout);
  run_with_mutations({std::istreambuf_iterator<char>(file), {}});
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  run("");
  std::size_t files = 0;
  for (int i = 1; i < argc; ++i) {
    const std::filesystem::path argument(argv[i]);
    if (!std::filesystem::is_directory(argument)) {
      if (!run_file(argument)) return 1;
      ++files;
      continue;
    }
    std::error_code error;
    for (std::filesystem::recursive_directory_iterator entry(argument, error), end;
         !error && entry != end; entry.increment(error)) {
      if (!entry->is_regular_file()) continue;
      if (!run_file(entry->path())) return 1;
      ++files;
    }
    if (error) {
      std::fprintf(stderr, "cannot list %s: %s\n", argv[i], error.message().c_str());
      return 1;
    }
  }
  if (files == 0) {
    std::fprintf(stderr, "no input: a fuzz target without a corpus tests nothing\n");
    return 1;
  }
  std::printf("%zu files\n", files);
  return 0;
}
