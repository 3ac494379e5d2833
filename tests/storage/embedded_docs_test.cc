#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/fakes/process.h"

namespace segue::storage {
namespace {

std::string contents(const std::string& file) {
  std::ifstream in(std::string(SEGUE_SOURCE_DIR) + "/" + file);
  EXPECT_TRUE(in) << file;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(EmbeddedDocs, ShowTheExampleThatIsCompiled) {
  EXPECT_NE(contents("docs/embedded.md")
                .find("```cpp\n" + contents("storage/examples/embedded_queue.cc") + "```\n"),
            std::string::npos);
}

TEST(EmbeddedDocs, ShowTheCmakeLinesThatTheInstallTestUses) {
  const std::string used = contents("tests/storage/install/CMakeLists.txt");
  for (const char* line :
       {"find_package(Segue REQUIRED COMPONENTS storage)", "PRIVATE Segue::storage)"}) {
    EXPECT_NE(contents("docs/embedded.md").find(line), std::string::npos) << line;
    EXPECT_NE(used.find(line), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace segue::storage
