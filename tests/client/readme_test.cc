#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace segue::client {
namespace {

std::string contents(const std::string& file) {
  std::ifstream in(std::string(SEGUE_SOURCE_DIR) + "/client/" + file);
  EXPECT_TRUE(in) << file;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(ClientReadme, ShowsTheExamplesThatAreCompiled) {
  const std::string readme = contents("README.md");
  for (const char* example : {"examples/publish.cc", "examples/consume.cc"}) {
    EXPECT_NE(readme.find("```cpp\n" + contents(example) + "```\n"), std::string::npos) << example;
  }
}

}  // namespace
}  // namespace segue::client
